package ui

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// TestChangedUnderADialogOnARealBroker: a queue that is bound while the plan is shown gets nothing before that was
// shown and agreed to, also when no poll has seen it.
func TestChangedUnderADialogOnARealBroker(t *testing.T) {
	o, _, channel := real(t)
	o.Interval = time.Hour
	for _, name := range []string{"ui.check", "ui.check.failed", "ui.check.audit"} {
		declare(t, channel, name, nil)
	}
	declare(t, channel, "ui.check.retry", amqp.Table{
		"x-message-ttl": 600_000, "x-dead-letter-exchange": "ui.check.x",
		"x-dead-letter-routing-key": "ui.check",
	})
	must.Do(t, channel.ExchangeDeclare("ui.check.x", "direct", true, false, false, false, nil))
	t.Cleanup(func() { _ = channel.ExchangeDelete("ui.check.x", false, false) })
	bind := func(queue string) {
		must.Do(t, channel.QueueBind(queue, "ui.check", "ui.check.x", false, nil))
	}
	bind("ui.check")
	publish(t, channel, "ui.check.failed", amqp.Publishing{MessageId: "m", Body: []byte("body")})
	term := onQueue(t, o, "ui.check.failed", 120, 36)
	term.await("1 message")
	term.press("r")
	term.await("through ui.check.x, key ui.check", "reaches   ui.check,")
	bind("ui.check.audit")
	counts := func() string {
		return fmt.Sprint(depth.Of(t, channel, "ui.check.failed"), depth.Of(t, channel, "ui.check"), depth.Of(t, channel,
			"ui.check.audit"))
	}
	term.press(keyEnter)
	// The way through the exchange is not the worker's alone any more: the worker by name is.
	term.await("read it again", "changed   ", "through (default), key ui.check")
	if got := counts(); got != "1 0 0" {
		t.Fatalf("before it was agreed to there are %s\n%s", got, term.screen())
	}
	term.agree("replay", "1 message moved to ui.check") // after a moment, so that no key is pressed unread
	assert.Equal(t, counts(), "0 1 0", "there")
}

// TestLimitUnderADialogOnARealBroker: what a limit drops is refused, i insists, and the undo brings all of it back.
func TestLimitUnderADialogOnARealBroker(t *testing.T) {
	o, node, channel := real(t)
	j := journal.New(journal.Options{Path: filepath.Join(t.TempDir(), "journal.db")})
	t.Cleanup(func() { j.Close() })
	client := must.Get(broker.New(broker.Options{URL: node.AMQP(), Journal: j}))(t)
	o.Journal, o.Broker = j, client
	declare(t, channel, "ui.limit.failed", nil)
	declare(t, channel, "ui.limit.there", amqp.Table{"x-max-length": 5})
	var messages []amqp.Publishing
	for i := range 12 {
		messages = append(messages, amqp.Publishing{MessageId: fmt.Sprint("m", i), Body: []byte{byte(i), 0, 255}})
	}
	publish(t, channel, "ui.limit.failed", messages...)
	publish(t, channel, "ui.limit.there", messages[:3]...)
	term := onQueue(t, o, "ui.limit.failed", 120, 36)
	term.await("12 messages")
	term.press("*", "m")
	term.await("ui.limit.there")
	term.press("ui.limit.there", keyEnter)
	term.await("ui.limit.there keeps at most 5 messages", "7 of these 12", "i insists")
	term.press(keyEnter)
	term.settle()
	if got := depth.Of(t, channel, "ui.limit.failed"); got != 12 {
		t.Fatalf("%d are left\n%s", got, term.screen())
	}
	term.press("i")
	term.await("enter move", "would be dropped")
	term.agree("move", "12 messages moved to ui.limit.there")
	term.press("u")
	term.await("and from the journal those that its limit", "enter bring back")
	term.press(keyEnter)
	term.await("12 of 12 messages brought back to ui.limit.failed")
	if strings.Contains(term.screen(), "consumer") {
		t.Errorf("a consumer is blamed:\n%s", term.screen())
	}
	bodies := map[string]bool{}
	for range 12 {
		d, ok, err := channel.Get("ui.limit.failed", true)
		must.That(t, err == nil && ok, "%t %v", ok, err)
		bodies[d.MessageId+string(d.Body)] = true
	}
	for _, m := range messages {
		assert.That(t, bodies[m.MessageId+string(m.Body)], "%s is not there as it was", m.MessageId)
	}
}

// TestTopologyCannotBeReadAgain: nothing is done then, and the dialog says so.
func TestTopologyCannotBeReadAgain(t *testing.T) {
	o, b, _ := failedOptions(3)
	o.Interval = time.Hour
	source := o.Source.(*recorded)
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("3 messages")
	term.press("r")
	term.await("enter replay")
	source.fail(fmt.Errorf("the API is away"))
	term.press(keyEnter)
	term.await("the topology could not be read again, and nothing was changed")
	plans := b.executed()
	assert.That(t, len(plans) == 0, "executed %+v", plans)
	source.tell(source.snapshot)
	term.press(keyEnter)
	term.await("1 message moved")
}

// TestWhomElseItReached: an account with queues that the plan did not name is not a complete one.
func TestWhomElseItReached(t *testing.T) {
	a := plan.Account{Planned: 1, Moved: 1}
	assert.That(t, a.Complete(), "it is complete")
	a.Strayed = []plan.Stray{{Way: model.Address{Exchange: "x", RoutingKey: "k"}, Queue: ref("audit"), Messages: 1}}
	l := shell.DialogLines{Styles: term.NewStyles(term.Mono, termenv.Ascii), Width: 80}
	if act.SayStrays(&l, &a); a.Complete() || !strings.Contains(strings.Join(l.Lines, " "),
		"up to 1 message may also be in audit") {
		t.Errorf("%q", l.Lines)
	}
}
