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
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
)

// drawn are the cells that a terminal without grapheme clusters gives to each rune: what the C library's wcwidth says.
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

// checkCells: what is printable is never drawn wider than it is counted, by terminals of both kinds; and a cluster that
// some draw into one cell is never more than some letters.
func checkCells(t interface {
	Helper()
	Errorf(string, ...any)
}, p string,
) {
	counted := ansi.StringWidthWc(p)
	if cells := drawnCells(p); cells > counted {
		t.Errorf("%q is drawn as %d cells, and counted as %d", p, cells, counted)
	}
	if cells := ansi.StringWidth(p); cells > counted && !strings.ContainsFunc(p, isFlag) {
		t.Errorf("%q is drawn as %d cells in clusters, and counted as %d", p, cells, counted)
	}
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

// TestPrintableCellsOfEachRune tries each rune alone, behind a letter, and behind what makes clusters.
func TestPrintableCellsOfEachRune(t *testing.T) {
	if len(drawn()) < 100_000 {
		t.Fatalf("only %d widths are known", len(drawn()))
	}
	step := rune(size.Of(5, 1)) // five samples, at random, are all of them
	for r := seed.Rand(t).Int32N(step); r <= unicode.MaxRune; r += step {
		if s := string(r); model.Printable("a"+s) == "a"+s {
			checkCells(t, model.Printable(s+"a"+s+"क्"+s+"ᄀ"+s))
		}
	}
}

// TestPrintableCells tries texts that are made of what forms clusters.
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
