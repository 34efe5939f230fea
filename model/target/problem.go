package target

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
)

// Problem is why a message cannot be sent somewhere: a value of the type of its kind. Those of this room are Problems.
type Problem interface {
	Words() string // in one sentence
}

// Problems are pointers to one of each kind.
func Problems() []any {
	return []any{new(NoWorker), new(manyFlows), new(badExchange), new(unknownReach), new(noBinding)}
}

type manyFlows struct{ Workers []model.QueueRef }

func (o manyFlows) Words() string {
	return fmt.Sprintf("this queue belongs to %d flows (%s), and the message has no trace of its worker: name a target, "+
		"for example queue:NAME", len(o.Workers), model.Names(o.Workers))
}

// badExchange: nothing can be published to it.
type badExchange struct {
	Exchange string
	Problem  exchangeProblem
}

type exchangeProblem string

const (
	missing  exchangeProblem = ""
	internal exchangeProblem = "internal"
	delays   exchangeProblem = "delays" // its confirm tells nothing
)

func (o badExchange) Words() string {
	switch o.Problem {
	case internal:
		return fmt.Sprintf("the exchange %s is internal: clients cannot publish to it", o.Exchange)
	case delays:
		return fmt.Sprintf("the exchange %s delays (x-delayed-message): it reports at once that no queue took the message, "+
			"and delivers it later: dlxtop could not know whether it arrived", o.Exchange)
	}
	return fmt.Sprintf("the exchange %s does not exist", o.Exchange)
}

type unknownReach struct{ Why string }

func (o unknownReach) Words() string { return "it is unknown which queues it would reach: " + o.Why }

type noBinding struct{ To model.Address }

func (o noBinding) Words() string {
	return fmt.Sprintf("no queue is bound for key %s on %s", model.Quoted(o.To.RoutingKey),
		model.ExchangeName(o.To.Exchange))
}
