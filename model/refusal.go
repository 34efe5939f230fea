package model

import "strings"

// Objection is one reason against a plan, or against the way of a message: a value of the type of its kind. One that a
// person may override has Override, too.
type Objection interface {
	Words() string // one sentence
}

// Refusal is why a plan must not run: everything that speaks against it. Nil: it may run.
type Refusal []Objection

// Refused reports whether the plan must not run.
func (r Refusal) Refused() bool { return len(r) > 0 }

// Overridable reports whether a person may insist.
func (r Refusal) Overridable() bool { return r.Override() != "" }

// Words are the reasons, "" when there are none.
func (r Refusal) Words() string {
	said := make([]string, len(r))
	for i, o := range r {
		said[i] = o.Words()
	}
	return strings.Join(said, "; ")
}

// Override is what insisting would do, "" when insisting does not help, because at least one objection is final.
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

// Said is an objection that nothing is decided by.
type Said struct {
	Says   string // in one sentence
	Insist string // what insisting would do, "" when nobody may
}

// Saidf is one that nobody may override, as Sayf says it.
func Saidf(format string, values ...any) Said { return Said{Says: Sayf(format, values...)} }

// Insisting is one that may be overridden, which does that.
func (o Said) Insisting(does string) Said { return Said{o.Says, does} }

// Words are the sentence.
func (o Said) Words() string { return o.Says }

// Override is what insisting would do, "" when it is not possible.
func (o Said) Override() string { return o.Insist }
