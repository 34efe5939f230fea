package model

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain ~ text", "plain ~ text"},
		{"Grüße, 世界 🎉", "Grüße, 世界 🎉"},
		{"a\nb\tc\rd", `a\nb\tc\rd`},
		{"\x1b[2J\x07\x00\x7f", `\x1b[2J\x07\x00\x7f`},
		{"\u009b31m", `\u009b31m`},
		{"gpj.\u202eexe", `gpj.\u{202e}exe`},
		{"\u2066\u2069\u200e\u200f\u061c", `\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}`},
		{"a\u200bb\ufeffc\u00ad", `a\u{200b}b\u{feff}c\u{ad}`},
		{"\u2028\u2029\u0085", `\u{2028}\u{2029}\u0085`},
		{"\u2764\ufe0f", "\u2764" + `\u{fe0f}`},
		{"a\U000e0041\ue000\U0010ffff", `a\u{e0041}\u{e000}\u{10ffff}`},
		{"\u115f\u3164\u034f", `\u{115f}\u{3164}\u{34f}`},
		{"a\u00a0b", `a\u{a0}b`},
		{"\xff\xc3(", `\xff\xc3(`},
		{"e\u0301", "e\u0301"},
		{"\u0301e", `\u{301}e`},
		{"\x1b\u0301", `\x1b\u{301}`},
		{"z" + strings.Repeat("\u0300", 6), "z" + strings.Repeat("\u0300", 4) + `\u{300}\u{300}`},
		{"\ufffd", "\ufffd"},
		{`\n`, `\n`},
	} {
		if got := Printable(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestPrintableDoesNotAllocateForNothing(t *testing.T) {
	for _, s := range []string{"ucenter@user@failed", "Grüße, 世界"} {
		if n := testing.AllocsPerRun(100, func() { Printable(s) }); n != 0 {
			t.Errorf("%q: %v allocations", s, n)
		}
	}
}

func TestPrintableLines(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a", []string{"a"}},
		{"a\n", []string{"a"}},
		{"a\r\nb\r\n\r\nc", []string{"a", "b", "", "c"}},
		{"a\rb", []string{`a\rb`}},
		{"\ta\tb\nabcd\te", []string{"    a   b", "abcd    e"}},
		{"\x1b[1m", []string{`\x1b[1m`}},
	} {
		if diff := cmp.Diff(c.want, PrintableLines(c.in)); diff != "" {
			t.Errorf("%q: %s", c.in, diff)
		}
	}
}

func checkPrintable(t interface{ Errorf(string, ...any) }, s string) {
	if !utf8.ValidString(s) {
		t.Errorf("not UTF-8: %q", s)
	}
	for i, r := range s {
		if !unicode.IsPrint(r) || isHidden(r) || i == 0 && unicode.IsMark(r) {
			t.Errorf("%U at %d of %q", r, i, s)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[31m", "\u202e", "\xff", "e\u0301\u0301\u0301\u0301\u0301", "\t\r\n", "\U000e0100"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := Printable(s)
		checkPrintable(t, p)
		if again := Printable(p); again != p {
			t.Errorf("%q is %q, then %q", s, p, again)
		}
		for _, line := range PrintableLines(s) {
			checkPrintable(t, line)
		}
	})
}
