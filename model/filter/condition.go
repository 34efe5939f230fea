package filter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/vm"

	"github.com/dlxtop/dlxtop/model/message"
)

// Condition is an expression on facts, in a language of their names.
type Condition struct {
	Text     string
	Uses     map[string]bool // the names in it
	language *Language
	program  *vm.Program
}

// maxConditionSteps bounds a condition on one thing: an alarm has hundreds of things at each poll, with short facts.
const maxConditionSteps = 10_000

// Unknown is the error of a condition that depends on what is not known.
type Unknown struct{ Names []string }

func (u *Unknown) Error() string { return strings.Join(u.Names, ", ") + ": unknown" }

// Condition parses an expression. An error says in one sentence what is wrong and where.
func (l *Language) Condition(text string) (*Condition, error) {
	program, uses, err := l.compile(text)
	return &Condition{text, uses, l, program}, err
}

// Holds evaluates the condition; fact returns the value of a name, nil when it is unknown. When it depends on that the
// error is an *Unknown; any other error is a mistake in the condition, in one sentence.
func (c *Condition) Holds(fact func(name string) any) (holds bool, err error) {
	wrong := fmt.Errorf("the %s %q takes too many steps, or uses a value as what it is not", c.language.noun, c.Text)
	defer func() {
		if recover() != nil {
			holds, err = false, wrong
		}
	}()

	var assuming [2]bool
	absent := map[string]bool{}
	for i := range assuming {
		e := &evaluation{
			fields: c.language.fields, around: func(name string, _ *message.Message) any { return fact(name) },
			read: map[int]any{}, absent: absent, assume: i > 0, began: time.Now(),
			steps: maxConditionSteps, spent: maxBytes - maxConditionSteps*valueBytes,
		}
		if assuming[i], err = e.run(c.program); err != nil {
			return false, wrong
		}
	}

	if assuming[0] != assuming[1] {
		return false, &Unknown{slices.Sorted(maps.Keys(absent))}
	}

	return assuming[0], nil
}
