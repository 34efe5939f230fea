package peek

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
)

// Consent is when peeks that use 1 of a delivery limit begin by themselves: what the user has agreed to, once for a
// broker. A peek with any other cost is asked about each time.
type Consent string

// The consents.
const (
	Unasked   Consent = ""
	AskEach   Consent = "ask"    // never
	WhileHalf Consent = "half"   // while more than half of the looks are left
	Always    Consent = "always" // until few are left, when every look is refused
)

// Consents are those that can be chosen, the most careful first.
var Consents = [...]Consent{AskEach, WhileHalf, Always}

// ConsentOf reads one of the words that a configuration can have.
func ConsentOf(word string) (Consent, error) {
	for _, c := range append(Consents[:], Unasked) {
		if word == string(c) {
			return c, nil
		}
	}

	return Unasked, fmt.Errorf("looks = %q: it is %q, %q or %q", model.Printable(word), AskEach, WhileHalf, Always)
}

// Words say what it lets happen.
func (c Consent) Words() string {
	switch c {
	case WhileHalf:
		return "by itself while more than half of the looks are left"
	case Always:
		return "always by itself"
	}

	return "ask each time"
}

// Begins returns a plan as it may run by itself; false when it must be asked about.
func (c Consent) Begins(p Plan) (Plan, bool) {
	switch {
	case !p.Allowed():
		return p, false
	case p.Free:
		return p, true
	case !p.Counts || p.Harms:
		return p, false
	case c == WhileHalf:
		p.Spare = p.Budget / 2
		return p, p.Delivered.Or(0) <= p.MostCounted()
	}

	return p, c == Always
}
