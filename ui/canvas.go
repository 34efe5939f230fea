package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// tone is what a cell of a canvas means; the Styles say how that looks.
type tone uint8

// The tones.
const (
	toneText tone = iota
	toneMuted
	toneStrong
	toneBorder
	toneWaiting
	toneGood
	toneWarning
	toneDanger
	toneAccent
	toneSelected
)

func (s *Styles) tone(t tone) Style {
	switch t {
	case toneMuted:
		return s.Muted
	case toneStrong:
		return s.Strong
	case toneBorder:
		return s.Border
	case toneWaiting:
		return s.Waiting
	case toneGood:
		return s.Good
	case toneWarning:
		return s.Warning
	case toneDanger:
		return s.Danger
	case toneAccent:
		return s.Accent
	case toneSelected:
		return s.Selected
	}
	return s.Text
}

// span is a piece of printable text with its meaning.
type span struct {
	text string
	tone tone
}

// spans is one line of text.
type spans []span

func (s spans) width() int {
	w := 0
	for _, piece := range s {
		w += ansi.StringWidth(piece.text)
	}
	return w
}

// fit cuts a line to a width, marking what is cut.
func (s spans) fit(width int) spans {
	if s.width() <= width {
		return s
	}
	var out spans
	left := width
	for i, piece := range s {
		w := ansi.StringWidth(piece.text)
		if w < left || w == left && i == len(s)-1 {
			out, left = append(out, piece), left-w
			continue
		}
		return append(out, span{ansi.Truncate(piece.text, left, "…"), piece.tone})
	}
	return out
}

// whole leaves out the last pieces when not all fit, rather than cutting one, and blank ones at the end. The first ones stay.
func (s spans) whole(width, first int) spans {
	for len(s) > first && (s.width() > width || strings.TrimSpace(s[len(s)-1].text) == "") {
		s = s[:len(s)-1]
	}
	return s.fit(width)
}

// cell is one column of one row. A wide character has its text in its first cell; the others are covered.
type cell struct {
	text    string
	tone    tone
	covered bool
}

// point is a place on a canvas.
type point struct{ x, y int }

// canvas is a grid of cells to draw on. What is outside of it is not drawn.
type canvas struct {
	width, height int
	cells         []cell
}

func newCanvas(width, height int) *canvas {
	return &canvas{width: width, height: height, cells: make([]cell, width*height)}
}

func (c *canvas) clone() *canvas {
	return &canvas{c.width, c.height, append([]cell(nil), c.cells...)}
}

func (c *canvas) inside(x, y int) bool { return x >= 0 && x < c.width && y >= 0 && y < c.height }

func (c *canvas) at(x, y int) cell {
	if !c.inside(x, y) {
		return cell{}
	}
	return c.cells[y*c.width+x]
}

// put draws one character of one column.
func (c *canvas) put(x, y int, text string, t tone) {
	if c.inside(x, y) {
		c.cells[y*c.width+x] = cell{text: text, tone: t}
	}
}

// text writes printable text from (x, y) to the right, at most to the canvas' edge, and returns the column behind it.
func (c *canvas) text(x, y int, s string, t tone) int {
	for s != "" {
		cluster, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[len(cluster):]
		if w == 0 {
			continue
		}
		if !c.inside(x, y) || !c.inside(x+w-1, y) {
			return x
		}
		c.put(x, y, cluster, t)
		for i := 1; i < w; i++ {
			c.cells[y*c.width+x+i] = cell{covered: true}
		}
		x += w
	}
	return x
}

// line writes a line of text.
func (c *canvas) line(x, y int, s spans) int {
	for _, piece := range s {
		x = c.text(x, y, piece.text, piece.tone)
	}
	return x
}

// box draws a frame with a title in its upper edge: its outer size is width x height.
func (c *canvas) box(x, y, width, height int, title spans, t tone) {
	right, bottom := x+width-1, y+height-1
	for i := x + 1; i < right; i++ {
		c.put(i, y, "─", t)
		c.put(i, bottom, "─", t)
	}
	for j := y + 1; j < bottom; j++ {
		c.put(x, j, "│", t)
		c.put(right, j, "│", t)
	}
	c.put(x, y, "╭", t)
	c.put(right, y, "╮", t)
	c.put(x, bottom, "╰", t)
	c.put(right, bottom, "╯", t)
	if len(title) > 0 && width > 6 {
		title = title.fit(width - 4)
		c.put(x+1, y, " ", t)
		c.put(c.line(x+2, y, title), y, " ", t)
	}
}

// render draws rows from to to (excluded), each as wide as the canvas.
func (c *canvas) render(styles *Styles, from, to int) []string {
	lines := make([]string, 0, max(to-from, 0))
	for y := from; y < to; y++ {
		var b, run strings.Builder
		last := toneText
		flush := func() {
			b.WriteString(styles.tone(last).Render(run.String()))
			run.Reset()
		}
		for x := range c.width {
			cl := c.at(x, y)
			if cl.covered {
				continue
			}
			text, t := cl.text, cl.tone
			if text == "" {
				text, t = " ", toneText
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
