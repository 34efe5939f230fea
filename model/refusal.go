package model

import "strings"

// Objection is one reason against a plan, or against sending a message somewhere: a value whose type is its kind. One
// that a person may override implements Override, too.
type Objection interface {
	Words() string // the objection in one sentence
}

// Refusal is all objections to a plan, which must then not run. Nil: it may run.
type Refusal []Objection

// Refused reports whether the plan must not run.
func (r Refusal) Refused() bool { return len(r) > 0 }

// Overridable reports whether a person may override the refusal.
func (r Refusal) Overridable() bool { return r.Override() != "" }

// Words returns the reasons, "" when there are none.
func (r Refusal) Words() string {
	said := make([]string, len(r))
	for i, o := range r {
		said[i] = o.Words()
	}
	return strings.Join(said, "; ")
}

// Override returns what overriding would do, "" when at least one objection is final.
func (r Refusal) Override() string {
	does := make([]string, len(r))
	for i, o := range r {
		if over, ok := o.(interface{ Override() string }); ok {
			does[i] = over.Override()
		}
		if does[i] == "" {
			return ""
		}
	}

	return strings.Join(does, "; ")
}

// Said is an objection that is only shown: no code decides by it.
type Said struct {
	Says   string // in one sentence
	Insist string // what overriding would do, "" when it is not allowed
}

// Saidf returns a final objection with a sentence formatted by Sayf.
func Saidf(format string, values ...any) Said { return Said{Says: Sayf(format, values...)} }

// Insisting returns the objection made overridable; does is what overriding would do.
func (o Said) Insisting(does string) Said { return Said{o.Says, does} }

func (o Said) Words() string { return o.Says }

// Override returns what overriding would do, "" when it is not allowed.
func (o Said) Override() string { return o.Insist }
