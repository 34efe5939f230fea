package broker

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Counted acknowledgements are taken back when the queue may have forgotten them: the latest when the broker is
// stopped; for a quorum queue, those that have not certainly gone through its log.
func TestWhatIsUncertainWhenTheChannelGoes(t *testing.T) {
	type channel struct {
		Name      string
		Kind      model.QueueType
		Batches   int
		Every     time.Duration
		Applied   int64
		Ends      string
		Uncertain int
	}

	ends := map[string]error{
		"stopped": &amqp.Error{
			Code: amqp.ConnectionForced, Reason: "broker forced connection closure with reason 'shutdown'", Server: true,
		},
		"cut":       &amqp.Error{Code: amqp.FrameError, Reason: "EOF"},
		"refused":   &amqp.Error{Code: amqp.PreconditionFailed, Reason: "unknown delivery tag 7", Server: true},
		"deleted":   model.ErrQueueGone,
		"no leader": model.ErrQueueDown,
		"forgotten": errForgotten,
	}

	must.Run(t, "testdata/uncertain.toml", func(t *testing.T, test channel) {
		l := &ledger{account: plan.Account{Operation: plan.Replay, Moved: 250 * test.Batches}}
		s := &source{plan: peek.Plan{Type: test.Kind}, holding: &amqp.Channel{}}
		a := &acknowledger{source: s, ledger: l, outcome: plan.Moved}

		must.That(t, ends[test.Ends] != nil, "a channel does not end in this way: %s", test.Ends)
		began := time.Now().Add(-test.Every * time.Duration(test.Batches-1))
		for i := range test.Batches {
			a.sent = append(a.sent, sentAcks{s.commands.Add(1), began.Add(time.Duration(i) * test.Every), make([]int, 250)})
			s.applied.Store(min(test.Applied, s.commands.Load()))
			a.forget()
		}

		a.doubt(ends[test.Ends])
		assert.Equal(t, l.account.Unknown, test.Uncertain, "of %d moved", l.account.Moved)
		assert.Equal(t, l.account.Moved, 250*test.Batches-test.Uncertain)
		a.doubt(ends[test.Ends])
		assert.Equal(t, l.account.Unknown, test.Uncertain, "after it was reported again")
	})
}
