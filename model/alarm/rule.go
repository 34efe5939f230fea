// Package alarm decides when rules about flows, queues, vhosts, causes and findings begin to hold, and when they end.
// It reads nothing itself, and its state can be stored: what is told once is not told again after a restart.
package alarm

import (
	_ "embed" // the facts
	"fmt"
	"slices"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/model/filter"
)

// Per is on what a rule is decided, each by itself.
type Per string

// The things that have facts.
const (
	PerFlow    Per = "flow" // also each failed queue that belongs to no flow
	PerQueue   Per = "queue"
	PerVHost   Per = "vhost"
	PerCause   Per = "cause"
	PerFinding Per = "finding"
)

// Pers are all of them; without a choice, a rule is about the first that has all of its facts.
var Pers = []Per{PerFlow, PerCause, PerFinding, PerQueue, PerVHost}

const (
	seconds = "seconds" // the unit of durations
	truth   = "true or false"
)

// Fact is a name in rules.
type Fact struct {
	Name, Unit, What string
	Metric           string // its name in Prometheus, "" without one
	Of               []Per  // the things that have it; nil: all
}

//go:embed facts.toml
var factsText string

// Facts are the names in rules.
var Facts = func() []Fact {
	var all struct{ Fact []Fact }
	if _, err := toml.Decode(factsText, &all); err != nil {
		panic(err)
	}
	return all.Fact
}()

var language = filter.NewLanguage("rule", "failed > 0", fields())

func fields() (all []filter.Field) {
	for _, f := range Facts {
		field := filter.Field{Name: f.Name, Type: f.Unit, Around: true}
		switch f.Unit {
		case seconds:
			field.Type, field.Absent = "number", "it is unknown"
		case "number", truth:
			field.Absent = "it is unknown"
		}
		all = append(all, field)
	}
	return all
}

// Rule is a condition on things of one kind.
type Rule struct {
	Text      string
	Per       Per
	For       time.Duration // how long it has to hold before it begins
	condition *filter.Condition
}

// NewRule reads a rule. Without per, it is about what has all of its facts. The error is one sentence.
func NewRule(text string, per Per, wait time.Duration) (Rule, error) {
	condition, err := language.Condition(text)
	if err != nil {
		return Rule{}, err
	}

	for _, kind := range Pers {
		if per != "" && per != kind {
			continue
		}
		if missing := missing(condition, kind); missing == "" {
			r := Rule{text, kind, wait, condition}
			return r, r.tryOut()
		} else if per != "" {
			return Rule{}, fmt.Errorf("a %s has no %s: leave out --per", per, missing)
		}
	}

	if per != "" {
		return Rule{}, fmt.Errorf("--per is flow, queue, vhost, cause or finding")
	}
	return Rule{}, fmt.Errorf("nothing has all the facts of the rule %q: those of a cause (cause, new_cause) and of a "+
		"finding need a rule each", text)
}

// missing returns the first fact of a condition that a kind of thing does not have.
func missing(c *filter.Condition, per Per) string {
	for _, f := range Facts {
		if c.Uses[f.Name] && f.Of != nil && !slices.Contains(f.Of, per) {
			return f.Name
		}
	}
	return ""
}

// tryOut decides the rule once on nothing, so that one which costs too much is refused before anything runs.
func (r *Rule) tryOut() error {
	_, err := r.condition.Holds(func(name string) any {
		i := slices.IndexFunc(Facts, func(f Fact) bool { return f.Name == name })
		switch Facts[i].Unit {
		case "text":
			return "x"
		case truth:
			return true
		case "number", seconds:
			return 1
		}
		return map[string]any{"new": 1, "error": 1, "level": "", "code": "", "message": ""}
	})

	return knownMistake(err)
}
