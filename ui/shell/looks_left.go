package shell

import (
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/term"
)

const FewDeliveries = 5 // left of a delivery limit: a warning

// LooksField is how many looks the delivery limit of a queue allows.
type LooksField struct {
	Left, limit  int64
	Counts, told bool // it limits them; earlier looks tell how many are left
}

func NewLooksField(t *model.Topology, ref model.QueueRef) LooksField {
	var l LooksField
	l.Left, l.limit, l.Counts, l.told = peek.LooksLeftOf(t, ref)
	return l
}

// Field is "17 of 20", "≤ 20" where no earlier look tells, and "-" where looks are not limited.
func (l LooksField) Field(s *term.Styles) term.Field {
	switch {
	case !l.Counts:
		return term.Field{Text: "-", Style: s.Muted}
	case !l.told:
		return term.Field{Text: fmt.Sprintf("≤ %d", l.limit), Style: s.Text}
	case l.Left <= FewDeliveries:
		return term.Field{Text: fmt.Sprintf("%d of %d", l.Left, l.limit), Style: s.Warning}
	}
	return term.Field{Text: fmt.Sprintf("%d of %d", l.Left, l.limit), Style: s.Text}
}

// LooksLeft is the same in words, "" where looks are not limited.
func LooksLeft(t *model.Topology, ref model.QueueRef) string {
	l := NewLooksField(t, ref)
	switch {
	case !l.Counts:
		return ""
	case !l.told:
		return fmt.Sprintf("at most %s left (delivery limit)", model.Plural(l.limit, "look"))
	}
	return peek.LooksLeft(l.Left, l.limit)
}
