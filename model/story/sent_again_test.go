package story

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// sentAgain is a message as Symfony's worker sends it to a buffer for another try, so long after noon. It has no id and
// no timestamp.
func sentAgain(after time.Duration, deaths ...any) message.Message {
	at := build.Noon.Add(after).Format(time.RFC3339)
	m := message.Message{Position: 1, Body: []byte("{}"), BodyBytes: 2, Headers: model.Table{
		`X-Message-Stamp-Symfony\Component\Messenger\Stamp\RedeliveryStamp`: `[{"retryCount":1,"redeliveredAt":"` + at + `"}]`,
	}}
	if len(deaths) > 0 {
		m.Headers["x-death"] = deaths
		m.Deaths, m.DeathsError = message.ParseDeaths(m.Headers)
	}
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

// A retry is another message without an id, and the polls may say at each look that something has left since: that was
// the try before, or its twin. When the worker wrote down when it sent this one, its due time stays.
func TestARetryThatSaysWhenItWasSent(t *testing.T) {
	expired := func(after time.Duration) model.Table {
		return model.Table{
			"queue": "q", "reason": "expired", "count": int64(1), "time": build.Noon.Add(after),
			"exchange": "", "routing-keys": []any{"q"},
		}
	}
	retried := []build.Part{
		build.Queue("messages", build.Consumers(1)),
		build.Queue("delay_retry", build.DLX(""), build.DeadKey("messages"), build.TTL(60_000)),
	}
	for _, c := range []struct {
		name string
		m    message.Message
		want string // 20 s, 30 s and 50 s after noon
	}{
		{"sent at noon", sentAgain(0), "41s 31s 11s"},
		{"sent at noon, after an earlier wait", sentAgain(0, expired(-time.Second)), "41s 31s 11s"},
		{"sent before it came here by expiry", sentAgain(0, expired(15*time.Second)), "≤ 1m ≤ 1m ≤ 1m"},
		{"by a clock that is an hour slow", sentAgain(-time.Hour), "≤ 1m ≤ 1m ≤ 1m"},
		{"by a clock that is an hour fast", sentAgain(time.Hour), "≤ 1m ≤ 1m ≤ 1m"},
		{"no time", message.Message{Position: 1, Body: []byte("{}")}, "≤ 1m ≤ 1m ≤ 1m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			topology := build.TopologyOf("3.10.8", retried...)
			var before *Waits
			var got []string
			for _, after := range []time.Duration{20 * time.Second, 30 * time.Second, 50 * time.Second} {
				at := build.Noon.Add(after)
				peeked := peek.Peeked{TakenAt: at, Messages: message.MessageList{c.m}}
				w := WaitingIn(topology, build.Ref("delay_retry"), peeked, Sight{Since: at}) // something has left
				w.After(before)
				w.See(0, &c.m)
				before = w.Waits()
				got = append(got, before.Messages[0].Due.In(at))
			}
			assert.Equal(t, strings.Join(got, " "), c.want)
		})
	}
}
