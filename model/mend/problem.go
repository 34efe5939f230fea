package mend

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model/message"
)

// Kind is a reason why a program does not change a message.
type Kind string

// The kinds.
const (
	Failed       Kind = "failed"        // it ended with an error
	Endless      Kind = "endless"       // it does not come to its end
	Slow         Kind = "slow"          // it takes too long
	Large        Kind = "large"         // it takes too much memory
	NotRun       Kind = "not run"       // the process that bounds it cannot be started
	Stopped      Kind = "stopped"       // who asked for it does not wait any more
	Nothing      Kind = "nothing"       // it gives no value
	Several      Kind = "several"       // it gives more than one
	NoObject     Kind = "no object"     // it gives something else than an object
	UnknownField Kind = "unknown field" // it gives a field that messages do not have
	NoField      Kind = "no field"      // it leaves out a field
	BadField     Kind = "bad field"     // a field has a value that it cannot have
	NotAllowed   Kind = "not allowed"   // a field has a value that must not be published
	TooLarge     Kind = "too large"     // the body that it gives
)

// Problem is why a program does not change a message, with what its sentence needs. The message stays where it is.
type Problem struct {
	Kind   Kind
	Field  string `json:",omitempty"` // its name as the program has it
	Detail string `json:",omitempty"` // what is wrong with it, or the error of the program; printable
	Bytes  int64  `json:",omitempty"` // of TooLarge: the body
	Most   int64  `json:",omitempty"` // of TooLarge
}

// Costly reports whether it took long to find out, and would with many messages.
func (p *Problem) Costly() bool {
	return p.Kind == Endless || p.Kind == Slow || p.Kind == Large || p.Kind == NotRun
}

// Error says it in one sentence.
func (p *Problem) Error() string {
	switch p.Kind {
	case Failed:
		return "the jq program failed: " + p.Detail
	case Endless:
		return fmt.Sprintf("the jq program did not end within %d million steps", mostSteps/1_000_000)
	case Slow:
		return fmt.Sprintf("the jq program did not end within %s", mostTime)
	case Large:
		return fmt.Sprintf("the jq program took more than %sB of memory", message.Size(mostMemory))
	case NotRun:
		return "the jq program was not run: " + p.Detail
	case Stopped:
		return "the jq program was stopped"
	case Nothing:
		return "the jq program gives nothing for it"
	case Several:
		return "the jq program gives more than one value for it"
	case NoObject:
		return "the jq program gives " + p.Detail + " instead of the message: change it in place, as in .body.id = 1"
	case UnknownField:
		return fmt.Sprintf("the jq program gives %s, which no message has", message.Excerpt(p.Field))
	case NoField:
		return fmt.Sprintf("the jq program leaves out %s: change the message in place, as in .body.id = 1", p.Field)
	case TooLarge:
		return fmt.Sprintf("its body would have %sB, and the broker takes at most %sB", message.Size(p.Bytes),
			message.Size(p.Most))
	}
	return p.Field + " " + p.Detail
}
