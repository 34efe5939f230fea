package ui

import (
	"cmp"
	"strconv"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// number is a count: nothing of it is muted, some is in the given look, unknown is "?".
func number(s *term.Styles, n model.Opt[int64], some term.Style) term.Field {
	v, ok := n.Get()
	switch {
	case !ok:
		return term.Field{Text: "?", Style: s.Muted}
	case v == 0:
		return term.Field{Text: "0", Style: s.Muted}
	}
	return term.Field{Text: model.Count(v), Style: some}
}

// readyField is how many messages are ready in a queue, or that nobody can tell because it is down.
func readyField(s *term.Styles, ready model.Opt[int64], down bool, some term.Style) term.Field {
	if down {
		return term.Field{Text: "down", Style: s.Danger}
	}
	return number(s, ready, some)
}

func rate(s *term.Styles, r model.Opt[float64]) term.Field {
	v, ok := r.Get()
	switch {
	case !ok:
		return term.Field{Text: "?", Style: s.Muted}
	case v < 0.05:
		return term.Field{Text: "0.0", Style: s.Muted}
	case v >= 1000:
		return term.Field{Text: model.Count(int64(v + 0.5)), Style: s.Good}
	}
	return term.Field{Text: strconv.FormatFloat(v, 'f', 1, 64), Style: s.Good}
}

func consumersField(s *term.Styles, n model.Opt[int64]) term.Field {
	v, ok := n.Get()
	switch {
	case !ok:
		return term.Field{Text: "?", Style: s.Muted}
	case v == 0:
		return term.Field{Text: "none !", Style: s.Danger}
	}
	return term.Field{Text: model.Plural(int(v), "consumer"), Style: s.Text}
}

// compareOpt puts the unknown below everything known.
func compareOpt[N cmp.Ordered](a, b model.Opt[N]) int {
	if a.Known() != b.Known() {
		if a.Known() {
			return 1
		}
		return -1
	}
	var zero N
	return cmp.Compare(a.Or(zero), b.Or(zero))
}
