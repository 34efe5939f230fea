package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
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
		{strings.Repeat("\u1100", 10), strings.Repeat(strings.Repeat("\u1100", 4)+`\u{1100}`, 2)},
		{strings.Repeat("क्", 6), strings.Repeat("क्", 4) + `\u{915}\u{94d}` + "क्"},
		{"\u1100\u1161\u11a8\u1161\u1161\u1161\u1161", "\u1100\u1161\u11a8\u1161\u1161" + `\u{1161}\u{1161}`},
		{" ", "·"},
		{"  a b ", "··a b·"},
		{" \u3164\u2800", `·\u{3164}\u{2800}`},
		{"\u1161", `\u{1161}`},
		{"स्त्री हिन्दी, ทำ, ｶﾞ, தமிழ், 한국, 👍🏽 🇩🇪", "स्त्री हिन्दी, ทำ, ｶﾞ, தமிழ், 한국, 👍🏽 🇩🇪"},
		{"㉈\U0001d165", `\u{3248}\u{1d165}`},
		{`\n`, `\n`},
	} {
		assert.Equal(t, model.Printable(c.in), c.want, "%q", c.in)
	}
}

func TestPrintableDoesNotAllocateForNothing(t *testing.T) {
	for _, s := range []string{"ucenter@user@failed", "Grüße, 世界"} {
		assert.Equal(t, testing.AllocsPerRun(100, func() { model.Printable(s) }), 0, "%q", s)
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
		{"  a \n ", []string{"  a ", " "}},
	} {
		assert.NoDiff(t, cmp.Diff(c.want, model.PrintableLines(c.in)), "%q", c.in)
	}
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{
		"", "a", "\x1b[31m", "\u202e", "\xff", "e\u0301\u0301\u0301\u0301\u0301", "\t\r\n", "\U000e0100",
		"\u1100\u1100\uac00", "क्क्क्क्क्",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := model.Printable(s)
		build.CheckPrintable(t, p)
		checkCells(t, p)
		assert.Equal(t, model.Printable(p), p, "%q", s)
		for _, line := range model.PrintableLines(s) {
			build.CheckPrintable(t, line)
		}
	})
}
