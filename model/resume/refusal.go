package resume

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Refusal is why a record must not be gone on with; nil when it may.
type Refusal = model.Refusal[Objection]

// ObjectionKind is a reason against going on with a record.
type ObjectionKind string

// The kinds.
const (
	WasUndone   ObjectionKind = "was undone"
	IsRescue    ObjectionKind = "is a rescue"
	StillRuns   ObjectionKind = "still runs"
	OtherBroker ObjectionKind = "other broker"
	QueueGone   ObjectionKind = "queue gone"
	CameToEnd   ObjectionKind = "came to its end"
	OtherPrints ObjectionKind = "other fingerprints" // than this dlxtop makes: nothing can be recognized
	OtherLine   ObjectionKind = "other message in the file"
	OtherLength ObjectionKind = "other length of the file"
	RestRefused ObjectionKind = "rest refused" // what is left must not run
)

// Objection is one reason against going on with a record, with the values that its sentence needs.
type Objection struct {
	Kind      ObjectionKind
	Record    int64           `json:",omitempty"`
	Undoes    int64           `json:",omitempty"` // of OtherPrints: the record that it takes back; 0: none
	Operation plan.Operation  `json:",omitempty"`
	Queue     model.QueueRef  `json:",omitzero"`
	There     string          `json:",omitempty"` // of OtherBroker: where it was done
	Here      string          `json:",omitempty"`
	File      string          `json:",omitempty"`
	Message   int             `json:",omitempty"` // of OtherLine: its number in the file
	Was       int             `json:",omitempty"` // of OtherLength: messages
	Is        int             `json:",omitempty"`
	Rest      *plan.Objection `json:",omitempty"` // of RestRefused
}

// Overridable reports whether a person may insist.
func (o Objection) Overridable() bool {
	return o.Kind == OtherBroker || o.Kind == RestRefused && o.Rest.Overridable()
}

// Words say the objection in one sentence.
func (o Objection) Words() string {
	file := model.Printable(o.File)
	switch o.Kind {
	case WasUndone:
		return fmt.Sprintf("%d was undone: replay or drop what is there again", o.Record)
	case IsRescue:
		return fmt.Sprintf("%d is a rescue: `dlxtop journal undo %d` brings back what has no confirmed copy", o.Record,
			o.Record)
	case StillRuns:
		return fmt.Sprintf("the %s %d is still running: wait for its end, or stop it", o.Operation, o.Record)
	case OtherBroker:
		return fmt.Sprintf("it was done on %s, and this is %s: connect to that broker", model.Printable(o.There),
			model.Printable(o.Here))
	case QueueGone:
		return fmt.Sprintf("there is no queue %s here any more: declare it again, or look at its vhost",
			model.Printable(o.Queue.String()))
	case CameToEnd:
		return fmt.Sprintf("the %s %d came to its end: there is nothing to resume", o.Operation, o.Record)
	case OtherPrints:
		return fmt.Sprintf("the messages of the %s %d cannot be recognized: an earlier version made their fingerprints in "+
			"another way; %s", o.Operation, o.Record, o.instead())
	case OtherLine:
		return fmt.Sprintf("%s was changed since: its message %d is not the one that was imported", file, o.Message)
	case OtherLength:
		return fmt.Sprintf("%s was changed since: it has %s instead of %s", file, model.Plural(o.Is, "message"),
			model.Count(o.Was))
	}
	return o.Rest.Words()
}

// instead is what a person can do about a record whose messages cannot be recognized.
func (o Objection) instead() string {
	queue := model.Printable(o.Queue.String())
	switch {
	case o.Undoes > 0:
		return fmt.Sprintf("`dlxtop journal undo %d` begins again", o.Undoes)
	case o.Operation == plan.Import:
		return fmt.Sprintf("look which messages of the file are in %s, and import the others", queue)
	case o.Operation == plan.Drop:
		return fmt.Sprintf("look which of them are left in %s, and drop those", queue)
	}
	return fmt.Sprintf("look which of those left in %s are not where they were sent to (`dlxtop journal show %d`), "+
		"and %s those", queue, o.Record, o.Operation)
}

// Override is what insisting would do, "" when nobody may.
func (o Objection) Override() string {
	switch o.Kind {
	case OtherBroker:
		return "dlxtop treats it as the same broker"
	case RestRefused:
		return o.Rest.Override()
	}
	return ""
}

// restRefused is a plan's refusal as that of what would go on.
func restRefused(rest plan.Refusal) Refusal {
	var r Refusal
	for i := range rest {
		r = append(r, Objection{Kind: RestRefused, Rest: &rest[i]})
	}
	return r
}
