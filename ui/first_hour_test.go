package ui

import (
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// The keys that people try first do what they do elsewhere: tab goes through the screens, n and N through matches, and
// ":q" leaves.
func TestKeysAreThoseOfOtherPrograms(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t, "mail", "sms")
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
		screen := newTerminal(t, o, width, height).await("mail ")
		at := func(text string) {
			t.Helper()
			screen.awaitRow(text)
		}
		screen.press("3").await("   26 read", "ValueError", "TimeoutError", "KeyError", "f queues")
		screen.press("n", "N", "/", "Timeout", keyEnter).await("2 of 4", "n next  N previous")
		at("too late")
		screen.press("n")
		at("much too late")
		screen.press("n")
		at("TimeoutError: too late")
		screen.press("N")
		at("much too late")
		screen.press(keyEsc).awaitGone("esc clears").press(keyTab).await("No findings").press(keyTab)
		screen.await("Nothing was done yet").press(keyBackTab, keyBackTab, "f").await("FAILED QUEUE").press(keyTab)
		screen.await("No findings")

		screen.press(":queue mail.failed", keyEnter).await("11 messages").press("/", "needle", keyEnter)
		screen.await("match 1 of 2 in 11").press(keyEnter).await("message 1 of 2")
		if !strings.Contains(screen.screen(), "▸ Story") {
			screen.press(keyTab) // with a list above, it begins with the body
		}
		screen.await("▸ Story")
		for _, step := range []struct{ key, message, pane string }{
			{"n", "1", "Headers"}, {"n", "1", "Body"}, {"n", "1", "Body"}, {"n", "2", "Story"}, {"N", "1", "Body"},
		} {
			screen.press(step.key).await("message "+step.message+" of 2", "▸ "+step.pane)
		}
		screen.await("another needle").press("/", "a needle", keyEnter).await("line 1 of 1", "a needle")
		screen.press("n", "N", "n").await("message 1 of 2", "line 1 of 1").press(":q", keyEnter)
		screen.awaitEnd()
	})
}

// The tabs and the header say how much is there, and the lists never take what was read for it: 1,939 messages of a
// cause of which 1,000 were read are at least 1,000.
func TestWhatIsThereAndWhatWasRead(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		for worker, n := range map[string]int{"alpha": 3, "mail": 1939, "zulu": 5} {
			declare(t, channel, worker, nil)
			declare(t, channel, worker+".failed", nil)
			messages := make([]amqp.Publishing, n)
			for i := range messages {
				messages[i] = amqp.Publishing{
					MessageId: fmt.Sprint(worker, i), Body: []byte("{}"),
					Headers: amqp.Table{"x-error": worker + "Error: no address"},
				}
			}
			publish(t, channel, worker+".failed", messages...)
		}
		declare(t, channel, "pool", amqp.Table{"x-message-ttl": int32(600_000)})
		declare(t, channel, "ring", amqp.Table{"x-message-ttl": int32(600_000), "x-dead-letter-exchange": "none"})
		screen := newTerminal(t, o, width, height).await("3 Failed 1,947", "4 Findings 2")
		screen.awaitThat("the flow with the most failed messages is the first of its kind", func(s string) bool {
			at := func(worker string) int { return strings.Index(s, o.VHost+"/"+worker+" ") }
			return 0 < at("mail") && at("mail") < at("zulu") && at("zulu") < at("alpha")
		})
		header, _, _ := strings.Cut(screen.screen(), "\n")
		assert.That(t, width <= 80 || strings.Contains(header, "1,947 failed"), "the header says %q", header)
		grouped := func() {
			t.Helper()
			if s := screen.screen(); strings.Contains(s, "1939") || strings.Contains(s, "1947") {
				t.Errorf("a number is not grouped:\n%s", s)
			}
		}
		screen.press("4")
		screen.await("messages are lost when they expire", "the dead-letter exchange does not", "enter what it means")
		screen.press(keyEnter)
		screen.await("enter messages") // below the page
		screen.press(keyEnter).await("the queue is empty", o.VHost+"/ring").press("q", "q", "3")
		screen.await("1,008 of 1,947 read; M reads the rest", "≥ 1,000", o.VHost+"/mail.failed ≥ 1,000").press(keyEnter)
		screen.await("1,000 of 1,939 read; M reads the rest").press("/", "error", keyEnter).await("in 1,000 read")
		screen.press("M").await("1,939 messages", "in 1,939").press("G")
		screen.awaitRow("1,939")
		grouped()
		screen.press(keyEsc).awaitGone("esc clears").press("q").await("≥ 1,000").press("M")
		screen.await("1,947 messages   1,947 read").awaitGone("≥")
		grouped()
	})
}
