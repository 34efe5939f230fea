package broker

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// What was acknowledged and counted is taken back when the queue may have forgotten it: when the broker is stopped, the
// latest; when the connection is lost otherwise, only what a channel of a quorum queue may not have handed on.
func TestWhatIsUncertainWhenTheChannelGoes(t *testing.T) {
	stopped := &amqp.Error{
		Code:   amqp.ConnectionForced,
		Reason: "broker forced connection closure with reason 'shutdown'", Server: true,
	}
	cut := &amqp.Error{Code: amqp.FrameError, Reason: "EOF"}
	refused := &amqp.Error{Code: amqp.PreconditionFailed, Reason: "unknown delivery tag 7", Server: true}
	for _, test := range []struct {
		name    string
		kind    model.QueueType
		batches int // of 250, each with a command of its own
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
		{"quorum, stopped", model.Quorum, 10, 0, 0, stopped, 1000},
		{"quorum, cut, few commands", model.Quorum, 10, 0, 0, cut, 0},
		// all from the last that could not wait in the channel on
		{"quorum, cut, many commands", model.Quorum, 40, 0, 0, cut, 7000},
		{"quorum, cut, half of them applied", model.Quorum, 40, 0, 20, cut, 2000},
		{"quorum, stopped, many commands", model.Quorum, 40, 0, 20, stopped, 2000},
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
			if l.account.Unknown != test.want || l.account.Moved != 250*test.batches-test.want {
				t.Errorf("%d uncertain, want %d; %d moved", l.account.Unknown, test.want, l.account.Moved)
			}
			a.doubt(test.err)
			if l.account.Unknown != test.want {
				t.Errorf("%d after it was told again", l.account.Unknown)
			}
		})
	}
}
