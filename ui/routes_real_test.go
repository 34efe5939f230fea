package ui

import (
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// exchanges declares exchanges that are deleted after the test.
func exchanges(t *testing.T, channel *amqp.Channel, kind string, names ...string) {
	t.Helper()
	for _, name := range names {
		must.Do(t, channel.ExchangeDeclare(name, kind, true, false, false, false, nil))
		t.Cleanup(func() { _ = channel.ExchangeDelete(name, false, false) })
	}
}

func bindIn(t *testing.T, channel *amqp.Channel, exchange, key, queue string) {
	t.Helper()
	must.Do(t, channel.QueueBind(queue, key, exchange, false, nil))
}

// What a worker rejects and comes back to the exchange that publishers use is shown as rejected, and the publishers are
// there.
func TestRejectsThatComeBackToTheEntry(t *testing.T) {
	o, _, channel := real(t)
	exchanges(t, channel, "topic", "entry", "entry.retry")
	declare(t, channel, "entry.work", amqp.Table{"x-dead-letter-exchange": "entry.retry"})
	declare(t, channel, "entry.work.wait", amqp.Table{
		"x-dead-letter-exchange": "entry", "x-message-ttl": int64(200),
	})
	bindIn(t, channel, "entry", "work.#", "entry.work")
	bindIn(t, channel, "entry.retry", "#", "entry.work.wait")
	term := onFlow(t, o, "entry.work", 120, 36)
	term.await("publishers ", "│ retry 200ms", "rejected", "expired", "work.#")
	screen := term.screen()
	assert.That(t, !strings.Contains(screen, "sent again"), "nothing is sent again by the worker:\n%s", screen)
	worker := must.Get(channel.Consume("entry.work", "", false, false, false, false, nil))(t)
	p := amqp.Publishing{Body: []byte("m")}
	must.Do(t, channel.PublishWithContext(t.Context(), "entry", "work.new", true, false, p))
	for try := range 2 { // as published, and as it comes back
		select {
		case d := <-worker:
			deaths, _ := d.Headers["x-death"].([]any)
			assert.That(t, len(deaths) == 2*try, "at try %d it has died so: %v", try, deaths)
			must.Do(t, d.Reject(false))
		case <-time.After(time.Minute):
			t.Fatal("no message")
		}
	}
	term.await("1 consumer", "rejected")
}

// A message whose own key leads elsewhere than the bindings of its buffer say: once it was looked at, its worker has
// the buffer in its flow.
func TestALookShowsWhereMessagesGo(t *testing.T) {
	o, _, channel := real(t)
	exchanges(t, channel, "topic", "ways.delay", "ways.retry")
	for _, name := range []string{"ways.audit", "ways.save"} {
		declare(t, channel, name, nil)
	}
	declare(t, channel, "ways.later", amqp.Table{"x-dead-letter-exchange": "ways.retry", "x-message-ttl": int64(600_000)})
	bindIn(t, channel, "ways.delay", "delay.10m", "ways.later")
	bindIn(t, channel, "ways.retry", "delay.#", "ways.audit")
	bindIn(t, channel, "ways.retry", "save.#", "ways.save")
	must.Do(t, channel.Confirm(false))
	confirm := must.Get(channel.PublishWithDeferredConfirm("ways.delay", "save.created", true, false, amqp.Publishing{
		Headers: amqp.Table{"CC": []any{"delay.10m"}}, Body: []byte("m"),
	}))(t)
	ok, err := confirm.WaitContext(t.Context())
	must.That(t, err == nil && ok, "not confirmed: %v", err)
	term := newTerminal(t, o, 120, 36)
	term.await("ways.audit")
	screen := term.screen()
	must.That(t, !strings.Contains(screen, "ways.save"), "no binding says that ways.later leads to ways.save:\n%s", screen)
	term.press("/", "w", "a", "y", "s", keyEnter, keyEnter)
	term.await("▸ ways.audit", "MOVED  ")
	term.press(keyTab)
	term.await("▸ ways.later")
	term.press(keyEnter)
	term.await("1 message", "save.created")
	term.press("q", "q")
	term.await("ways.audit", "ways.save")
}

// A worker that sends its failures to a buffer with keys in CC, as Rascal does: a look shows it, which no binding does.
func TestALookShowsWhoFillsABuffer(t *testing.T) {
	o, _, channel := real(t)
	exchanges(t, channel, "topic", "back.delay", "back.retry", "back.in")
	declare(t, channel, "back.save", nil)
	declare(t, channel, "back.later", amqp.Table{
		"x-dead-letter-exchange": "back.retry", "x-message-ttl": int64(600_000),
	})
	bindIn(t, channel, "back.in", "created", "back.save")
	bindIn(t, channel, "back.delay", "delay.10m", "back.later")
	bindIn(t, channel, "back.retry", "back.save.#", "back.save")
	must.Do(t, channel.Confirm(false))
	confirm, err := channel.PublishWithDeferredConfirm("back.delay", "back.save.created", true, false, amqp.Publishing{
		Headers: amqp.Table{
			"CC": []any{"delay.10m"},
			"rascal": amqp.Table{
				"originalQueue": "back.save",
				"recovery":      amqp.Table{"back.save": amqp.Table{"forwarded": int32(1)}},
			},
		},
		Body: []byte("m"),
	})
	must.Do(t, err)
	ok, err := confirm.WaitContext(t.Context())
	must.That(t, err == nil && ok, "not confirmed: %v", err)
	term := onFlow(t, o, "back.save", 120, 36)
	term.await("delayed 10m", "╭ back.delay ╮")
	term.press(keyTab)
	term.await("▸ back.later")
	term.press(keyEnter)
	term.await("1 message", "back.save.created")
	term.press("q")
	term.await("retry 10m", "via back.delay", "╭ back.in ")
}

// A worker that gives back what it gets: the picture has the way back to itself, and the finding since when.
func TestAWorkerThatRequeues(t *testing.T) {
	o, _, channel := real(t)
	declare(t, channel, "again.dead", nil)
	declare(t, channel, "again.work", amqp.Table{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "again.dead",
	})
	publish(t, channel, "again.work", amqp.Publishing{Body: []byte("m")}, amqp.Publishing{Body: []byte("m")})
	must.Do(t, channel.Qos(1, 0, false))
	got := must.Get(channel.Consume("again.work", "worker", false, false, false, false, nil))(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for d := range got {
			<-tick.C
			_ = d.Nack(false, true)
		}
	}()
	t.Cleanup(func() {
		if err := channel.Cancel("worker", false); err != nil {
			t.Log(err)
		}
		<-ended
	})
	term := onFlow(t, o, "again.work", 120, 36)
	term.await("├─╮", "│◀╯", "1 consumer", "/s redelivered",
		"returns its 2 messages and receives them again", "seen", "since ")
	term.press("q", "/", "again.work", keyEnter)
	term.await("▸ ✗  again.work", "1 consumer  ", "/s redelivered", "seen", "since ")
	term.resize(80, 24)
	term.press(keyEnter)
	term.await("/s redelivered", "1 consumer")
}
