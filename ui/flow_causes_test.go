package ui

import (
	"testing"

	"github.com/dlxtop/dlxtop/model"
)

// Where the terminal is wide, a flow shows the causes of what failed in its own queues, beside its picture. They are
// read where a look is free, and only while they are seen.
func TestFlowBesideItsCauses(t *testing.T) {
	o, b, _, _ := manyFailed()
	term := onFlow(t, o, "ucenter@user", 120, 36)
	term.await("MOVED  ")
	term.settle()
	if n := b.looksAt(failedQueue); n != 0 {
		t.Errorf("without room for its causes the queue was looked at %d times", n)
	}
	term.resize(200, 50)
	term.await("1 failed queue   47 messages   47 read", "TimeoutError: smtp gateway did")
	term.settle()
	term.golden()
	if n := b.looksAt("mail.failed"); n != 0 {
		t.Errorf("a queue of another flow was looked at %d times", n)
	}
}

func TestFlowBesideWhatIsNotRead(t *testing.T) {
	o, b, source, _ := manyFailed()
	for i := range source.snapshot.Queues {
		if q := &source.snapshot.Queues[i]; q.Name == failedQueue {
			q.Type = model.Quorum
		}
	}
	term := onFlow(t, o, "ucenter@user", 160, 40)
	term.await("0 of 47 read", "no messages were read", "not read: 47 of ")
	if n := b.looksAt(failedQueue); n != 0 {
		t.Errorf("it was looked at %d times, and nobody asked", n)
	}
}
