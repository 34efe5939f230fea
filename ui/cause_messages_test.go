package ui

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/messages"
)

// The messages of a cause in several queues are one list; each opens in its queue, and an action goes through these.
func TestMessagesOfACauseInSeveralQueues(t *testing.T) {
	o, b, _, _ := manyFailed()
	term := onCauses(t, o, 120, 36)
	term.awaitThat("the cursor is on it", func(string) bool { return strings.Contains(term.cursorRow(), smtpCause) })
	term.press(keyEnter)
	term.await("messages of a cause   64 found", "complete", "cause: "+smtpCause, "MESSAGE ID")
	term.press(keyEnter)
	term.await("showing 40 ", "mail.failed")
	term.press("q")
	term.await("64 found")
	term.press("G", keyEnter)
	term.await("showing 24 ", failedQueue)
	term.awaitThat("the cursor is on the last", func(string) bool { return strings.Contains(term.cursorRow(), " 47 ") })
	term.press("q")
	term.await("64 found")
	term.press("f")
	term.await("OF THE CAUSE")
	term.press("q")
	term.await("64 found")
	term.press("G", "d") // as everywhere, the message under the cursor
	term.await("Drop 1 message", "the message under the cursor: #47")
	term.press(keyEsc, "q")
	term.await("64 found", "R replay all 64")
	term.press("D")
	term.await("drop 64 messages of 2 queues", "mail.failed", failedQueue)
	term.press(keyEsc)
	term.await("64 found")
	term.press("o")
	term.await("marked as resolved")
	b.mu.Lock()
	b.messages = map[model.QueueRef][]message.Message{}
	b.mu.Unlock()
	term.press(keyCtrlR)
	term.await("0 found", "none of this cause is left")
	unread := messages.FindScreen{Topology: &model.Topology{}, Ended: true, Only: messages.OfCause{Group: &cause.Group{}}}
	unread.Missed = make([]find.Reason, 1)
	assert.Equal(t, unread.Emptiness(), "none of this cause in what was read", "where a queue was not read it")
}
