package cli_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// The contract of `dlxtop find`, repeated here.
type (
	hitContract struct {
		VHost, Queue                            string
		Position                                int
		MessageID                               string `json:"message_id"`
		Exchange                                string
		RoutingKey                              string `json:"routing_key"`
		Published                               string
		BodyBytes                               int `json:"body_bytes"`
		Fingerprint, Where, Name, Packed, Match string
	}
	foundContract struct {
		Found        *int
		Read, Queues int
		Took         *int              `json:"elapsed_ms"`
		NotRead      []notReadContract `json:"not_read"`
	}
)

func known(is *int, want int) bool { return is != nil && *is == want }

// found parses the output of `dlxtop find`: a line for each hit, and one at the end.
func found(t *testing.T, r result) ([]hitContract, foundContract) {
	t.Helper()
	last := strings.LastIndexByte(strings.TrimSuffix(r.out, "\n"), '\n') + 1
	hits := lines[hitContract](t, r.out[:last])
	end := decode[foundContract](t, result{out: r.out[last:], stderr: r.stderr})
	must.That(t, end.Found != nil, "exit status %d, %s", r.status, r.stderr)
	must.That(t, end.NotRead != nil, "exit status %d, %s", r.status, r.stderr)
	must.That(t, end.Took != nil, "exit status %d, %s", r.status, r.stderr)
	assert.That(t, *end.Found == len(hits), "%d found, and %d shown", *end.Found, len(hits))
	return hits, end
}

func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

func TestFind(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "a-orders", "orders.failed", "empty")
	v.declare("lots", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 30})
	v.fill("a-orders", 3)
	v.publish("", "a-orders", amqp.Publishing{MessageId: "body", Body: []byte(`{"order": "Ä-4711/7", "user": 12}`)})
	v.publish("", "a-orders", amqp.Publishing{MessageId: "zip", Body: packed(`{"order":"\u00c4-4711\/7"}`)})
	v.publish("", "orders.failed", amqp.Publishing{MessageId: "x", Headers: amqp.Table{"x-order": "ä-4711/7"}})
	v.publish("", "orders.failed", amqp.Publishing{MessageId: "no Ä-4711/7", Body: []byte("{}")})
	v.publish("", "lots", amqp.Publishing{MessageId: "lot", Body: []byte("Ä-4711/7")})
	counts := behaviour().ReturnCountsAsDelivery
	skipped := 0

	if counts {
		skipped = 1
	}

	must.Await(t, "the statistics have the one that is not read", func() bool {
		// only this queue: its consumer must not be among those of the others, which would then not be failed queues
		_, end := found(t, v.run("find", "nothing at all", "--queues", "lots"))
		return len(end.NotRead) == skipped && (skipped == 0 || known(end.NotRead[0].Messages, 1))
	})

	r := v.run("find Ä-4711/7")
	hits, end := found(t, r)

	var got []string
	for _, h := range hits {
		assert.That(t, h.VHost == v.name, "found in the vhost %s: %+v", h.VHost, h)
		got = append(got, fmt.Sprint(h.Queue, " ", h.Position, " ", h.Where, " ", h.Name, h.Packed))
	}

	want := []string{
		"orders.failed 1 header x-order", "orders.failed 2 property message_id", "a-orders 4 body ", "a-orders 5 body gzip",
	}
	if !counts {
		want = append(want, "lots 1 body ")
	}

	assert.Equal(t, r.status, cli.ExitDone, "exit status %d, found %q: %s", r.status, got, r.stderr)
	assert.Equal(t, strings.Join(got, "\n"), strings.Join(want, "\n"))
	assert.That(t, end.Read >= 7, "exit status %d, found %q: %s", r.status, got, r.stderr)
	if counts {
		lots := end.NotRead[0]
		// The statistics of a busy 4.0.5 may lose the number again for a moment.
		counted := known(lots.Messages, 1) && strings.Contains(r.stderr, "1 message of "+v.name+"/lots: ") ||
			lots.Messages == nil && strings.Contains(r.stderr, " "+v.name+"/lots: ")
		assert.That(t, counted, "not read is %+v: %s", end.NotRead, r.stderr)
		assert.That(t, strings.HasSuffix(lots.Queue, "/lots"), "not read is %+v: %s", end.NotRead, r.stderr)
		assert.Contains(t, lots.Why, "a look has a cost")
	}

	assert.Equal(t, v.run("find", "nothing at all").status, cli.ExitRefused, "exit status where nothing was found")
	if counts {
		r := v.run("find Ä-4711/7 --queues lots")
		assert.That(t, r.status == cli.ExitConnect, "exit status %d where nothing could be read: %s", r.status, r.stderr)
	}

	v.run("find Ä-4711/7 --read-costly").says(t, "5 messages found in 8 messages read")
	v.run("find", "=json.user == 12", "-o", "table").shows(t, "QUEUE", "/a-orders", "expression", `{"order": "Ä-4711/7"`)
	hits, end = found(t, v.run("find m- --queues *orders --limit 2"))
	assert.Equal(t, len(hits), 2, "two of each queue are %+v, %+v", hits, end)
	must.Equal(t, len(end.NotRead), 1)
	assert.Contains(t, end.NotRead[0].Why, "the first 2 messages of the queue")
	hits, end = found(t, v.run("find m- -n 1"))
	assert.Equal(t, len(hits), 1, "one is %+v, %+v", hits, end)
	assert.That(t, len(end.NotRead) > 0, "one is %+v, %+v", hits, end)
	hits, _ = found(t, v.run("find m- --vhost / --read-only"))
	assert.Equal(t, len(hits), 0, "elsewhere")

	for _, c := range []struct{ args, words []string }{
		{[]string{" "}, []string{"no text"}},
		{[]string{"=age >"}, []string{"filter"}},
		{[]string{"x", "--queues", "nothing.*"}, []string{"--queues nothing.*"}},
		{[]string{"x", "--limit", "0"}, []string{"--limit 0"}},
		{[]string{"x", "-n", "0"}, []string{"-n 0"}},
		{[]string{}, []string{"needs a text"}},
	} {
		v.run(append([]string{"find"}, c.args...)...).refuses(t, cli.ExitUsage, c.words...)
	}

	v.holds("a-orders", 5).holds("orders.failed", 2)
}

// One id is found among all messages of many queues.
func TestFindOne(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	queues := size.Of(40, 200)
	each := size.Of(50, 500)
	for i := range queues {
		name := fmt.Sprintf("q%03d.failed", i)
		v.declare(name, nil)
		messages := make([]amqp.Publishing, each)
		for j := range messages {
			messages[j] = amqp.Publishing{
				MessageId: fmt.Sprintf("id-%d-%d", i, j), Body: fmt.Appendf(nil, `{"order":"o-%d-%d"}`, i, j),
			}
		}

		dial.Publish(t, v.channel, name, messages...)
	}

	text := fmt.Sprintf(`"o-%d-%d"`, queues-2, each-1)
	hits, end := found(t, v.run("find", text))
	queue := fmt.Sprintf("q%03d.failed", queues-2)
	must.Equal(t, len(hits), 1, "found %+v", hits)
	assert.Equal(t, hits[0].Position, each)
	assert.Equal(t, hits[0].Queue, queue)
	assert.Equal(t, hits[0].MessageID, fmt.Sprintf("id-%d-%d", queues-2, each-1))
	assert.Equal(t, end.Read, queues*each, "%+v", end)
	assert.Equal(t, end.Queues, queues)
	assert.Equal(t, len(end.NotRead), 0)
}

// meddling is a broker on which something happens when the first message of a queue is read.
type meddling struct {
	cli.Broker
	queue string
	then  func()
}

func (b *meddling) Read(ctx context.Context, p peek.Plan, each message.Visit) (peek.Read, error) {
	first := true
	return b.Broker.Read(ctx, p, func(m *message.Message) error {
		if first && p.Queue.Name == b.queue {
			b.then()
		}
		first = false
		return each(m)
	})
}

// A queue deleted while it is read, one deleted before, and an interruption are reported with what was found.
func TestFindWhile(t *testing.T) {
	t.Parallel()
	const many = 700 // more than a page
	filled := func(t *testing.T) *vhost {
		v := newVHost(t, "a", "b", "c")
		v.fill("a", many)
		v.fill("b", 1)
		v.fill("c", 1)
		return v
	}

	run := func(ctx context.Context, v *vhost, then func()) result {
		meddle := func(b cli.Broker) cli.Broker { return &meddling{Broker: b, queue: "a", then: then} }
		return runChanged(ctx, changedBroker(meddle), v.asJSON([]string{"find", "m-1", "-n", "1000"})...)
	}

	t.Run("deleted", func(t *testing.T) {
		v := filled(t)
		r := run(t.Context(), v, func() {
			for _, name := range []string{"a", "b"} {
				_, err := v.channel.QueueDelete(name, false, false, false)
				assert.Succeeds(t, err)
			}
		})

		hits, end := found(t, r)
		assert.Equal(t, r.status, cli.ExitDone, "exit status %d, %d hits, %+v: %s", r.status, len(hits), end, r.stderr)
		must.That(t, len(hits) >= 2, "exit status %d, %d hits, %+v: %s", r.status, len(hits), end, r.stderr)
		assert.Equal(t, hits[len(hits)-1].Queue, "c")
		assert.Equal(t, end.Queues, 1)

		for i, name := range []string{"/a", "/b"} {
			must.Equal(t, len(end.NotRead), 2, "not read is %+v", end.NotRead)
			assert.That(t, strings.HasSuffix(end.NotRead[i].Queue, name), "not read is %+v", end.NotRead)
			assert.Contains(t, end.NotRead[i].Why, "does not exist any more")
		}
	})

	t.Run("interrupted", func(t *testing.T) {
		v := filled(t)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		r := run(ctx, v, stop)
		hits, end := found(t, r)
		assert.Equal(t, r.status, cli.ExitInterrupted, "exit status %d, %d hits, %+v: %s", r.status, len(hits), end, r.stderr)
		assert.That(t, len(hits) > 0, "exit status %d, %d hits, %+v: %s", r.status, len(hits), end, r.stderr)
		assert.Equal(t, len(end.NotRead), 3)
		assert.Contains(t, r.stderr, "ended")
		v.holds("a", many)
	})

	t.Run("nobody reads", func(t *testing.T) {
		v := filled(t)
		r := v.runProgram(func(p *cli.Program) { p.Out = closedPipe{} }, "find m-")
		r.ends(t, cli.ExitRefused, "write what was found")
		v.holds("a", many)
	})
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// What a limit would drop is computed beforehand, and if agreed to it comes back from the journal, byte for byte.
func TestDropHeadTarget(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"classic", "quorum"} {
		t.Run(kind, func(t *testing.T) {
			v := newVHost(t)
			v.declare("failed", amqp.Table{"x-queue-type": kind})
			v.declare("worker", amqp.Table{"x-queue-type": kind, "x-max-length": 5})
			v.fill("worker", 3)
			want := v.fillOdd("failed", 12)

			for _, args := range [][]string{
				{"replay", "failed", "--to", "queue:worker"},
				{"move", "failed", "--to", "queue:worker"},
				{"replay", "failed", "--to", "queue:worker", "--dry-run"},
			} {
				v.run(append(args, "--yes")...).ends(t, cli.ExitRefused, "worker keeps at most 5 messages", "holds 3",
					"--insist", "10 messages would be dropped: the 3 that it holds and 7 of these 12")
			}

			v.holds("failed", 12).holds("worker", 3)

			account := v.run("move failed --to queue:worker --yes --insist").ends(t, cli.ExitDone,
				"would be dropped").account(t, "12 12 0 0 0 0")
			v.holds("failed", 0).holds("worker", 5)
			u := v.run("journal undo", fmt.Sprint(account.JournalID), "--yes").ends(t, cli.ExitDone)
			u.account(t, "12 12 0 0 0 0")
			assert.That(t, !strings.Contains(u.stderr, "consumer"), "exit status %d: %s%s", u.status, u.out, u.stderr)
			v.holds("failed", 12).holds("worker", 0)

			got := map[string]string{}
			for _, d := range v.take("failed") {
				got[d.MessageId] = asPublished(d)
			}
			for id, published := range want {
				assert.Equal(t, got[id], published, "%s came back as", id)
			}
		})
	}
}

// fillOdd publishes messages with the ids m-1, m-2, … and with headers, properties and bytes that must come back
// unchanged. It returns them as they were published, by id.
func (v *vhost) fillOdd(queue string, n int) map[string]string {
	v.t.Helper()
	all := map[string]string{}
	for i := range n {
		m := amqp.Publishing{
			MessageId: fmt.Sprintf("m-%d", i+1), ContentType: "application/octet-stream", DeliveryMode: 2, Priority: 3,
			CorrelationId: "c", Type: "t", AppId: "a", Body: []byte{0, byte(i), 255, 27},
			Headers: amqp.Table{
				"int": int64(i), "nested": amqp.Table{"list": []any{"x", int32(1), nil}}, "bytes": []byte{0, 255},
			},
		}

		v.publish("", queue, m)

		all[m.MessageId] = asPublished(amqp.Delivery{
			MessageId: m.MessageId, ContentType: m.ContentType, DeliveryMode: m.DeliveryMode, Priority: m.Priority,
			CorrelationId: m.CorrelationId, Type: m.Type, AppId: m.AppId, Headers: m.Headers, Body: m.Body,
			RoutingKey: queue,
		})
	}

	return all
}

// asPublished returns everything in a message that its publisher set; x-delivery-count is the broker's.
func asPublished(d amqp.Delivery) string {
	headers := []string{}
	for key, value := range d.Headers {
		if key != "x-delivery-count" && key != "x-acquired-count" {
			headers = append(headers, fmt.Sprintf("%s=%T %v", key, value, value))
		}
	}

	slices.Sort(headers)
	return fmt.Sprint(d.Exchange, d.RoutingKey, d.MessageId, d.ContentType, d.ContentEncoding, d.DeliveryMode,
		d.Priority, d.CorrelationId, d.ReplyTo, d.Expiration, d.Type, d.UserId, d.AppId, d.Timestamp.Unix(),
		headers, d.Body)
}

// Each look at a quorum queue uses up its delivery limit. However many runs there are, sharing
// only what is on disk: no message is lost, and a run that would use up the limit is refused with the number.
func TestLooksOfManyRuns(t *testing.T) {
	t.Parallel()
	const n, runs, limit = 25, 10, 6
	counts := behaviour().ReturnCountsAsDelivery
	type expected struct {
		Name string
		Args []string
		Free bool // it needs no look
		Says string
	}
	must.Run(t, "testdata/costly_looks.toml", func(t *testing.T, test expected) {
		t.Parallel()
		v := newVHost(t)
		v.declare("q", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(limit)})
		v.declare("other", nil)
		v.bind("other", "k", "amq.direct")
		v.fill("q", n)

		refused := 0
		for run := range runs {
			args := slices.Clone(test.Args)
			if args[0] == "export" {
				args = append(args, filepath.Join(t.TempDir(), fmt.Sprint(run)))
			}

			r := v.run(args...)
			switch {
			case r.status == cli.ExitRefused:
				refused++
				assert.Contains(t, r.stderr, "2 looks left of 6", "run %d", run+1)
			case counts && r.status != cli.ExitDone, counts && !strings.Contains(r.stderr, test.Says):
				t.Errorf("run %d: exit status %d: %s", run+1, r.status, r.stderr)
			}
		}

		want := 0
		if counts && !test.Free {
			want = runs - limit + 2
		}

		// On a busy machine a look can cost two: a consumer that is cancelled while a message is on its way. One that comes
		// before the queue shows returned messages costs none.
		assert.That(t, refused >= want-2, "%d runs were refused, want the last %d", refused, want)
		assert.That(t, want != 0 || refused <= 0, "%d runs were refused, want the last %d", refused, want)
		assert.That(t, refused <= want+3, "%d runs were refused, want the last %d", refused, want)
		v.holds("q", n)
		d, ok, err := v.channel.Get("q", true)
		must.Do(t, err)
		assert.That(t, ok, "the first message: %v %v", err, d.Redelivered)
		assert.That(t, !counts || !test.Free || !d.Redelivered, "the first message: %v %v", err, d.Redelivered)
		came, _ := d.Headers["x-delivery-count"].(int64)
		assert.That(t, !counts || came <= limit-2 && (came != 0 || test.Free), "the first message came back %d times", came)
	})
}

// On a read-only connection rescues cannot be agreed to, and messages at their limit are not lost either.
func TestReadOnlyLooks(t *testing.T) {
	t.Parallel()
	if !behaviour().ReturnCountsAsDelivery {
		return // nothing is refused: TestLooksOfManyRuns
	}
	v := newVHost(t)
	v.declare("q", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(3)})
	v.fill("q", 2)
	for look := range 5 {
		v.holds("q", 2)
		r := v.run("peek q --read-only --insist")
		assert.That(t, look <= 0 || r.status == cli.ExitRefused, "look %d: exit status %d: %s", look+1, r.status, r.stderr)
		assert.Lacks(t, r.stderr, "--insist", "%v", look+1)
	}

	v.holds("q", 2)
}

// looking is a broker that counts the looks at queues.
type looking struct {
	cli.Broker
	looks *atomic.Int32
}

func (l looking) Peek(ctx context.Context, look peek.Plan) (peek.Peeked, error) {
	l.looks.Add(1)
	return l.Broker.Peek(ctx, look)
}

// A quorum queue first delivers what was returned to it, and all of it must be taken. So with --yes an action takes its
// messages without looking first, unless its plan depends on them.
func TestAgreedActionsLookOnce(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("q", amqp.Table{"x-queue-type": "quorum"})
	v.declare("other", nil)

	for i, test := range []struct {
		looks int32
		args  []string
	}{
		{0, v.on("move q --to queue:other --yes")},
		{0, v.on("replay q --to queue:other --yes --limit 2")},
		{0, v.on("drop q --yes")},
		{1, v.on("replay q --to queue:other --filter", `body != ""`, "--yes")},
		{1, v.on("replay q --to exchange:/other --yes")},
	} {
		dial.Publish(t, v.channel, "q", // no copies of earlier replays
			amqp.Publishing{MessageId: fmt.Sprint("first ", i), Body: []byte("1")},
			amqp.Publishing{MessageId: fmt.Sprint("second ", i), Body: []byte("2")})
		v.run("peek q").ends(t, cli.ExitDone)
		var looks atomic.Int32
		count := changedBroker(func(b cli.Broker) cli.Broker { return looking{b, &looks} })
		r := runChanged(t.Context(), count, test.args...).ends(t, cli.ExitDone)
		assert.Equal(t, looks.Load(), test.looks, "looks of %v: %s", test.args, r.stderr)
		unread := strings.Contains(r.stderr, "no message was read")
		want := test.looks == 0 && test.args[0] != "drop"
		assert.That(t, unread == want, "%v: it says %s", test.args, r.stderr)
		v.holds("q", 0)
	}
}
