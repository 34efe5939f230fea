package term

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Tone says what a cell of a canvas means; the Styles say how that looks.
type Tone uint8

// The tones, in the order of Tone's styles.
const (
	ToneText Tone = iota
	ToneMuted
	ToneStrong
	ToneBorder
	ToneWaiting
	ToneGood
	ToneWarning
	ToneDanger
	ToneAccent
)

func (s *Styles) Tone(t Tone) Style {
	return *[...]*Style{
		&s.Text, &s.Muted, &s.Strong, &s.Border, &s.Waiting, &s.Good, &s.Warning, &s.Danger, &s.Accent,
	}[t]
}

func (t Tone) Span(text string) Span { return Span{text, t} }

// Span is printable text of one meaning.
type Span struct {
	Text string
	Tone Tone
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
		return append(out, Span{Cut(piece.Text, left), piece.Tone})
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
	Tone    Tone
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
func (c *Canvas) Put(x, y int, text string, t Tone) {
	if c.Inside(x, y) {
		c.cells[y*c.Width+x] = cell{text: text, Tone: t}
	}
}

// Text writes printable text from (x, y) to the right, at most to the canvas' edge, and returns the next column.
func (c *Canvas) Text(x, y int, s string, t Tone) int {
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
		x = c.Text(x, y, piece.Text, piece.Tone)
	}
	return x
}

// Box draws a frame with a title in its upper edge: its outer size is width x height.
func (c *Canvas) Box(x, y, width, height int, title Spans, t Tone) {
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
func (c *Canvas) Render(styles *Styles, from, to int) []string {
	lines := make([]string, 0, max(to-from, 0))
	for y := from; y < to; y++ {
		var b, run strings.Builder
		last := ToneText
		flush := func() {
			b.WriteString(styles.Tone(last).Render(run.String()))
			run.Reset()
		}

		for x := range c.Width {
			cl := c.At(x, y)
			if cl.covered {
				continue
			}
			text, t := cl.text, cl.Tone
			if text == "" {
				text, t = " ", ToneText
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
