package ui

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// Where the terminal is wide, a flow shows the causes of what failed in its own queues, beside its picture. They are
// read where a look is free, and only while they are seen.
func TestFlowBesideItsCauses(t *testing.T) {
	o, b, _, _ := manyFailed()
	term := onFlow(t, o, "ucenter@user", 80, 24)
	term.await("MOVED  ")
	term.settle()
	assert.Equal(t, b.looksAt(failedQueue), 0, "without room for its causes the queue was looked at")
	term.resize(200, 50)
	term.await("1 failed queue   47 messages   47 read", "TimeoutError: smtp gateway did")
	term.settle()
	term.golden()
	assert.Equal(t, b.looksAt("mail.failed"), 0, "a queue of another flow was looked at")
}

func TestFlowBesideWhatIsNotRead(t *testing.T) {
	o, b, source, _ := manyFailed()
	for i := range source.snapshot.Queues {
		if q := &source.snapshot.Queues[i]; q.Name == failedQueue {
			q.Type = model.Quorum
		}
	}
	term := onFlow(t, o, "ucenter@user", 120, 36)
	term.await("0 of 47 read", "no messages were read", "not read: 47 of ")
	assert.Equal(t, b.looksAt(failedQueue), 0, "it was looked at")
}

// Below its picture a flow shows what failed, in the queue under the cursor when there are several. Where a look costs,
// it says what, and only a key reads.
func TestFlowAboveItsCauses(t *testing.T) {
	storySizes(t, func(t *testing.T, width, height int) {
		o, channel := storyVHost(t)
		must.Get(channel.QueueDeclare("ship", true, false, false, false, nil))(t)
		failInto(t, channel, "ship.failed", "classic", "ValueError: no address", 3)
		failInto(t, channel, "ship.dead", "quorum", "TimeoutError: too late", 2)
		screen := newTerminal(t, o, width, height)
		screen.await("3 Failed 5")
		screen.press(keyEnter)
		screen.await("ValueError: no address")
		screen.awaitThat("the other queue is read, or has a cost", func(s string) bool {
			return strings.Contains(s, "TimeoutError") || strings.Contains(s, "i reads 2, at a cost")
		})
		if !strings.Contains(screen.screen(), "TimeoutError") { // before 4.3
			screen.await("3 of 5 read", "a look has a cost: ")
			screen.press("i")
			screen.await("Read 1 failed queue", "costs more than the mark")
			screen.press(keyEsc)
			screen.awaitGone("Read 1 failed queue")
			screen.await("i reads 2, at a cost")
			screen.press("i", keyEnter)
		}
		screen.await("2 failed queues   5 messages   5 read", "TimeoutError: too late")
		screen.press("G")
		screen.awaitThat("only the causes of the queue under the cursor", func(s string) bool {
			return strings.Contains(s, "ship.failed of 2 failed queues") && !strings.Contains(s, "TimeoutError")
		})
	})
}
