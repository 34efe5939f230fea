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
	said := map[Kind]string{
		Failed:  "failed: " + p.Detail,
		Endless: fmt.Sprintf("did not end within %d million steps", mostSteps/1_000_000),
		Slow:    fmt.Sprintf("did not end within %s", mostTime),
		Large:   fmt.Sprintf("took more than %sB of memory", message.Size(mostMemory)),
		NotRun:  "was not run: " + p.Detail, Stopped: "was stopped",
		Nothing: "gives nothing for it", Several: "gives more than one value for it",
		NoObject:     "gives " + p.Detail + " instead of the message: change it in place, as in .body.id = 1",
		UnknownField: fmt.Sprintf("gives %s, which no message has", message.Excerpt(p.Field)),
		NoField:      "leaves out " + p.Field + ": change the message in place, as in .body.id = 1",
	}[p.Kind]
	switch {
	case said != "":
		return "the jq program " + said
	case p.Kind == TooLarge:
		return fmt.Sprintf("its body would have %sB, and the broker takes at most %sB", message.Size(p.Bytes),
			message.Size(p.Most))
	}
	return p.Field + " " + p.Detail
}
