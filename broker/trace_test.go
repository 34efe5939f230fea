package broker_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/trace"
)

// With the exchange in front of the buffers tapped too, dlxtop knows when each message will leave: of 1,000 messages
// with random TTLs, 95 % leave within 100 ms of it. In one buffer they wait for each other; in the others the buffer's
// TTL is lower than some of theirs. On a busy machine the broker itself is late, as its confirms show: then it is
// measured again, and finally the broker's own lateness, on its four ways, is allowed for.
func TestTapKnowsWhenMessagesAreDue(t *testing.T) {
	const n, rounds, most, calm = 1000, 4, 100 * time.Millisecond, 10 * time.Millisecond
	a := newApp(t)
	front := a.exchange("front", "direct", false, nil)
	dlx := a.exchange("dlx", "fanout", false, nil)
	worker := a.queue("worker", model.Classic)
	a.bind(worker, dlx, "", nil)

	keys := []string{"mixed", "500", "1000", "quorum"}
	for _, key := range keys {
		kind := model.Classic
		arguments := []any{"x-dead-letter-exchange", dlx}
		if ttl, err := strconv.ParseInt(key, 10, 64); err == nil {
			arguments = append(arguments, "x-message-ttl", ttl)
		}
		if key == "quorum" {
			kind = model.Quorum
		}
		a.bind(a.queue(key, kind, arguments...), front, key, nil)
	}

	r := seed.Rand(t)
	for round := 1; ; round++ {
		tap := startTapOf(a, client(t), nil, dlx, front)
		pace := time.NewTicker(2 * time.Millisecond)
		confirmed := make([]time.Duration, n)
		var confirms sync.WaitGroup
		for i := range n {
			<-pace.C
			m := amqp.Publishing{MessageId: strconv.Itoa(i), Expiration: strconv.Itoa(1 + r.IntN(1500)), Body: make([]byte, 100)}
			sent := time.Now()
			c := must.Get(a.channel.PublishWithDeferredConfirm(front, keys[r.IntN(len(keys))], false, false, m))(t)
			confirms.Go(func() {
				<-c.Done()
				confirmed[i] = time.Since(sent)
			})
		}

		pace.Stop()
		confirms.Wait()
		slices.Sort(confirmed)
		busy := confirmed[n*95/100]
		var errs []time.Duration

		behind := 0
		for _, row := range tap.awaitRows(2 * n) {
			if row.From == "" {
				continue
			}
			due, ok := row.Due.Get()
			must.That(t, ok, "when it was due is unknown: %+v", row)
			must.Equal(t, row.Known, trace.WaitTapped, "%v", row)
			if row.Behind.Or(0) > 0 {
				behind++
			}
			errs = append(errs, row.Time.Sub(due).Abs())
		}

		counts := tap.end()
		a.await(worker, round*n)
		must.Equal(t, len(errs), n, "messages, %d behind others: %+v", behind, counts)
		must.That(t, behind >= n/10, "%d behind others: %+v", behind, counts)
		must.Equal(t, counts.MissedWords(), "")
		slices.Sort(errs)
		t.Logf("off by %v at the median, %v at the 95th percentile, %v at most; %d waited for others in front of "+
			"them; the broker confirms within %v", errs[n/2], errs[n*95/100], errs[n-1], behind, busy)

		switch {
		case errs[n*95/100] <= most:
			return
		case round == rounds && busy > calm && errs[n*95/100] <= most+4*busy:
			return
		case round == rounds:
			t.Fatalf("off by %v at the 95th percentile", errs[n*95/100])
		}
	}
}

// A tap changes nothing in the flow that it watches: every message arrives once, in order, and any that the tap does
// not show is reported.
func TestTapChangesNothing(t *testing.T) {
	const rate = 2000
	n := rate * size.Of(2, 20)
	a := newApp(t)
	front := a.exchange("front", "direct", false, nil)
	dlx := a.exchange("dlx", "direct", false, nil)
	buffer := a.queue("buffer", model.Classic, "x-dead-letter-exchange", dlx, "x-dead-letter-routing-key", "work",
		"x-message-ttl", int64(200))
	worker := a.queue("worker", model.Classic)
	a.bind(buffer, front, "in", nil)
	a.bind(worker, dlx, "work", nil)
	_, deliveries := a.consumer(worker, 1000)
	tap := startTapOf(a, client(t), nil, dlx, front)

	published := publishAt(a, front, n, rate)
	var latest time.Duration

	for i := range n {
		select {
		case d := <-deliveries:
			must.That(t, d.MessageId == strconv.Itoa(i), "message %s came in the place of %d", d.MessageId, i)
			if i%500 == 499 || i == n-1 {
				must.Do(t, d.Ack(true))
			}
		case <-time.After(patience):
			t.Fatalf("only %d of %d messages came", i, n)
		}
	}

	must.Do(t, <-published)
	tap.awaitCounts("all are accounted for", func(c trace.TapCounts) bool { return c.Seen+c.Missed == int64(2*n) })
	counts := tap.end()
	next := map[bool]int{}
	for _, row := range tap.seen() {
		died := row.From != ""
		i, _ := strconv.Atoi(row.Message.Properties.MessageID)
		must.That(t, counts.Missed != 0 || i == next[died], "saw message %d in the place of %d", i, next[died])
		next[died]++
		latest = max(latest, row.Late.Or(0))
	}

	t.Logf("saw %d, missed %d; late by %v at most", counts.Seen, counts.Missed, latest)
	select {
	case d := <-deliveries:
		t.Errorf("one more message came: %s", d.MessageId)
	default:
	}
}

// publishAt publishes n messages with the key "in" at a rate per second, and signals its end.
func publishAt(a *app, exchange string, n, rate int) (published <-chan error) {
	ended := make(chan error, 1)
	go func() {
		began := time.Now()
		for i := range n {
			due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
			if wait := time.Until(due); wait > 2*time.Millisecond {
				time.Sleep(wait) // the rate is the test's subject
			}
			m := amqp.Publishing{MessageId: strconv.Itoa(i), Body: make([]byte, 1024)}
			if err := a.channel.PublishWithContext(context.Background(), exchange, "in", true, false, m); err != nil {
				ended <- err
				return
			}
		}

		a.Logf("published %d messages in %v", n, time.Since(began).Round(time.Millisecond))
		ended <- nil
	}()

	return ended
}

// tapOfABrokerThatGoesAway: it ends with a sentence, and leaves nothing on the broker when that is back.
func tapOfABrokerThatGoesAway(t *testing.T, own *demo.Node) {
	a := newAppOn(t, own)
	plan := trace.TapPlan{
		VHost: "/", Exchanges: []string{"amq.fanout"},
		Bindings: []trace.TapBinding{{Exchange: "amq.fanout"}}, MaxMessages: 10, MaxBytes: 1000,
	}

	c := clientOf(t, own)
	empty := model.NewTopology(&model.Snapshot{})
	tap := startTap(a, c, empty, plan, nil)
	a.send("amq.fanout", "", numbered(1)...)
	tap.awaitRows(1)
	must.Do(t, own.Halt())
	err := tap.awaitEnd()
	assert.Fails(t, err, "lost")
	must.Do(t, own.Resume(t.Context()))
	again := startTap(newAppOn(t, own), c, empty, plan, nil)
	again.end()
}

// Whatever a message contains, the tap shows it, and continues.
func TestTapOfBadMessages(t *testing.T) {
	a, x, _ := fanout(t, "x\x1b[2J\u202e")
	tap := startTapOf(a, client(t), nil, x)
	bad := []amqp.Publishing{
		{MessageId: "large", Body: make([]byte, 16<<20)},
		{MessageId: "future", Timestamp: time.Now().Add(10 * time.Minute)},
		{MessageId: "absurd", Timestamp: time.Unix(1<<40, 0)},
		{MessageId: "text", Headers: amqp.Table{"x-death": "none"}},
		{MessageId: "forged", Headers: amqp.Table{"x-death": []any{amqp.Table{
			"queue": "q", "reason": "expired",
			"count": int64(1), "original-expiration": "1099511627776", "time": time.Unix(-5, 0),
		}}}},
		{
			MessageId: "\x1b]0;owned\x07\x00", Type: strings.Repeat("é", 100),
			Headers: amqp.Table{"\x1b": []any{amqp.Table{"a": nil}}},
		},
	}

	a.send(x, "\x1b[31m", bad...)

	for i, row := range tap.awaitRows(len(bad)) {
		assert.Equal(t, row.Message.Properties.MessageID, bad[i].MessageId, "%d: %+v", i, row)
		assert.Equal(t, row.Message.BodyBytes, len(bad[i].Body), "%v", i)
		waited, known := row.Waited.Get()
		assert.That(t, !known, "%q waited %v", bad[i].MessageId, waited)
		assert.That(t, row.Message.Properties.MessageID != "text" || row.Unclear != "",
			"an unreadable x-death is not reported")
	}

	tap.end()
}
