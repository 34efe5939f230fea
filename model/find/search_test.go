package find_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// told is what a broker says about its queues: how many messages each has, or why it cannot be read.
type told struct {
	messages map[string]int
	errors   map[string]error
	looks    []string
}

func (b *told) Peek(context.Context, peek.Plan) (peek.Peeked, error) {
	return peek.Peeked{}, errors.New("no stream is here")
}

func (b *told) Read(_ context.Context, p peek.Plan, each message.Visit) (peek.Read, error) {
	b.looks = append(b.looks, p.Queue.Name)
	for i := range b.messages[p.Queue.Name] {
		m := message.Message{Position: i + 1, Body: fmt.Appendf(nil, "message %d", i+1)}
		if err := each(&m); err != nil {
			return peek.Read{}, err
		}
	}

	return peek.Read{}, b.errors[p.Queue.Name]
}

func (b *told) Count(_ context.Context, refs []model.QueueRef) (model.CountsByQueue, error) {
	counts := model.CountsByQueue{}
	for _, ref := range refs {
		counts[ref] = model.QueueCounts{Ready: model.Some(int64(b.messages[ref.Name]))}
	}
	return counts, nil
}

// reasons returns why queues were not read, each on a line.
func reasons(missed []find.NotRead) string {
	var words []string
	for _, why := range find.Reasons(missed) {
		words = append(words, why.Words())
	}
	return strings.Join(words, "\n")
}

// Hits come in order, and everything that was not read is named with the reason.
func TestSearch(t *testing.T) {
	errs := map[string]error{
		"gone":    fmt.Errorf("read b: %w", model.ErrQueueGone),
		"refused": errors.New("refused"),
		"lost":    &trouble.Error{Kind: trouble.Unreachable, Cause: "mq1 is gone", Next: "start it"},
	}

	type expected struct {
		Name                string
		Want                find.Want
		Errors              map[string]string // of a queue
		Hits, Missed, Looks string
		Fails               bool
	}
	must.Run(t, "testdata/searches.toml", func(t *testing.T, c expected) {
		broken := map[string]error{}
		for queue, kind := range c.Errors {
			broken[queue] = errs[kind]
		}

		topology := build.Described("4.0.5", `
				queue a ready=3
				queue b ready=2
				queue c ready=1
				queue empty
			`)

		broker := &told{map[string]int{"a": 3, "b": 2, "c": 1}, broken, nil}
		want := c.Want
		want.Filter, _ = filter.Parse("message")
		want.Limit, want.Hits = cmp.Or(want.Limit, 100), cmp.Or(want.Hits, 100)
		search := find.New(broker, find.Queues(topology, want), want, nil)

		var result find.Result
		var err error
		var running sync.WaitGroup
		running.Go(func() { result, err = search.Run(t.Context()) })

		var hits []string
		for more := true; more; {
			var found []find.Hit
			found, _, more = search.Next()
			for i := range found {
				hits = append(hits, fmt.Sprint(found[i].Queue.Name, found[i].Position))
			}
		}

		running.Wait()
		got := strings.Join(hits, " ")
		assert.Equal(t, got, c.Hits)
		assert.Equal(t, result.Hits, len(hits))
		got = reasons(result.NotRead)
		assert.That(t, got == c.Missed || c.Want.Longest != 0 && strings.HasPrefix(got, c.Missed),
			"not read: %s", got)
		got = strings.Join(broker.looks, " ")
		assert.Equal(t, got, c.Looks)
		assert.Equal(t, err != nil, c.Fails, "looked at %s: %v", got, err)
	})
}

// A cancelled search reads no further queue, and names all that it did not read.
func TestSearchStops(t *testing.T) {
	topology := build.Described("4.0.5", `
		queue a ready=3
		queue b ready=2
	`)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	stop()
	want := find.Want{Filter: &filter.Filter{}, Limit: 9, Hits: 9}
	broker := &told{messages: map[string]int{"a": 3}}
	result, err := find.New(broker, find.Queues(topology, want), want, nil).Run(ctx)
	must.Do(t, err)
	assert.Equal(t, len(result.NotRead), 2, "%+v, %v, looked at %v", result, err, broker.looks)
	assert.Equal(t, len(broker.looks), 0)
}

// A queue that is empty by the statistics is counted before it is skipped, even where peeking has a cost: messages in
// it are read or reported, and an empty queue costs nothing.
func TestSearchDoesNotBelieveLateStatistics(t *testing.T) {
	topology := build.Described("4.0.5", `
		quorum late
		quorum empty
	`)
	for _, c := range []struct {
		name          string
		costly        bool
		looks, missed string
		read          int64
	}{
		{"a look has a cost", false, "", "2 messages of late: a look has a cost: ", 0},
		{"that was agreed to", true, "late", "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			broker := &told{messages: map[string]int{"late": 2}}
			want := find.Want{Limit: 100, Hits: 100, Costly: c.costly}
			want.Filter, _ = filter.Parse("message")
			result, err := find.New(broker, find.Queues(topology, want), want, nil).Run(t.Context())
			missed := reasons(result.NotRead)
			told := strings.HasPrefix(missed, c.missed) && (missed == "") == (c.missed == "")
			must.Do(t, err)
			assert.Equal(t, result.Read, c.read)
			assert.That(t, told, "%v: %d read, not read: %q", err, result.Read, missed)

			assert.Equal(t, strings.Join(broker.looks, " "), c.looks, "it looked at")
		})
	}
}

func TestMatch(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(`{"order":"A-121"}`))
	_ = w.Close()

	in := base64.StdEncoding.EncodeToString(packed.Bytes())
	for _, c := range []struct {
		text, body, where, excerpt string
	}{
		{"a-121", `{"order":` + "\n\t" + `"A-121"}`, "body", `{"order": "[A-121]"}`},
		{"a-121", packed.String(), "body, gzip", `{"order":"[A-121]"}`},
		{"a-121", in, "body, base64 → gzip", `{"order":"[A-121]"}`},
		{in[:10], in, "body", ""},
		{"=json.order == 'A-121'", `{"order":"A-121"}`, "expression", `[]{"order":"A-121"}`},
		{"=json.order == 'A-121'", packed.String(), "", ""}, // expressions see the body as it is in the queue
		{"b-121", in, "", ""},
		{"\x1b[31m", "red \x1b[31m\u202e here", "body", `red [\x1b[31m]\u{202e} here`},
	} {
		condition := must.Get(filter.Parse(c.text))(t)
		m := &message.Message{Position: 7, RoutingKey: "key", Body: []byte(c.body), BodyBytes: len(c.body)}
		assert.That(t, find.Matches(condition, m) == (c.where != ""), "%q in %q: it does not match", c.text, c.body)
		hit, ok := find.Match(condition, build.Ref("q"), m)
		assert.Equal(t, ok, c.where != "", "%q in %q", c.text, c.body)

		if !ok {
			continue
		}
		before, found, after := hit.Excerpt()
		assert.Equal(t, hit.Where(), c.where, "%v", c.text)
		assert.That(t, c.excerpt == "" || before+"["+found+"]"+after == c.excerpt, "%q in %q: %q %q[%q]%q", c.text, c.body,
			hit.Where(), before, found, after)
		assert.Equal(t, hit.Position, 7, "%v", c.text)
	}
}

func TestQueues(t *testing.T) {
	topology := build.Described("4.0.5", `
		queue a-worker dlx=dead ready=3 consumers=1
		queue b.failed ready=2
		buffer c-retry a-worker 30000 ready=1
		quorum limited ready=5
		quorum limited-empty
		queue empty
		stream log
		exchange direct dead
		bind dead a-worker b.failed
	`)

	names := func(want find.Want) string {
		var all []string
		for _, q := range find.Queues(topology, want) {
			name := q.Ref.Name
			if q.Skipped() != "" {
				name = "-" + name
			}
			all = append(all, name)
		}

		return strings.Join(all, " ")
	}

	assert.Equal(t, names(find.Want{}), "b.failed c-retry a-worker empty -limited -limited-empty log")
	assert.Equal(t, names(find.Want{Costly: true}), "b.failed c-retry a-worker empty limited limited-empty log")
	assert.Equal(t, names(find.Want{Queue: func(q model.QueueRef) bool { return q.Name == "limited" }}), "-limited")
}

func TestReasons(t *testing.T) {
	assert.Equal(t, reasons([]find.NotRead{
		{build.Ref("a"), build.Some(1), "cost", true},
		{build.Ref("b"), build.Some(2), "cost", true},
		{build.Ref("c"), model.Unknown[int64](), "gone", false},
		{build.Ref("d"), build.Some(3), "cost", true},
		{build.Ref("e"), build.Some(4), "cost", true},
	}), "10 messages of a, b, d and 1 more queue: cost\nc: gone")
}

// BenchmarkMatch searches one dead-lettered message of 1 KiB that does not have the text.
func BenchmarkMatch(b *testing.B) {
	death := func(queue, reason string) model.Table {
		return model.Table{
			"queue": queue, "reason": reason, "count": int64(3), "exchange": "retry", "routing-keys": []any{"orders"},
			"time": time.Unix(1_800_000_000, 0),
		}
	}

	body := `{"id":121,"email":"user121@example.com","text":"message 121 of many"}`

	m := message.Message{
		RoutingKey: "orders.failed", Exchange: "failed", Headers: model.Table{
			"x-first-death-queue": "orders", "x-first-death-reason": "rejected", "x-first-death-exchange": "shop",
			"x-exception-message": "TimeoutError: user 121 did not answer",
			"x-death":             []any{death("orders.retry", "expired"), death("orders", "rejected")},
		},
		Properties: message.Properties{MessageID: fmt.Sprintf("0f3c9a00-%08d", 121), ContentType: "application/json"},
		Body:       []byte(body + strings.Repeat(" ", 1024-len(body))),
	}

	condition := must.Get(filter.Parse("order-4711"))(b)
	for b.Loop() {
		_, ok := find.Match(condition, model.QueueRef{}, &m)
		must.That(b, !ok, "found")
	}
}
