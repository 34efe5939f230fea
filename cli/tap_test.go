package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// delaying declares front -> buffer (100 ms) -> dlx -> worker.
func (v *vhost) delaying() {
	v.t.Helper()
	v.exchange("front", "direct")
	v.exchange("dlx", "fanout")
	v.declare("buffer", amqp.Table{"x-dead-letter-exchange": "dlx", "x-message-ttl": int64(100)})
	v.declare("worker", nil)
	v.bind("buffer", "in", "front")
	v.bind("worker", "", "dlx")
}

// tap runs a tap in the background; end waits for its end.
func (v *vhost) tap(ctx context.Context, args ...string) (end func() result) {
	v.t.Helper()
	var out, errs built.Buffer
	status := make(chan int, 1)
	args = v.on(append([]string{"tap"}, args...)...)
	go func() { status <- program(strings.NewReader(""), &out, &errs).Run(ctx, args) }()
	must.Await(v.t, "the tap works", func() bool { return strings.Contains(errs.String(), "tapping, in the queue") })
	return func() result { return result{<-status, out.String(), errs.String(), args} }
}

func lines[T any](t *testing.T, text string) []T {
	t.Helper()
	var all []T
	for line := range strings.Lines(text) {
		all = append(all, decode[T](t, result{out: line}))
	}
	return all
}

// passedContract is a line of the stream as scripts rely on it.
type passedContract struct {
	Time         time.Time
	Exchange     string
	RoutingKey   string `json:"routing_key"`
	From, Reason string
	Waited       *int64 `json:"waited_ms"`
	WaitedBy     string `json:"waited_by"`
	Should       *int64 `json:"should_ms"`
	Late         *int64 `json:"late_ms"`
	Behind       *int64 `json:"behind_ms"`
	Tries        *int64
	MessageID    string `json:"message_id"`
	Problem      string
	BodyBytes    int `json:"body_bytes"`
}

// The stream is one JSON object a line, the end is reported on standard error, and nothing stays on the broker.
func TestTap(t *testing.T) {
	v := newVHost(t)
	v.delaying()
	end := v.tap(t.Context(), "dlx", "--front", "front", "-o", "json", "-n", "6")
	for i := range 3 {
		v.publish("front", "in", amqp.Publishing{MessageId: fmt.Sprintf("m-%d\x1b[2J", i), Body: []byte("{}")})
	}
	r := end().ends(t, cli.ExitDone, "exclusive queue")
	died, seen := 0, map[string]time.Time{}
	for _, row := range lines[passedContract](t, r.out) {
		if row.From == "" {
			seen[row.MessageID] = row.Time
			assert.That(t, row.Exchange == "front" && row.RoutingKey == "in" && row.BodyBytes == 2 && row.Waited == nil &&
				*row.Tries == 0, "published: %+v", row)
			continue
		}
		died++
		must.That(t, row.Waited != nil && row.Should != nil && row.Late != nil && row.Tries != nil, "died: %+v", row)
		// The difference of the two times at which it was seen: a busy machine may see the first one late.
		rounded := row.Time.Sub(seen[row.MessageID]).Milliseconds() - *row.Waited
		assert.That(t, row.From == "buffer" && row.Reason == "expired" && rounded >= -1 && rounded <= 1 &&
			row.WaitedBy == "tapped" && *row.Should == 100 && *row.Late == *row.Waited-100 && *row.Tries == 1,
			"died: %+v, waited %d", row, *row.Waited)
	}
	assert.That(t, died == 3 && !strings.Contains(r.out, "\x1b"), "%d dead letters in %s", died, r.out)
	assert.That(t, strings.HasSuffix(r.stderr, "6 messages seen, none missed\n"), "it says %s", r.stderr)
	v.noTap()
	assert.Equal(t, v.count("worker"), 3, "the worker")
}

// noTap waits until there is no queue of a tap.
func (v *vhost) noTap() {
	v.t.Helper()
	must.Await(v.t, "no queue of a tap is left", func() bool {
		r := v.run("flows", "-o", "json")
		return r.status == cli.ExitDone && !strings.Contains(r.out, model.TapPrefix)
	})
}

func TestTapEnds(t *testing.T) {
	v := newVHost(t)
	v.delaying()
	r := v.tap(t.Context(), "dlx", "--for", "200ms", "-o", "table")().ends(t, cli.ExitDone, "0 messages seen, none missed")
	assert.That(t, strings.HasPrefix(r.out, "TIME"), "--for: %s", r.out)
	ctx, interrupt := context.WithCancel(t.Context())
	end := v.tap(ctx, "dlx")
	interrupt()
	end().ends(t, cli.ExitInterrupted, "0 messages seen, none missed")
	end = v.tap(t.Context(), "dlx")
	must.Do(t, v.channel.ExchangeDelete("dlx", false, false))
	end().ends(t, cli.ExitRefused, "dlxtop: the tap has ended: there is no exchange dlx any more")
}

func TestTapRefused(t *testing.T) {
	v := newVHost(t)
	v.delaying()
	for _, test := range []struct {
		args   []string
		status int
		words  []string
	}{
		{[]string{"tap", ""}, cli.ExitRefused, []string{"default exchange", "tap the exchange in front"}},
		{[]string{"tap", "dlxx"}, cli.ExitUsage, []string{"no exchange dlxx", "did you mean dlx?"}},
		{[]string{"tap", "dlx", "--front", "none"}, cli.ExitRefused, []string{"no exchange none"}},
		{[]string{"tap", "amq.topic"}, cli.ExitRefused, []string{"no binding of"}},
		{[]string{"tap", "dlx", "--read-only"}, cli.ExitConnect, []string{"read-only"}},
		{[]string{"tap", "dlx", "-n", "0"}, cli.ExitUsage, []string{"-n 0"}},
		{[]string{"tap", "dlx", "--for", "-1s"}, cli.ExitUsage, []string{"--for"}},
	} {
		v.run(test.args...).refuses(t, test.status, test.words...)
	}
}

// A table is cut to its columns, whatever it contains.
func TestTapTable(t *testing.T) {
	v := newVHost(t)
	v.delaying()
	end := v.tap(t.Context(), "dlx", "--front", "front", "-o", "table", "-n", "2")
	v.publish("front", "in", amqp.Publishing{
		MessageId: strings.Repeat("é", 60), Timestamp: time.Now().Add(time.Hour),
		Headers: amqp.Table{"x-death": "damaged"},
	})
	r := end().ends(t, cli.ExitDone).shows(t, "unknown", "buffer", "é…")
	assert.That(t, !strings.Contains(r.out, "-1"), "%s", r.out)
}

// probeContract is the output of `dlxtop probe -o json`, as scripts rely on it.
type probeContract struct {
	ID, Flow, Exchange string
	Key                string `json:"routing_key"`
	Buffer             string
	Steps              []struct {
		Stage, Where string
		After        int64 `json:"after_ms"`
		Note         string
	}
	Waited  *int64 `json:"waited_ms"`
	Should  *int64 `json:"should_ms"`
	Arrived bool
	Verdict string
	Left    string `json:"left_in"`
}

func TestProbe(t *testing.T) {
	v := newVHost(t)
	v.delaying()
	r := v.run("probe", "worker", "--yes", "-o", "json").ends(t, cli.ExitDone)
	got := decode[probeContract](t, r)
	var stages []string
	waited := *got.Waited
	for _, s := range got.Steps {
		stages = append(stages, s.Stage+" "+s.Where)
		if s.Stage == "entered" {
			waited += s.After // it is in the buffer before that is reported
		}
	}
	assert.That(t, strings.Join(stages, ", ") == "entered buffer, expired dlx, reached worker, removed worker" &&
		got.Arrived && got.Exchange == "front" && got.Key == "in" && *got.Should == 100 && waited >= 99, "%s", r.out)
	r.says(t, "it enters buffer by front, key in, and should leave after 100ms",
		"it reaches worker, where it is taken out again")
	assert.Equal(t, v.count("worker")+v.count("buffer"), 0, "messages are left")
	v.noTap()
	r = v.run("probe", "worker", "--yes", "--direct", "-o", "table").ends(t, cli.ExitDone,
		"by (default), key buffer").shows(t, "expired after ")
	assert.That(t, strings.HasPrefix(r.out, "entered buffer "), "exit status %d: %s%s", r.status, r.out, r.stderr)
}

func TestProbeRefused(t *testing.T) {
	v := newVHost(t)
	v.delaying()
	must.Get(v.channel.Consume("worker", "", true, false, false, false, nil))(t)
	must.Await(t, "the consumer is known", func() bool {
		return strings.Contains(v.run("flows", "-o", "json").out, `"consumers": 1`)
	})
	for _, test := range []struct {
		args   []string
		status int
		words  []string
	}{
		{[]string{"probe", "worker", "--yes"}, cli.ExitRefused, []string{"worker (1 consumer)", "--to-consumers"}},
		{[]string{"probe", "buffer", "--yes"}, cli.ExitUsage, []string{"not the worker of a flow"}},
		{
			[]string{"probe", "worker", "--yes", "--buffer", "worker"},
			cli.ExitRefused,
			[]string{"worker is not a buffer of this flow"},
		},
		{[]string{"probe", "worker", "--yes", "--read-only"}, cli.ExitConnect, []string{"read-only"}},
	} {
		v.run(test.args...).refuses(t, test.status, test.words...)
	}
	r := v.run("probe", "worker", "--yes", "--to-consumers", "-o", "json")
	arrived := decode[probeContract](t, r.ends(t, cli.ExitDone, "and its 1 consumer will get it")).Arrived
	assert.That(t, arrived, "%s", r.out)
}
