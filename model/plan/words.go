package plan

import (
	"fmt"
	"strings"

	"dlxtop/model"
)

// Words say the objection in one sentence.
func (o Objection) Words() string {
	queue := model.Printable(o.Queue.String())
	switch o.Kind {
	case NotReadable:
		return o.Look.Words()
	case SampleGone:
		return o.Why + ": read the queue again"
	case ImportToNone:
		return fmt.Sprintf("there is no queue %s (any more)", queue)
	case TargetDown:
		return fmt.Sprintf("%s is not available: %s", queue, o.Down.Words())
	case CanaryBlind:
		return "without a canary only: they go back into the queue they come from, so dlxtop could not tell one that " +
			"comes back"
	case CanaryCounted:
		return fmt.Sprintf("without a canary only: it takes the messages that stay out up to %d times, each "+
			"counts against the delivery limit %d of %s, and one has used %d of it", canaryDeliveries, o.Limit, queue, o.Used)
	case DropsKept, DropsGone, DropsInFile, DropsInJournal:
		return lossWords(o.Losses)
	case NoFlow, Disagree, WorkerGone, ManyFlows, NoExchange, InternalOne, DelayingOne, UnknownReach, NoBinding:
		return o.wayWords()
	case MoveNowhere, MoveToItself, MoveToNone, MoveToExclusive, MoveToStream:
		return o.moveWords(queue)
	}
	return o.undoWords(queue)
}

// wayWords say what is wrong with the way of a message.
func (o Objection) wayWords() string {
	switch o.Kind {
	case NoFlow, Disagree, WorkerGone:
		return o.clueWords()
	case ManyFlows:
		return fmt.Sprintf("this queue belongs to %d flows (%s), and nothing shows which worker the message is for: "+
			"name a target, for example queue:NAME", len(o.Workers), model.Names(o.Workers))
	case NoExchange:
		return fmt.Sprintf("the exchange %s does not exist", o.Exchange)
	case InternalOne:
		return fmt.Sprintf("the exchange %s is internal: clients cannot publish to it", o.Exchange)
	case DelayingOne:
		return fmt.Sprintf("the exchange %s delays (x-delayed-message): it says at once that no queue took the "+
			"message and delivers it later, so whether it arrived would be unknown", o.Exchange)
	case UnknownReach:
		return fmt.Sprintf("it is unknown whom it would reach: %s", o.Why)
	}
	return fmt.Sprintf("no queue is bound for key %s on %s", model.Quoted(o.RoutingKey), model.ExchangeName(o.Exchange))
}

// moveWords say what speaks against a queue of choice.
func (o Objection) moveWords(queue string) string {
	switch o.Kind {
	case MoveNowhere:
		return "a move needs a queue to move to"
	case MoveToItself:
		return fmt.Sprintf("%s is the queue they are in", queue)
	case MoveToNone:
		return fmt.Sprintf("there is no queue %s", queue)
	case MoveToExclusive:
		return fmt.Sprintf("%s is exclusive: it goes with the connection that declared it, and what is in it too", queue)
	}
	return fmt.Sprintf("%s is a stream: nothing can be taken out of it again, so the move could not be undone", queue)
}

// undoWords say what speaks against an undo.
func (o Objection) undoWords(queue string) string {
	switch o.Kind {
	case IsUndo:
		return fmt.Sprintf("%d is an undo itself: replay or drop what it brought back", o.Record)
	case IsImport:
		return fmt.Sprintf("%d is an import: drop its messages from %s, if they are to go", o.Record, queue)
	case StillRuns:
		return fmt.Sprintf("the %s %d is still running: wait for its end, or stop it", o.Operation, o.Record)
	case OtherBroker:
		return fmt.Sprintf("it was done on %s, and this is %s: connect to that broker, or insist when it is the "+
			"same one by another name", model.Printable(o.There), model.Printable(o.Here))
	case BackGone:
		return fmt.Sprintf("there is no queue %s here any more: declare it again, or look at its vhost, then undo", queue)
	case MaybeThere:
		return fmt.Sprintf("of %s it is not known whether it is in the queue already, and not all of the queue "+
			"could be looked at: it could be there twice; insist to bring it back nevertheless",
			model.Plural(o.Messages, "message"))
	}
	words := "there is nothing to undo"
	for _, skip := range o.Skips {
		words += fmt.Sprintf("; %d %s", skip.Messages, skip.Words())
	}
	return words
}

// Override is what insisting would do, "" when nobody may.
func (o Objection) Override() string {
	switch o.Kind {
	case NotReadable:
		return o.Look.Override()
	case DropsKept:
		return "the journal keeps them whole, and an undo brings back those of them that are dropped"
	case DropsGone:
		return "without the journal nothing brings back what is dropped"
	case DropsInFile:
		return "what is dropped is left in the file only"
	case DropsInJournal:
		return "what is dropped is left in the journal only"
	case OtherBroker:
		return "it is taken for the same broker"
	case MaybeThere:
		return "what is there already is there twice"
	}
	return ""
}

// Words say why, to be read behind the number of messages.
func (s Skip) Words() string {
	switch s.Kind {
	case MaybeUndone:
		return "not certain: perhaps brought back before"
	case Undone:
		return "brought back before"
	case RescuedThere:
		return "rescued: the end of the queue got a copy of each"
	case NeverTaken:
		return "never taken out of the queue"
	case UndoneNow:
		return fmt.Sprintf("brought back at this moment by undo %d", s.By)
	case There:
		return "in the queue already: what became of it was not known before"
	case NotKept:
		return "not kept by the journal"
	case SentToMany:
		return fmt.Sprintf("sent to %d queues (%s): drop it there, if it is to go", len(s.Queues), quoteList(s.Queues))
	case TargetGone:
		return fmt.Sprintf("sent to %s, which does not exist any more", quoteList(s.Queues))
	}
	return fmt.Sprintf("sent to %s: %s", quoteList(s.Queues), s.Look.Words())
}

func lossWords(losses []LimitLoss) string {
	words := make([]string, len(losses))
	for i := range losses {
		words[i] = losses[i].Words()
	}
	return strings.Join(words, "; ")
}
