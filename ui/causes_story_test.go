package ui

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// storyCause is why messages in the failed queue of a worker failed, and what is done about it.
type storyCause struct {
	worker  string
	said    func(i int) amqp.Table // as its framework writes it
	text    string                 // of the cause
	n       int
	key     string // replay or drop
	several bool   // the cause is in further queues, too
}

// storyCauses are 1,000 messages that failed for seven causes, in five queues of five frameworks.
func storyCauses() []storyCause {
	spring := func(i int) amqp.Table {
		return amqp.Table{
			"x-exception-message":    fmt.Sprintf("421 4.7.0 <user%d@example.com>: try again in %d s", i, i),
			"x-exception-stacktrace": fmt.Sprintf("org.mail.MailException: 421 4.7.0 <user%d@example.com>\n\tat a.B.c()", i),
		}
	}
	const timeout = "the database did not answer in %d ms"
	massTransit := func(kind, text string) func(int) amqp.Table {
		return func(i int) amqp.Table {
			return amqp.Table{"MT-Fault-ExceptionType": kind, "MT-Fault-Message": fmt.Sprintf(text, i)}
		}
	}
	nServiceBus := func(kind, text string) func(int) amqp.Table {
		return func(i int) amqp.Table {
			return amqp.Table{
				"NServiceBus.ExceptionInfo.ExceptionType": kind, "NServiceBus.ExceptionInfo.Message": fmt.Sprintf(text, i),
			}
		}
	}
	rebus := func(i int) amqp.Table {
		return amqp.Table{"rbs2-error-details": fmt.Sprintf("System.IO.IOException: index %d is read-only\n   at S.E.A()", i)}
	}
	wolverine := func(kind, text string) func(int) amqp.Table {
		return func(i int) amqp.Table {
			return amqp.Table{"exception-type": kind, "exception-message": fmt.Sprintf(text, i)}
		}
	}
	return []storyCause{
		{"mail", spring, "MailException: 421", 250, "r", false},
		{"stock", massTransit("System.TimeoutException", timeout), "TimeoutException: the database", 120, "r", true},
		{"invoice", nServiceBus("System.TimeoutException", timeout), "TimeoutException: the database", 80, "r", false},
		{"stock", massTransit("System.ArgumentException", "no article %d"), "ArgumentException: no article", 200, "d", false},
		{"invoice", nServiceBus("Tax.RateException", "no rate for country %d"), "RateException: no rate", 100, "d", false},
		{"search", rebus, "IOException: index", 150, "r", false},
		{"orders", wolverine("Shop.OrderException", "order %d was paid twice"), "OrderException: order", 60, "d", false},
		{"orders", wolverine("Shop.LockException", "order %d is locked"), "LockException: order", 40, "r", false},
	}
}

// storyVHost makes a vhost for a test, and the program's options on it.
func storyVHost(t *testing.T) (Options, *amqp.Channel) {
	t.Helper()
	_, node, _ := real(t)
	vhost := "story"
	manageVHost(t, node, http.MethodPut, vhost)
	t.Cleanup(func() { manageVHost(t, node, http.MethodDelete, vhost) })
	at := node.AMQP()[:strings.LastIndex(node.AMQP(), "/")+1] + vhost
	kept := journal.New(journal.Options{Path: filepath.Join(t.TempDir(), "journal.db")})
	client := must.Get(broker.New(broker.Options{URL: at, Journal: kept}))(t)
	source := must.Get(mgmt.New(mgmt.Options{URL: node.API(), VHost: vhost}))(t)
	connection := must.Get(amqp.Dial(at))(t)
	t.Cleanup(func() { connection.Close(); client.Close(); source.Close(); kept.Close() })
	channel := must.Get(connection.Channel())(t)
	return Options{
		Source: source, Broker: client, Journal: kept, Title: "test", VHost: vhost, Interval: 200 * time.Millisecond,
	}, channel
}

// TestStoryOfCauses: 1,000 failed messages of five frameworks are seven causes; each is dealt with, and at the end the
// failed queues are empty and the workers have what was replayed, each message once.
func TestStoryOfCauses(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		wanted, left := map[string]int{}, 0
		for _, c := range storyCauses() {
			for _, name := range []string{c.worker, c.worker + ".failed"} {
				must.Get(channel.QueueDeclare(name, true, false, false, false, nil))(t)
			}
			messages := make([]amqp.Publishing, c.n)
			for i := range messages {
				messages[i] = amqp.Publishing{MessageId: fmt.Sprint(c.text, i), Headers: c.said(i), Body: []byte("{}")}
			}
			publish(t, channel, c.worker+".failed", messages...)
			left += c.n
			if c.key == "r" {
				wanted[c.worker] += c.n
			}
		}
		screen := newTerminal(t, o, width, height)
		screen.await("mail ")
		screen.press("3")
		screen.await("   "+model.Count(int64(left))+" read", "all 7")
		for todo := storyCauses(); len(todo) > 0; {
			now := todo[:1]
			if now[0].several {
				now = todo[:2]
			}
			todo = todo[len(now):]
			workDown(screen, now...)
			for _, c := range now {
				left -= c.n
			}
			screen.press(keyCtrlR)
			screen.await("   " + model.Count(int64(left)) + " read")
		}
		screen.await("the failed queues are empty")
		for _, c := range storyCauses() {
			if n := depth.Of(t, channel, c.worker+".failed"); n != 0 {
				t.Errorf("%d are in %s.failed", n, c.worker)
			}
			if n := depth.Of(t, channel, c.worker); n != wanted[c.worker] {
				t.Errorf("%d are in %s, not %d", n, c.worker, wanted[c.worker])
			}
		}
	})
}

// workDown acts on all messages of a cause, and goes back to the causes. What was in several queues is marked as
// resolved.
func workDown(screen *terminal, queues ...storyCause) {
	screen.t.Helper()
	c := queues[0]
	screen.press("/", c.text, keyEnter)
	kind, _, _ := strings.Cut(c.text, ":")
	screen.awaitThat(kind+" is under the cursor", func(string) bool { return strings.Contains(screen.cursorRow(), kind) })
	if c.several {
		workDownSeveral(screen, queues)
	} else {
		workDownOne(screen, c)
	}
	screen.await("5 failed queues   ")
	screen.press(keyEsc)
	screen.awaitGone("esc clears")
}

// words are what the key of a cause does, and what is said when it has.
func (c *storyCause) words() (does, done string) {
	if c.key == "d" {
		return "drop", "dropped"
	}
	return "replay", "moved"
}

func workDownOne(screen *terminal, c storyCause) {
	screen.t.Helper()
	does, done := c.words()
	screen.press(c.key)
	screen.await(fmt.Sprintf("%s%s %d messages", strings.ToUpper(does[:1]), does[1:], c.n), "all of the cause, as read at")
	if c.n > shell.TypedAbove {
		screen.press(fmt.Sprint(c.n))
	}
	screen.agree(does, fmt.Sprintf("%d messages %s", c.n, done))
	screen.await("What happened")
	screen.press(keyEnter)
	screen.await("none of this cause is left here")
	screen.press("q")
}

func workDownSeveral(screen *terminal, queues []storyCause) {
	screen.t.Helper()
	c, all := queues[0], 0
	does, done := c.words()
	for _, c := range queues {
		all += c.n
	}
	screen.press(keyEnter)
	screen.await(fmt.Sprintf("%d found", all), "complete")
	screen.press("q")
	screen.await("5 failed queues   ")
	screen.press(c.key)
	screen.await(fmt.Sprintf("%s %d messages of %d queues, as read at", does, all, len(queues)),
		fmt.Sprintf("type %d:", all))
	screen.press(fmt.Sprint(all))
	screen.agree(fmt.Sprintf("%s %d messages", does, all), fmt.Sprintf(" %d messages %s", all, done))
	screen.await("esc close")
	screen.press("o")
	screen.await("marked as resolved")
	screen.press(keyEsc)
}
