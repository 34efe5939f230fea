package ui

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// The keys that people try first do what they do elsewhere: tab goes through the screens, n and N through matches, and
// ":q" leaves.
func TestKeysAreThoseOfOtherPrograms(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		for _, name := range []string{"mail", "sms"} {
			if _, err := channel.QueueDeclare(name, true, false, false, false, nil); err != nil {
				t.Fatal(err)
			}
		}
		failInto(t, channel, "mail.failed", "classic", "ValueError: no address", 9)
		failInto(t, channel, "sms.failed", "classic", "TimeoutError: too late", 8)
		failInto(t, channel, "sms.failed", "classic", "TimeoutError: much too late", 7)
		body := strings.Repeat("line\n", 60) + "a needle\n" + strings.Repeat("line\n", 60) + "another needle\n"
		for i := range 2 {
			publish(t, channel, "mail.failed", amqp.Publishing{
				MessageId: fmt.Sprint("long ", i), ContentType: "text/plain",
				Headers: amqp.Table{"x-error": "KeyError: 'needle'"}, Body: []byte(body),
			})
		}
		screen := newTerminal(t, o, width, height)
		screen.await("mail ")
		at := func(text string) {
			t.Helper()
			screen.awaitThat("the cursor is on "+text, func(string) bool { return strings.Contains(screen.cursorRow(), text) })
		}
		screen.press("3")
		screen.await("26 read", "ValueError", "TimeoutError", "KeyError", "f queues")
		screen.press("n", "N", "/", "Timeout", keyEnter)
		screen.await("2 of 4", "n next  N previous")
		at("too late")
		screen.press("n")
		at("much too late")
		screen.press("n")
		at("TimeoutError: too late")
		screen.press("N")
		at("much too late")
		screen.press(keyEsc, keyTab)
		screen.await("No findings")
		screen.press(keyTab)
		screen.await("Nothing was done yet")
		screen.press(keyBackTab, keyBackTab, "f")
		screen.await("FAILED QUEUE")
		screen.press(keyTab)
		screen.await("No findings")

		screen.press(":queue mail.failed", keyEnter)
		screen.await("11 messages")
		screen.press("/", "needle", keyEnter)
		screen.await("match 1 of 2 in 11")
		screen.press(keyEnter)
		screen.await("message 1 of 2")
		if !strings.Contains(screen.screen(), "▸ Story") {
			screen.press(keyTab) // with a list above, it begins with the body
		}
		screen.await("▸ Story")
		for _, step := range []struct{ key, message, pane string }{
			{"n", "1", "Headers"}, {"n", "1", "Body"}, {"n", "1", "Body"}, {"n", "2", "Story"}, {"N", "1", "Body"},
		} {
			screen.press(step.key)
			screen.await("message "+step.message+" of 2", "▸ "+step.pane)
		}
		screen.await("another needle")
		screen.press("/", "a needle", keyEnter)
		screen.await("line 1 of 1", "a needle")
		screen.press("n", "N", "n")
		screen.await("message 1 of 2", "line 1 of 1")
		screen.press(":q", keyEnter)
		screen.awaitEnd()
	})
}
