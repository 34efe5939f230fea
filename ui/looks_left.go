package ui

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/term"
)

const fewDeliveries = 5 // left of a delivery limit: a warning

// looksField is how many looks the delivery limit of a queue allows.
type looksField struct {
	left, limit  int64
	counts, told bool // it limits them; earlier looks tell how many are left
}

func newLooksField(t *model.Topology, ref model.QueueRef) looksField {
	var l looksField
	l.left, l.limit, l.counts, l.told = peek.LooksLeftOf(t, ref)
	return l
}

// field is "17 of 20", "≤ 20" where no earlier look tells, and "-" where looks are not limited.
func (l looksField) field(s *term.Styles) term.Field {
	switch {
	case !l.counts:
		return term.Field{Text: "-", Style: s.Muted}
	case !l.told:
		return term.Field{Text: fmt.Sprintf("≤ %d", l.limit), Style: s.Text}
	case l.left <= fewDeliveries:
		return term.Field{Text: fmt.Sprintf("%d of %d", l.left, l.limit), Style: s.Warning}
	}
	return term.Field{Text: fmt.Sprintf("%d of %d", l.left, l.limit), Style: s.Text}
}

// looksLeft is the same in words, "" where looks are not limited.
func looksLeft(t *model.Topology, ref model.QueueRef) string {
	l := newLooksField(t, ref)
	switch {
	case !l.counts:
		return ""
	case !l.told:
		return fmt.Sprintf("at most %s left (delivery limit)", model.Plural(l.limit, "look"))
	}
	return peek.LooksLeft(l.left, l.limit)
}
