package term

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Span is printable text in one style: a piece of a line, or one cell of a table. It is cut by cells, never by bytes.
type Span struct {
	Text  string
	Style Style
	value float64 // the cell of a column is sorted by it, and by its text among equals
}

// By gives a cell the value by which it is sorted.
func (s Span) By(value float64) Span {
	s.value = value
	return s
}

// ByTime sorts a cell by a time.
func (s Span) ByTime(t time.Time) Span { return s.By(float64(t.UnixMilli())) }

func (s Span) compare(other Span) int {
	return cmp.Or(cmp.Compare(s.value, other.value), cmp.Compare(s.Text, other.Text))
}

type Spans []Span

func (s Spans) Width() int {
	w := 0
	for _, piece := range s {
		w += ansi.StringWidthWc(piece.Text)
	}
	return w
}

// fit cuts a line to a width, marking the cut.
func (s Spans) fit(width int) Spans {
	if s.Width() <= width {
		return s
	}
	var out Spans
	left := width
	for i, piece := range s {
		w := ansi.StringWidthWc(piece.Text)
		if w < left || w == left && i == len(s)-1 {
			out, left = append(out, piece), left-w
			continue
		}
		return append(out, piece.Style.Span(Cut(piece.Text, left)))
	}

	return out
}

// Whole drops the last pieces if not all fit, rather than cutting one, and blank ones at the end. The first ones stay.
func (s Spans) Whole(width, first int) Spans {
	for len(s) > first && (s.Width() > width || strings.TrimSpace(s[len(s)-1].Text) == "") {
		s = s[:len(s)-1]
	}
	return s.fit(width)
}

// cell is one column of one row. A wide character has its text in its first cell; the others are covered.
type cell struct {
	text    string
	Style   Style
	covered bool
}

type Point struct{ X, Y int }

// Canvas has cells to draw on. Drawing outside it has no effect.
type Canvas struct {
	Width, Height int
	cells         []cell
}

func NewCanvas(width, height int) *Canvas {
	return &Canvas{Width: width, Height: height, cells: make([]cell, width*height)}
}

func (c *Canvas) Clone() *Canvas { return &Canvas{c.Width, c.Height, slices.Clone(c.cells)} }

func (c *Canvas) Inside(x, y int) bool { return x >= 0 && x < c.Width && y >= 0 && y < c.Height }

func (c *Canvas) At(x, y int) cell {
	if !c.Inside(x, y) {
		return cell{}
	}
	return c.cells[y*c.Width+x]
}

// Put draws a character one column wide.
func (c *Canvas) Put(x, y int, text string, t Style) {
	if c.Inside(x, y) {
		c.cells[y*c.Width+x] = cell{text: text, Style: t}
	}
}

// Text writes printable text from (x, y) to the right, at most to the canvas' edge, and returns the next column.
func (c *Canvas) Text(x, y int, s string, t Style) int {
	for s != "" {
		cluster, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(cluster):]
		if w == 0 {
			continue
		}
		if !c.Inside(x, y) || !c.Inside(x+w-1, y) {
			return x
		}
		c.Put(x, y, cluster, t)
		for i := 1; i < w; i++ {
			c.cells[y*c.Width+x+i] = cell{covered: true}
		}

		x += w
	}

	return x
}

func (c *Canvas) Line(x, y int, s Spans) int {
	for _, piece := range s {
		x = c.Text(x, y, piece.Text, piece.Style)
	}
	return x
}

// Box draws a frame with a title in its upper edge: its outer size is width x height.
func (c *Canvas) Box(x, y, width, height int, title Spans, t Style) {
	right, bottom := x+width-1, y+height-1
	for i := x + 1; i < right; i++ {
		c.Put(i, y, "─", t)
		c.Put(i, bottom, "─", t)
	}

	for j := y + 1; j < bottom; j++ {
		c.Put(x, j, "│", t)
		c.Put(right, j, "│", t)
	}

	c.Put(x, y, "╭", t)
	c.Put(right, y, "╮", t)
	c.Put(x, bottom, "╰", t)
	c.Put(right, bottom, "╯", t)
	if len(title) > 0 && width > 6 {
		title = title.fit(width - 4)
		c.Put(x+1, y, " ", t)
		c.Put(c.Line(x+2, y, title), y, " ", t)
	}
}

// Render draws the rows from from up to, but not including, to, each as wide as the canvas.
func (c *Canvas) Render(from, to int) []string {
	lines := make([]string, 0, max(to-from, 0))
	for y := from; y < to; y++ {
		var b, run strings.Builder
		last := Text
		flush := func() {
			b.WriteString(last.Render(run.String()))
			run.Reset()
		}

		for x := range c.Width {
			cl := c.At(x, y)
			if cl.covered {
				continue
			}
			text, t := cl.text, cl.Style
			if text == "" {
				text, t = " ", Text
			}

			if t != last {
				flush()
				last = t
			}

			run.WriteString(text)
		}

		flush()
		lines = append(lines, b.String())
	}

	return lines
}
