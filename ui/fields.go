package ui

import (
	"cmp"
	"strconv"

	"dlxtop/model"
)

// number is a count: nothing of it is muted, some is in the given look, unknown is "?".
func number(s *Styles, n model.Opt[int64], some Style) field {
	v, ok := n.Get()
	switch {
	case !ok:
		return field{"?", s.Muted}
	case v == 0:
		return field{"0", s.Muted}
	}
	return field{model.Count(v), some}
}

func rate(s *Styles, r model.Opt[float64]) field {
	v, ok := r.Get()
	switch {
	case !ok:
		return field{"?", s.Muted}
	case v < 0.05:
		return field{"0.0", s.Muted}
	case v >= 1000:
		return field{model.Count(int64(v + 0.5)), s.Good}
	}
	return field{strconv.FormatFloat(v, 'f', 1, 64), s.Good}
}

func consumersField(s *Styles, n model.Opt[int64]) field {
	v, ok := n.Get()
	switch {
	case !ok:
		return field{"?", s.Muted}
	case v == 0:
		return field{"none !", s.Danger}
	}
	return field{model.Plural(int(v), "consumer"), s.Text}
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
