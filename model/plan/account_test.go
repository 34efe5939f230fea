package plan

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestAccount(t *testing.T) {
	a := Account{Operation: Replay, Planned: 2*MaxProblems + 3}
	m := &message.Message{Properties: message.Properties{MessageID: "id"}, Fingerprint: message.Fingerprint{1}}
	a.Add(Moved, m, "")
	a.Add(Dropped, m, "")
	a.Add(Unsure, m, "the connection went")
	for range MaxProblems {
		a.Add(Refused, m, "full")
		a.Add(Returned, m, "no queue")
	}
	if a.Done() != a.Planned || a.Complete() {
		t.Errorf("%d done, complete %v", a.Done(), a.Complete())
	}
	assert.That(t, a.Moved == 1 && a.Dropped == 1 && a.Unknown == 1 && a.Refused == MaxProblems &&
		a.Returned == MaxProblems, "%+v", a)
	if len(a.Problems) != MaxProblems ||
		a.Problems[0] != (Problem{"id", message.Fingerprint{1}, Unsure, "the connection went"}) {
		t.Errorf("%d problems, first %+v", len(a.Problems), a.Problems[0])
	}
	done := Account{Planned: 3, Moved: 3}
	stopped := Account{Planned: 3, Moved: 3, Stopped: "on request"}
	assert.That(t, done.Complete() && !stopped.Complete(), "complete is: all done, and not stopped")
}
