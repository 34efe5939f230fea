package main

import (
	"fmt"
	"slices"
	"strings"
)

// wanted is which pictures are made.
type wanted struct {
	pictures []string // of the documentation; the tour has the name tour
	sheets   bool
	parts    []string // of the contact sheets: names of ways, themes and sizes; none: all of each
}

// wantedBy reads the arguments: names of pictures, and behind the word sheet those of its ways, themes and sizes. None
// at all is everything.
func wantedBy(arguments []string) (wanted, error) {
	all := []string{"tour"}
	for _, s := range scenes {
		all = append(all, s.name)
	}
	if len(arguments) == 0 {
		return wanted{pictures: all, sheets: true}, nil
	}
	w := wanted{pictures: arguments}
	if i := slices.Index(arguments, "sheet"); i >= 0 {
		w = wanted{arguments[:i], true, arguments[i+1:]}
	}
	if err := known("picture", w.pictures, append(all, "sheet")); err != nil {
		return w, err
	}
	return w, known("part of the sheet", w.parts, append(append(namesOf(ways), namesOf(themes)...), namesOf(sizes)...))
}

// known refuses a name that nothing has.
func known(what string, names, all []string) error {
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no %s %q: there are %s", what, name, strings.Join(all, ", "))
		}
	}
	return nil
}

// named is what can be chosen by its name.
type named interface{ called() string }

func (w way) called() string   { return w.name }
func (t theme) called() string { return t.name }
func (s size) called() string  { return fmt.Sprintf("%dx%d", s.width, s.height) }

func namesOf[T named](all []T) (names []string) {
	for _, one := range all {
		names = append(names, one.called())
	}
	return names
}

// chosen are those that the parts name, all when they name none.
func chosen[T named](all []T, parts []string) (some []T) {
	for _, one := range all {
		if slices.Contains(parts, one.called()) {
			some = append(some, one)
		}
	}
	if some == nil {
		return all
	}
	return some
}
