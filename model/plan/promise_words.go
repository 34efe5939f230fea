package plan

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
)

// Words tell a change in one sentence.
func (c *Change) Words() string {
	queue := model.Printable(c.Queue.String())
	switch c.Kind {
	case QueueAdded:
		return fmt.Sprintf("%s now also reaches %s", addressWords(c.Way), queue)
	case QueueGone:
		return fmt.Sprintf("%s does not reach %s any more", addressWords(c.Way), queue)
	case WayAdded:
		return fmt.Sprintf("messages now go through %s, which reaches %s", addressWords(c.Way), model.Names(c.Queues))
	case WayGone:
		return fmt.Sprintf("no message goes through %s any more", addressWords(c.Way))
	case WayUncertain:
		return fmt.Sprintf("an exchange behind %s now chooses by a rule of its own: which queues it reaches is unknown",
			addressWords(c.Way))
	case HeaderGone:
		return fmt.Sprintf("%s is now removed", model.Printable(c.Header))
	case HeaderAdded:
		return fmt.Sprintf("%s now stays", model.Printable(c.Header))
	case LimitDrops:
		return c.Loss.Words()
	case TakeChanged:
		return fmt.Sprintf("%s come back from %s instead of %s", model.Plural(c.Is, "message"), queue, model.Count(c.Was))
	case CountChanged:
		return fmt.Sprintf("it would act on %s instead of %s", model.Plural(c.Is, "message"), model.Count(c.Was))
	}
	return c.Why.Words()
}

// addressWords name an address: "exchange master, key user.created".
func addressWords(a model.Address) string {
	return fmt.Sprintf("exchange %s, key %s", model.Printable(model.ExchangeName(a.Exchange)),
		model.Printable(model.Quoted(a.RoutingKey)))
}

// ChangesWords tell changes, one after the other.
func ChangesWords(changes []Change) string {
	words := ""
	for i := range changes {
		if i > 0 {
			words += "; "
		}
		words += changes[i].Words()
	}
	return words
}

// Words tell whom messages may have reached beyond the plan.
func (s *Stray) Words() string {
	return fmt.Sprintf("up to %s may also be in %s, which the plan did not name: %s reached it meanwhile; "+
		"those stay there",
		model.Plural(s.Messages, "message"), model.Printable(s.Queue.String()), addressWords(s.Way))
}
