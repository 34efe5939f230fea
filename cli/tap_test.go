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
	t.Parallel()
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
			assert.Equal(t, row.Exchange, "front", "published: %+v", row)
			assert.Equal(t, row.RoutingKey, "in", "%v", row)
			assert.Equal(t, row.BodyBytes, 2, "%v", row)
			assert.That(t, row.Waited == nil, "published: %+v", row)
			assert.Equal(t, *row.Tries, 0, "%v", row)
			continue
		}

		died++
		must.That(t, row.Waited != nil, "died: %+v", row)
		must.That(t, row.Should != nil, "died: %+v", row)
		must.That(t, row.Late != nil, "died: %+v", row)
		must.That(t, row.Tries != nil, "died: %+v", row)
		// The difference of the two times at which it was seen: a busy machine may see the first one late.
		rounded := row.Time.Sub(seen[row.MessageID]).Milliseconds() - *row.Waited
		assert.Equal(t, row.From, "buffer", "died: %+v, waited %d", row, *row.Waited)
		assert.Equal(t, row.Reason, "expired", "%v", row)
		assert.That(t, rounded >= -1, "died: %+v, waited %d", row, *row.Waited)
		assert.That(t, rounded <= 1, "died: %+v, waited %d", row, *row.Waited)
		assert.Equal(t, row.WaitedBy, "tapped", "%v", row)
		assert.Equal(t, *row.Should, 100, "%v", row)
		assert.Equal(t, *row.Late, *row.Waited-100, "%v", row)
		assert.Equal(t, *row.Tries, 1, "%v", row)
	}

	assert.Equal(t, died, 3, "%d dead letters in %s", died, r.out)
	assert.Lacks(t, r.out, "\x1b")
	assert.That(t, strings.HasSuffix(r.stderr, "6 messages seen, none missed\n"), "it says %s", r.stderr)
	v.noTap()
	v.holds("worker", 3)
}

// noTap waits until there is no queue of a tap.
func (v *vhost) noTap() {
	v.t.Helper()
	must.Await(v.t, "no queue of a tap is left", func() bool {
		r := v.run("flows -o json")
		return r.status == cli.ExitDone && !strings.Contains(r.out, model.TapPrefix)
	})
}

func TestTapEnds(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	v := newVHost(t)
	v.delaying()
	for _, test := range must.Cases[struct {
		Args, Words []string
		Status      int
	}](t, "testdata/refused_taps.toml") {
		v.run(test.Args...).refuses(t, test.Status, test.Words...)
	}
}

// A table is cut to its columns, whatever it contains.
func TestTapTable(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.delaying()
	end := v.tap(t.Context(), "dlx", "--front", "front", "-o", "table", "-n", "2")
	v.publish("front", "in", amqp.Publishing{
		MessageId: strings.Repeat("é", 60), Timestamp: time.Now().Add(time.Hour),
		Headers: amqp.Table{"x-death": "damaged"},
	})

	r := end().ends(t, cli.ExitDone).shows(t, "unknown", "buffer", "é…")
	assert.Lacks(t, r.out, "-1")
}
