package mend

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model/message"
)

// Kind is a reason why a program does not change a message.
type Kind string

const (
	Failed       Kind = "failed"        // it ended with an error
	Endless      Kind = "endless"       // it ran out of instructions
	Slow         Kind = "slow"          // it takes too long
	Large        Kind = "large"         // it uses too much memory
	NotRun       Kind = "not run"       // the process for it cannot be started
	Stopped      Kind = "stopped"       // the caller has cancelled it
	Nothing      Kind = "nothing"       // it returns no value
	Several      Kind = "several"       // it returns several values
	NoObject     Kind = "no object"     // it returns something other than an object
	UnknownField Kind = "unknown field" // it returns a field that messages do not have
	NoField      Kind = "no field"      // it omits a field
	BadField     Kind = "bad field"     // a field has an impossible value
	NotAllowed   Kind = "not allowed"   // a field has a value that must not be published
	TooLarge     Kind = "too large"     // the body that it returns
)

// Problem is why a program does not change a message, with the values for its sentence. The message stays where it is.
type Problem struct {
	Kind   Kind
	Field  string `json:",omitempty"` // its name as the program has it
	Detail string `json:",omitempty"` // what is wrong, the program's error, or the bound it exceeded; printable
	Bytes  int64  `json:",omitempty"` // of TooLarge: the body
	Most   int64  `json:",omitempty"` // of TooLarge
}

// Costly reports whether it took long to find out, and would with many messages.
func (p *Problem) Costly() bool {
	return p.Kind == Endless || p.Kind == Slow || p.Kind == Large || p.Kind == NotRun
}

func (p *Problem) Error() string {
	said := map[Kind]string{
		Failed:  "failed: " + p.Detail,
		Endless: fmt.Sprintf("did not end within %d million steps", mostSteps/1_000_000),
		Slow:    "did not end within " + p.Detail,
		Large:   "took more than " + p.Detail + " of memory",
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
