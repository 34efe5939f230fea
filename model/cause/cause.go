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

const IDLength = 12

// ParseID reads an ID as typed; false when the text is not one.
func ParseID(text string) (ID, bool) {
	id := strings.ToLower(text)
	return ID(id), len(id) == IDLength && isHex(id)
}

// Evidence is the source of a cause.
type Evidence string

const (
	ByError Evidence = "error"   // an error written by a framework or an application
	ByDeath Evidence = "x-death" // no error: only RabbitMQ's reason and queue of the death
	Nothing Evidence = "nothing" // neither an error nor a death
)

// Cause is what several failures have in common.
type Cause struct {
	Evidence Evidence
	Kind     string // the type of the error, or a death's reason; "" when unknown
	Text     string // the error's text, folded; "" when there is none
	Frame    string // the topmost frame in the application's own code, from the stack trace; "" when unknown
	Queue    string // for a death: the queue in which it died; for nothing: the queue that has it, with its vhost
	Level    Level  // how much of the cause is left out
}

// Level is how much is left out of causes when too many differ.
type Level int

const (
	Whole      Level = iota // nothing
	FirstWords              // the text after its third word; the queue of a death
	NoText                  // the text
	NoKind                  // everything but the evidence
)

// Failed is what one message says about its failure.
type Failed struct {
	Cause  Cause
	Worker string          // the queue in which it failed, or the last that it left; "" when unknown
	Error  message.Failure // as written in the message, for a sample
}

// mostKind is the maximum length of an error's type, in bytes.
const mostKind = 120

// Of returns the cause of a message's failure, as Message.Failure reads it: an error, or else the death by which it
// failed. A message without either only shares its queue with others.
func Of(in model.QueueRef, m *message.Message) Cause { return readFailed(in, m).Cause }

// readFailed is Of, with whatever else a message says about its failure.
func readFailed(in model.QueueRef, m *message.Message) Failed {
	f, ok := m.Failure()
	read := Failed{Error: f, Worker: workerOf(in, m)}
	d := m.FailedBy()
	switch {
	case !ok:
		read.Cause = Cause{Evidence: Nothing, Queue: in.String()}
	case f.Source == message.FromDeaths:
		kind := model.Escaped(message.WholeRunes(string(d.Reason), mostKind))
		read.Cause = Cause{Evidence: ByDeath, Kind: kind, Queue: d.Queue}
	default:
		stack := cmp.Or(m.FailureStack(f), f.Message)
		read.Cause = Cause{
			Evidence: ByError, Kind: kindOf(f.Kind), Text: Fold(headOf(f.Message)), Frame: ownFrame(stack),
		}
	}

	return read
}

// workerOf returns the queue in which a message failed, as recorded in it, or else that of its death; "" when unknown.
func workerOf(in model.QueueRef, m *message.Message) string {
	worker, _ := m.Worker(in.VHost)
	if d := m.FailingDeath(); worker == "" && d != nil {
		return d.Queue
	}
	return worker
}

// kindOf returns the type of an error without varying parts: some applications write a sentence there.
func kindOf(kind string) string {
	if strings.ContainsAny(kind, " \t\n") {
		return message.WholeRunes(Fold(headOf(kind)), mostKind)
	}
	return model.Escaped(message.WholeRunes(strings.ToValidUTF8(kind, "?"), mostKind))
}

// ID returns the cause's ID.
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

// At returns the cause at a coarser level.
func (c Cause) At(level Level) Cause {
	if level <= c.Level {
		return c
	}
	c.Level = level
	switch {
	case level < NoKind && c.Evidence == Nothing: // queues of messages without a reason have nothing in common
	case level == FirstWords:
		c.Text, c.Queue = firstWords(c.Text), ""
	case level == NoText:
		c.Text, c.Queue = "", ""
	default:
		c = Cause{Evidence: c.Evidence, Level: level}
	}

	return c
}

// firstWords returns the first three words of a text.
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

// MatchesID reports whether a message in a queue failed for the cause with this ID, at any level.
func MatchesID(in model.QueueRef, m *message.Message, id ID) bool {
	c := Of(in, m)
	for level := Whole; level <= NoKind; level++ {
		if c.At(level).ID() == id {
			return true
		}
	}

	return false
}
