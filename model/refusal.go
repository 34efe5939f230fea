package model

import "strings"

// Objection is one reason against a plan: a kind with its values. Each room has kinds of its own, and makes their
// sentences in its words.go.
type Objection interface {
	Words() string     // one sentence
	Overridable() bool // a person may insist
	Override() string  // what insisting would do, "" when it is not Overridable
}

// Refusal is why a plan must not run: everything that speaks against it. Nil: it may run.
type Refusal[O Objection] []O

// Refusing is a Refusal of any room, for who shows it.
type Refusing interface {
	Refused() bool
	Overridable() bool
	Words() string
	Override() string
}

// Refused reports whether the plan must not run.
func (r Refusal[O]) Refused() bool { return len(r) > 0 }

// Overridable reports whether a person may insist: one objection that is final is enough that nobody may.
func (r Refusal[O]) Overridable() bool {
	for _, o := range r {
		if !o.Overridable() {
			return false
		}
	}
	return len(r) > 0
}

// Words are the reasons, "" when there are none.
func (r Refusal[O]) Words() string { return joinedWords(r, O.Words) }

// Override is what insisting would do, "" when nobody may insist.
func (r Refusal[O]) Override() string {
	if !r.Overridable() {
		return ""
	}
	return joinedWords(r, O.Override)
}

func joinedWords[O any](objections []O, words func(O) string) string {
	said := make([]string, len(objections))
	for i, o := range objections {
		said[i] = words(o)
	}
	return strings.Join(said, "; ")
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

// Overridable reports whether a person may insist.
func (o Said) Overridable() bool { return o.Insist != "" }
