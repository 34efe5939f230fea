package body

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func linesOf(texts ...string) (all []Line) {
	for _, text := range texts {
		all = append(all, Line{Spans: []Span{{Plain, text}}})
	}
	return all
}

// drawn is a comparison as text: "a = a", "b | c", "d <", "> e".
func drawn(rows []Row) string {
	var all []string
	for _, r := range rows {
		switch {
		case r.Same:
			all = append(all, r.Left.String()+" = "+r.Right.String())
		case !r.HasRight:
			all = append(all, r.Left.String()+" <")
		case !r.HasLeft:
			all = append(all, "> "+r.Right.String())
		default:
			all = append(all, r.Left.String()+" | "+r.Right.String())
		}
	}
	return strings.Join(all, "\n")
}

func TestCompare(t *testing.T) {
	for _, c := range []struct{ left, right, want string }{
		{"", "", ""},
		{"a b", "a b", "a = a\nb = b"},
		{"a b c", "a x c", "a = a\nb | x\nc = c"},
		{"a b c", "a c", "a = a\nb <\nc = c"},
		{"a c", "a b c", "a = a\n> b\nc = c"},
		{"a b c d e", "b x d e f", "a <\nb = b\nc | x\nd = d\ne = e\n> f"},
		{"a, b", "a b, c", "a, = a\nb = b,\n> c"},
		{"a", "", "a <"},
	} {
		rows, near := Compare(linesOf(strings.Fields(c.left)...), linesOf(strings.Fields(c.right)...))
		got := drawn(rows)
		assert.That(t, got == c.want && near, "%s / %s:\n%s", c.left, c.right, got)
	}
}

// Each line is there once, in its order, and as many are equal as can be.
func TestCompareIsComplete(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		rows, near := Compare(linesOf(a...), linesOf(b...))
		var left, right []string
		same := 0
		for _, r := range rows {
			if r.HasLeft {
				left = append(left, r.Left.String())
			}
			if r.HasRight {
				right = append(right, r.Right.String())
			}
			if r.Same {
				same++
			}
			assert.That(t, !r.Same || r.Left.String() == r.Right.String() && r.HasLeft && r.HasRight, "not the same: %+v", r)
		}
		if strings.Join(left, "") != strings.Join(a, "") || strings.Join(right, "") != strings.Join(b, "") {
			t.Errorf("%v and %v are shown as\n%s", a, b, drawn(rows))
		}
		if most := longestCommon(a, b); same != most || !near {
			t.Errorf("%d lines are equal, could be %d:\n%s", same, most, drawn(rows))
		}
	})
}

func longestCommon(a, b []string) int {
	before := make([]int, len(b)+1)
	for i := range a {
		now := make([]int, len(b)+1)
		for j := range b {
			if now[j+1] = max(before[j+1], now[j]); a[i] == b[j] {
				now[j+1] = max(now[j+1], before[j]+1)
			}
		}
		before = now
	}
	return before[len(b)]
}

// Texts that have nothing in common are side by side as they come, in bounded time.
func TestCompareOfTooMuch(t *testing.T) {
	var a, b []string
	for i := range 20_000 {
		a, b = append(a, "a"), append(b, strings.Repeat("b", i%3+1))
	}
	a[0], b[0] = "{", "{"
	rows, near := Compare(linesOf(a...), linesOf(b...))
	assert.That(t, !near && len(rows) == 20_000 && rows[0].Same && !rows[1].Same && rows[1].HasLeft && rows[1].HasRight,
		"%d rows, near %t, %+v", len(rows), near, rows[1])
}
