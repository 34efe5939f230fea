package cause

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// ID identifies a cause: 12 hexadecimal digits, the same for the same failure on every machine.
type ID string

// IDLength is how many characters an ID has.
const IDLength = 12

// ParseID reads an ID as a person typed it; false when the text is none.
func ParseID(text string) (ID, bool) {
	id := strings.ToLower(text)
	return ID(id), len(id) == IDLength && isHex(id)
}

// Evidence is what a cause was read from.
type Evidence string

// The kinds of evidence.
const (
	ByError Evidence = "error"   // what a framework or an application wrote about it
	ByDeath Evidence = "x-death" // no error: RabbitMQ alone says why the message left which queue
	Nothing Evidence = "nothing" // neither an error nor a death
)

// Cause is what several failures have in common.
type Cause struct {
	Evidence Evidence
	Kind     string // the type of the error; of a death its reason; "" when unknown
	Text     string // the error's text, folded; "" when there is none
	Frame    string // the topmost place in the application's own code, by the stack trace; "" when unknown
	Queue    string // of a death: the queue in which the message died; of nothing: that in which it is, with its vhost
	Level    Level  // how much of it was left out
}

// Level is how much of causes is left out, where too many differ in it.
type Level int

// The levels.
const (
	Whole      Level = iota // nothing
	FirstWords              // the text behind its third word; the queue of a death
	NoText                  // the text
	NoKind                  // all but the evidence
)

// Failed is what one message says of its failure.
type Failed struct {
	Cause  Cause
	Worker string          // the queue in which it failed; "" when the message does not say
	Error  message.Failure // as it is written in the message, for a sample
}

// mostKind bounds the type of an error, in bytes.
const mostKind = 120

// Of is the cause of a message's failure. Where its error is unknown, the newest death that is no expiry stands for it,
// else the newest: an expired message has only waited on its way. A message that says nothing has only its queue in
// common with others.
func Of(in model.QueueRef, m *message.Message) Cause { return readFailed(in, m).Cause }

// readFailed is Of with what else a message says of its failure.
func readFailed(in model.QueueRef, m *message.Message) Failed {
	f, ok := m.Failure()
	read := Failed{Error: f}
	read.Worker, _, _ = m.Worker()
	switch {
	case !ok:
		read.Cause = Cause{Evidence: Nothing, Queue: in.String()}
	case f.Source == message.FromDeaths:
		reason, queue := newestDeath(m)
		read.Cause = Cause{Evidence: ByDeath, Kind: model.Escaped(message.WholeRunes(reason, mostKind)), Queue: queue}
	default:
		stack := cmp.Or(m.FailureStack(f), f.Message)
		read.Cause = Cause{
			Evidence: ByError, Kind: kindOf(f.Kind), Text: Fold(headOf(f.Message)), Frame: ownFrame(stack),
		}
	}
	if d := newestFailure(m); ok && read.Worker == "" && d != nil {
		read.Worker = d.Queue
	}
	return read
}

// kindOf is the type of an error without what differs: some applications write a sentence there.
func kindOf(kind string) string {
	if strings.ContainsAny(kind, " \t\n") {
		return message.WholeRunes(Fold(headOf(kind)), mostKind)
	}
	return model.Escaped(message.WholeRunes(strings.ToValidUTF8(kind, "?"), mostKind))
}

func newestDeath(m *message.Message) (reason, queue string) {
	if d := newestFailure(m); d != nil {
		return string(d.Reason), d.Queue
	}
	if len(m.Deaths) > 0 {
		return string(m.Deaths[0].Reason), m.Deaths[0].Queue
	}
	reason, _ = m.Headers.Text("x-last-death-reason")
	queue, _ = m.Headers.Text("x-last-death-queue")
	return reason, queue
}

// newestFailure is the newest death that is no expiry: its queue is that which the message left last without having
// waited for its time, its worker. nil when there is none.
func newestFailure(m *message.Message) *message.Death {
	for d := range model.Each(m.Deaths) {
		if d.Reason != model.Expired {
			return d
		}
	}
	return nil
}

// ID is the cause's ID.
func (c Cause) ID() ID {
	var b [512]byte
	text := append(b[:0], c.Evidence...)
	for _, part := range [...]string{c.Kind, c.Text, c.Frame, c.Queue} {
		text = append(append(text, 0), part...)
	}
	text = append(text, 0, byte(c.Level))
	sum := sha256.Sum256(text)
	return ID(hex.EncodeToString(sum[:IDLength/2]))
}

// At is the cause with so much left out.
func (c Cause) At(level Level) Cause {
	if level <= c.Level {
		return c
	}
	c.Level = level
	switch {
	case level < NoKind && c.Evidence == Nothing: // queues without a reason have nothing in common
	case level == FirstWords:
		c.Text, c.Queue = firstWords(c.Text), ""
	case level == NoText:
		c.Text, c.Queue = "", ""
	default:
		c = Cause{Evidence: c.Evidence, Level: level}
	}
	return c
}

// firstWords are the first three words of a text.
func firstWords(text string) string {
	const most = 3
	for i, n := 0, 0; i < len(text); i++ {
		if text[i] != ' ' {
			continue
		}
		if n++; n == most {
			return text[:i]
		}
	}
	return text
}

// Is reports whether a message in a queue failed for the cause with this ID, at whichever level it was made.
func Is(in model.QueueRef, m *message.Message, id ID) bool {
	c := Of(in, m)
	for level := Whole; level <= NoKind; level++ {
		if c.At(level).ID() == id {
			return true
		}
	}
	return false
}
