package ui

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestWidthsByContent: lists and panes have the columns and the widths that their contents need, on a real broker.
func TestWidthsByContent(t *testing.T) {
	o, channel := storyVHost(t)
	const worker = "checkout.invoice-service"
	for name, arguments := range map[string]amqp.Table{
		worker: nil, worker + ".failed": nil,
		worker + ".retry": {"x-message-ttl": 30_000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": worker},
	} {
		_, err := channel.QueueDeclare(name, true, false, false, false, arguments)
		must.That(t, err == nil, "%v", err)
	}
	publish(t, channel, worker+".failed", amqp.Publishing{Body: []byte(`{"order": 1}`), Headers: amqp.Table{
		"x-exception-message": "customer 7 has no address for the invoice",
		"x-exception-stacktrace": "java.lang.IllegalStateException: customer 7 has no address for the invoice\n" +
			"\tat com.acme.AddressBook.require(AddressBook.java:88)\n\tat com.acme.Invoices.render(Invoices.java:142)",
	}})
	wide := newTerminal(t, o, 200, 50)
	wide.await("story/"+worker+" ", "NEXT DUE", "LAST 5 MIN", "── story/"+worker)

	term := newTerminal(t, o, 80, 24)
	term.await("story/" + worker)
	term.press("3")
	term.await(`body      {"order": 1}`, "trace     java.lang.IllegalStateException: customer 7",
		"\n                 at com.acme.AddressBook.require(AddressBook.java:88)")
	term.press("1")
	term.press("f")
	term.await("IllegalStateException: customer 7", "FAILURE")
	head := strings.Split(term.screen(), "\n")[5]
	failure := strings.Index(head, "FAILURE")
	assert.That(t, failure <= strings.Index(head, "ROUTING KEY") && failure >= 0 && !strings.Contains(head, "DEATHS"),
		"the columns are %q", head)
	wide.press("f")
	wide.await("failed  IllegalStateException: customer 7 has no address for the invoice ", `"order": 1`)

	term.press(keyEnter, keyTab)
	term.await("▸ Headers", "\n   java.lang.IllegalStateException",
		"\n       at com.acme.AddressBook.require(AddressBook.java:88)",
		"\n       at com.acme.Invoices.render(Invoices.java:142)")
	wide.press(keyTab, keyEnter) // a pane beside the list gets the whole screen
	wide.awaitThat("the story is alone", func(s string) bool {
		return strings.Contains(s, "▸ Story") && !strings.Contains(s, `"order": 1`)
	})
	wide.press(keyEnter)
	wide.await("▸ Story", `"order": 1`)
}
