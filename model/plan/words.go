package plan

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// Words say the objection in one sentence.
func (o Objection) Words() string {
	queue := model.Printable(o.Queue.String())
	switch o.Kind {
	case NotReadable:
		return o.Look.Words()
	case NotMended:
		return o.Mend.Error()
	case SampleGone:
		return o.Why + ": read the queue again"
	case ImportToNone:
		return fmt.Sprintf("there is no queue %s (any more)", queue)
	case TargetDown:
		return fmt.Sprintf("%s is not available: %s", queue, o.Down.Words())
	case CanaryBlind:
		return "no canary possible: they go back into the queue they come from, so dlxtop could not recognize " +
			"one that comes back"
	case CanaryCounted:
		return fmt.Sprintf("no canary possible: it takes the remaining messages out up to %d times, each "+
			"counts against the delivery limit %d of %s, and one has used %d of "+
			"it", canaryDeliveries, o.Limit, queue, o.Used)
	case TooSlow:
		return fmt.Sprintf("at this rate they take longer than %s, and messages that are chosen one by one are held for "+
			"all that time, which RabbitMQ allows for 30 minutes: choose a higher rate, or %s at most (--limit)",
			model.ShortDuration(LongestSpread), model.Plural(o.Messages, "message"))
	case Double:
		return fmt.Sprintf("a copy from %s is replayed to the same queue, or was, or may have been: to process "+
			"both, replay doubles, too (--doubles)", queue)
	case DropsKept, DropsGone, DropsInFile, DropsInJournal:
		return o.lossWords()
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
		return fmt.Sprintf("this queue belongs to %d flows (%s), and the message has no trace of its worker: "+
			"name a target, for example queue:NAME", len(o.Workers), model.Names(o.Workers))
	case NoExchange:
		return fmt.Sprintf("the exchange %s does not exist", o.Exchange)
	case InternalOne:
		return fmt.Sprintf("the exchange %s is internal: clients cannot publish to it", o.Exchange)
	case DelayingOne:
		return fmt.Sprintf("the exchange %s delays (x-delayed-message): it reports at once that no queue took "+
			"the message, and delivers it later: dlxtop could not know whether it arrived", o.Exchange)
	case UnknownReach:
		return fmt.Sprintf("it is unknown which queues it would reach: %s", o.Why)
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
		return fmt.Sprintf("%s is exclusive: RabbitMQ deletes it, messages included, when the connection that "+
			"declared it closes", queue)
	}
	return fmt.Sprintf("%s is a stream: nothing can be taken out of it again, so the move could not be undone", queue)
}

// undoWords say what speaks against an undo.
func (o Objection) undoWords(queue string) string {
	switch o.Kind {
	case IsUndo:
		return fmt.Sprintf("%d is an undo itself: replay or drop what it brought back", o.Record)
	case IsImport:
		return fmt.Sprintf("%d is an import: to remove its messages, drop them from %s", o.Record, queue)
	case StillRuns:
		return fmt.Sprintf("the %s %d is still running: wait for its end, or stop it", o.Operation, o.Record)
	case OtherBroker:
		return fmt.Sprintf("it was done on %s, and this is %s: connect to that broker, or insist if it is the "+
			"same one under another name", model.Printable(o.There), model.Printable(o.Here))
	case BackGone:
		return fmt.Sprintf("there is no queue %s here any more: declare it again, or look at its vhost, then undo", queue)
	case MaybeThere:
		return fmt.Sprintf("%s may already be in the queue, and the queue could not be read to its end; insist "+
			"to bring back all the same, which may make duplicates",
			model.Plural(o.Messages, "message"))
	case CopiesUnknown:
		return fmt.Sprintf("the messages of the %s %d cannot be recognized where they were sent to: an earlier version "+
			"made their fingerprints in another way; `dlxtop journal show %d` lists them, and `dlxtop move` brings back "+
			"what is still there", o.Operation, o.Record, o.Record)
	case ThereUnknown:
		return fmt.Sprintf("%s may already be in the queue, and cannot be recognized there: an earlier version made "+
			"their fingerprints in another way; look for them (`dlxtop journal show %d` lists them), then insist to "+
			"bring back all the same, which may make duplicates", model.Plural(o.Messages, "message"), o.Record)
	}
	words := "there is nothing to undo"
	for _, skip := range o.Skips {
		words += "; " + model.Count(skip.Messages) + " " + skip.Words()
	}
	return words
}

// Override is what insisting would do, "" when nobody may.
func (o Objection) Override() string {
	switch o.Kind {
	case NotReadable:
		return o.Look.Override()
	case DropsKept:
		return "the journal keeps the complete messages, and an undo brings back those that are lost"
	case DropsGone:
		return "without the journal, lost messages cannot be brought back"
	case DropsInFile:
		return "lost messages are then only in the file"
	case DropsInJournal:
		return "lost messages are then only in the journal"
	case OtherBroker:
		return "dlxtop treats it as the same broker"
	case MaybeThere, ThereUnknown:
		return "messages that are already there are then there twice"
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
		return fmt.Sprintf("being brought back now by undo %d", s.By)
	case There:
		return "already in the queue: its outcome was unknown before"
	case NotKept:
		return "not kept by the journal"
	case Damaged:
		return "damaged in the journal: it cannot be read"
	case SentToMany:
		return fmt.Sprintf("sent to %d queues (%s): to remove it, drop it there", len(s.Queues), quoteList(s.Queues))
	case TargetGone:
		return fmt.Sprintf("sent to %s, which does not exist any more", quoteList(s.Queues))
	}
	return fmt.Sprintf("sent to %s: %s", quoteList(s.Queues), s.Look.Words())
}

func (o Objection) lossWords() string {
	var words []string
	for i := range o.Losses {
		words = append(words, o.Losses[i].Words())
	}
	for i := range o.Again {
		words = append(words, o.Again[i].Words())
	}
	return strings.Join(words, "; ")
}
