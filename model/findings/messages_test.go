package findings

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

func TestFindingsInMessages(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	// waiting is a buffer's content: expirations in seconds, published some seconds ago.
	waiting := func(ago int, expirations ...int) []message.Message {
		var ms []message.Message
		for i, e := range expirations {
			m := message.Message{
				Position:   i + 1,
				Properties: message.Properties{Timestamp: at.Add(-time.Duration(ago) * time.Second)},
			}
			if e >= 0 {
				m.Properties.Expiration = strconv.Itoa(e * 1000)
			}
			ms = append(ms, m)
		}
		return ms
	}
	counted := func(counts ...int64) []message.Message {
		var ms []message.Message
		for _, n := range counts {
			ms = append(ms, message.Message{Redelivered: true, Headers: model.Table{"x-delivery-count": n}})
		}
		return ms
	}
	buffer := []build.Part{build.Queue("w", build.Consumers(1)), build.Queue("q", build.DLX(""), build.DeadKey("w"))}
	tests := []struct {
		name     string
		parts    []build.Part
		messages []message.Message
		want     []string
		says     string
	}{
		{
			"5,4,3,2,1 s, two seconds later", buffer, waiting(2, 5, 4, 3, 2, 1),
			[]string{"warning head-of-line-blocked q"},
			"message 1 (TTL 5s) blocks 4 messages; it leaves in 4s",
		},
		{"1,2,3,4,5 s", buffer, waiting(0, 1, 2, 3, 4, 5), nil, ""},
		{"one without a TTL at the head", buffer, waiting(0, -1, 5), []string{"error head-of-line-blocked q"}, "never"},
		{"a TTL of the queue", []build.Part{
			build.Queue("w", build.Consumers(1)),
			build.Queue("q", build.DLX(""), build.DeadKey("w"), build.TTL(1000)),
		}, waiting(0, -1, -1), nil, ""},
		{"a queue with consumers", []build.Part{build.Queue("q", build.DLX(""), build.DeadKey("w"),
			build.Consumers(1))}, waiting(0, 5, 1), nil, ""},
		{
			"near the delivery limit",
			[]build.Part{build.Queue("q", build.OfType(model.Quorum),
				build.Argument("x-delivery-limit", int64(5)))},
			counted(0, 3, 4, 5),
			[]string{"warning delivery-count-near-limit q"},
			"2 messages are near",
		},
		{"far from the delivery limit", []build.Part{build.Queue("q", build.OfType(model.Quorum),
			build.Argument("x-delivery-limit", int64(20)))}, counted(0, 3, 5), nil, ""},
		{
			"a publisher's own header is no count",
			[]build.Part{build.Queue("q", build.OfType(model.Quorum),
				build.Argument("x-delivery-limit", int64(20)))},
			[]message.Message{{Headers: model.Table{"x-delivery-count": int64(19)}}},
			nil, "",
		},
		{
			"copies",
			[]build.Part{build.Queue("q")},
			[]message.Message{{Headers: model.Table{"CC": []any{"z"}}}},
			[]string{"info copies q"},
			"1 message was",
		},
		{
			"a publisher whose clock is ahead",
			[]build.Part{build.Queue("q")},
			[]message.Message{
				{Properties: message.Properties{Timestamp: at.Add(5 * time.Minute)}},
				{Properties: message.Properties{Timestamp: at.Add(time.Second)}},
			},
			[]string{"info clock-skew q"},
			"1 message has a timestamp later than what happened to it: the publisher's clock is at least 5m ahead",
		},
		{
			"published after its death",
			[]build.Part{build.Queue("q")},
			[]message.Message{{
				Properties: message.Properties{Timestamp: at.Add(-time.Minute)},
				Deaths:     []message.Death{{Queue: "w", Time: at.Add(-time.Hour)}},
			}},
			[]string{"info clock-skew q"},
			"at least 59m ahead",
		},
		{
			"timestamps that are none",
			[]build.Part{build.Queue("q")},
			[]message.Message{
				{Properties: message.Properties{Timestamp: time.Unix(1<<40, 0)}},
				{Properties: message.Properties{Timestamp: time.Unix(0, 0)}},
			},
			nil, "",
		},
		{"a poison message", []build.Part{
			build.Queue("w", build.Consumers(1)),
			build.Queue("q", build.DLX(""), build.DeadKey("w"), build.TTL(30_000)),
			build.Queue("w.retry", build.DLX(""), build.DeadKey("w"), build.TTL(1000)),
		}, []message.Message{
			{
				Position: 1, Properties: message.Properties{MessageID: "0f3c"},
				Headers: model.Table{"x-tries": int64(214)},
			}, {Position: 2},
		}, []string{"warning poison-message q"}, "message 1 (id 0f3c) comes back again and again: 214 tries"},
		{"nothing", []build.Part{build.Queue("q")}, []message.Message{{}}, nil, ""},
		{"a queue that vanished", nil, []message.Message{{}}, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			look := peek.Peeked{Messages: message.MessageList(test.messages), TakenAt: at}
			findings := In(build.TopologyOf("4.0.5", test.parts...), build.Ref("q"), look)
			assert.NoDiff(t, cmp.Diff(test.want, codes(findings)))
			assert.That(t, len(findings) == 0 || strings.Contains(findings[0].Message, test.says),
				"it says %+v, want something with %q", findings, test.says)
		})
	}
}
