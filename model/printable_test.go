package model_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

func TestPrintable(t *testing.T) {
	type printed struct{ In, Want string }
	bytes := printed{"\xff\xc3(", `\xff\xc3(`}
	for _, c := range append(must.Cases[printed](t, "testdata/printable.toml"), bytes) {
		assert.Equal(t, model.Printable(c.In), c.Want, "%q", c.In)
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
		assert.Same(t, c.want, model.PrintableLines(c.in), "%q", c.in)
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

// drawn are the cells that a terminal without grapheme clusters uses for each rune, by the C library's wcwidth.
var drawn = sync.OnceValue(func() map[rune]int {
	file, err := os.Open("testdata/wcwidth.txt")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	cells := map[rune]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var first, last rune
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "%x %x %d", &first, &last, &n); err != nil {
			continue // a comment
		}
		for r := first; r <= last; r++ {
			cells[r] = n
		}
	}
	return cells
})

func drawnCells(s string) (n int) {
	for _, r := range s {
		if cells, odd := drawn()[r]; odd {
			n += cells
		} else {
			n++
		}
	}

	return n
}

// checkCells checks that terminals of both kinds never draw printable text wider than it is counted, and that a cluster
// that some draw into one cell has only a few letters.
func checkCells(t interface {
	Helper()
	Errorf(string, ...any)
}, p string,
) {
	counted := ansi.StringWidthWc(p)
	cells := drawnCells(p)
	assert.That(t, cells <= counted, "%q is drawn as %d cells, and counted as %d", p, cells, counted)
	cells = ansi.StringWidth(p)
	assert.That(t, cells <= counted || strings.ContainsFunc(p, isFlag),
		"%q is drawn as %d cells in clusters, and counted as %d", p, cells, counted)

	for rest := p; rest != ""; {
		one, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		letters := 0
		for _, r := range one {
			if !unicode.IsMark(r) && !model.IsMedial(r) {
				letters++
			}
		}

		assert.That(t, letters <= model.MaxLetters, "one cluster of %q has %d letters", p, letters)
		rest = rest[len(one):]
	}
}

func isFlag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// TestPrintableCellsOfEachRune tries each rune alone, after a letter, and after what forms clusters.
func TestPrintableCellsOfEachRune(t *testing.T) {
	must.That(t, len(drawn()) >= 100_000, "only %d widths are known", len(drawn()))
	step := rune(size.Of(5, 1)) // five random samples cover them all
	for r := seed.Rand(t).Int32N(step); r <= unicode.MaxRune; r += step {
		if s := string(r); model.Printable("a"+s) == "a"+s {
			checkCells(t, model.Printable(s+"a"+s+"क्"+s+"ᄀ"+s))
		}
	}
}

// TestPrintableCells tries texts made of what forms clusters.
func TestPrintableCells(t *testing.T) {
	joining := []rune("aक\u094dाश\u0301\u1100\u1161\u11a8가각\u0e33\uff9e👍🏽\u200d\ufe0f\ufe0e🇩🇪\u0d4e" +
		"\U000111c2\u0600 世\u302e\u20e3")
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.SampledFrom(joining), rapid.Rune())).Draw(t, "text")
		p := model.Printable(text)
		checkCells(t, p)
		again := model.Printable(p)
		assert.That(t, again == p, "%q, then %q", p, again)
	})
}

func TestPlural(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 messages", 1: "1 message", 999: "999 messages", 1000: "1,000 messages",
		-1234567: "-1,234,567 messages",
	} {
		assert.Equal(t, model.Plural(n, "message"), want, "%d", n)
	}
}
