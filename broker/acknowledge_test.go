package broker

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Counted acknowledgements are taken back when the queue may have forgotten them: the latest when the broker is
// stopped; for a quorum queue, those that have not certainly gone through its log.
func TestWhatIsUncertainWhenTheChannelGoes(t *testing.T) {
	stopped := &amqp.Error{
		Code: amqp.ConnectionForced, Reason: "broker forced connection closure with reason 'shutdown'", Server: true,
	}
	cut := &amqp.Error{Code: amqp.FrameError, Reason: "EOF"}

	refused := &amqp.Error{Code: amqp.PreconditionFailed, Reason: "unknown delivery tag 7", Server: true}
	for _, test := range []struct {
		name    string
		kind    model.QueueType
		batches int // of 250, each with its own command
		every   time.Duration
		applied int64
		err     error
		want    int
	}{
		{"classic, stopped", model.Classic, 2, 0, 0, stopped, 500},
		{"classic, stopped, more", model.Classic, 40, 0, 0, stopped, 1000},
		{"classic, stopped, long ago", model.Classic, 10, 400 * time.Millisecond, 0, stopped, 750},
		{"classic, cut, perhaps with its node", model.Classic, 10, 0, 0, cut, 2500},
		{"classic, cut, more than a node forgets", model.Classic, 200, 0, 0, cut, 33000},
		{"classic, its node is gone", model.Classic, 10, 0, 0, errForgotten, 2500},

		{"classic, deleted", model.Classic, 10, 0, 0, model.ErrQueueGone, 0},
		{"classic, channel error", model.Classic, 10, 0, 0, refused, 0},
		{"quorum, stopped", model.Quorum, 10, 0, 0, stopped, 2500},
		{"quorum, stopped, half of them applied", model.Quorum, 40, 0, 20, stopped, 5000},
		{"quorum, cut, perhaps with its leader", model.Quorum, 10, 0, 0, cut, 2500},
		{"quorum, cut, most of them applied", model.Quorum, 40, 0, 36, cut, 1000},
		{"quorum, no leader", model.Quorum, 10, 0, 0, model.ErrQueueDown, 2500},
		{"quorum, no leader, long since", model.Quorum, 40, time.Second, 30, model.ErrQueueDown, 2500},
		{"quorum, deleted", model.Quorum, 10, 0, 0, model.ErrQueueGone, 0},
		{"quorum, channel error", model.Quorum, 10, 0, 0, refused, 0},
		// the channel may have buffered some
		{"quorum, channel error, many commands", model.Quorum, 40, 0, 10, refused, 7500},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := &ledger{account: plan.Account{Operation: plan.Replay, Moved: 250 * test.batches}}
			s := &source{plan: peek.Plan{Type: test.kind}, holding: &amqp.Channel{}}
			a := &acknowledger{source: s, ledger: l, outcome: plan.Moved}

			began := time.Now().Add(-test.every * time.Duration(test.batches-1))
			for i := range test.batches {
				a.sent = append(a.sent, sentAcks{s.commands.Add(1), began.Add(time.Duration(i) * test.every), make([]int, 250)})
				s.applied.Store(min(test.applied, s.commands.Load()))
				a.forget()
			}

			a.doubt(test.err)
			assert.Equal(t, l.account.Unknown, test.want, "%d uncertain, want %d; %d moved", l.account.Unknown, test.want,
				l.account.Moved)
			assert.Equal(t, l.account.Moved, 250*test.batches-test.want)
			a.doubt(test.err)
			assert.Equal(t, l.account.Unknown, test.want, "after it was reported again")
		})
	}
}
