package paint

import (
	"image/color"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/cellbuf"
)

// Screen is what stands on a terminal's screen at one moment, row by row.
type Screen struct {
	Width, Height int
	Cells         []Cell
}

// Cell is one character as it looks: its colours are those that are seen, after faint and reverse.
type Cell struct {
	Text                            string // "" is a blank, or the second half of a wide character
	Width                           int    // in cells: 2 for a wide character, 0 for the second half of one
	Ink, Paper                      color.RGBA
	Bold, Italic, Underline, Struck bool
}

func (s Screen) at(x, y int) Cell { return s.Cells[y*s.Width+x] }

// Look is a terminal's own colours.
type Look struct {
	Ink, Paper color.RGBA
	Basic      [16]color.RGBA
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// The looks of a dark and of a light terminal.
var (
	Dark = Look{rgb(0xd5d8df), rgb(0x15181e), [16]color.RGBA{
		rgb(0x2b303b), rgb(0xf0717a), rgb(0x97c97b), rgb(0xe3b866),
		rgb(0x6fa8f5), rgb(0xc58ae0), rgb(0x5cc5d3), rgb(0xc6cad3),
		rgb(0x6b7280), rgb(0xff8a92), rgb(0xaee08f), rgb(0xf5d07f),
		rgb(0x8cbdff), rgb(0xdba5f2), rgb(0x7cdde9), rgb(0xffffff),
	}}
	Light = Look{rgb(0x24292f), rgb(0xfdfdfb), [16]color.RGBA{
		rgb(0x24292f), rgb(0xc4262e), rgb(0x2f7d32), rgb(0x9a6400),
		rgb(0x1a5fb4), rgb(0x8b3fa8), rgb(0x0b7480), rgb(0x8a8f98),
		rgb(0x57606a), rgb(0xdd3a42), rgb(0x3f9a43), rgb(0xb47a10),
		rgb(0x2f78d0), rgb(0xa457c2), rgb(0x178c99), rgb(0xb8bcc4),
	}}
)

// faintPart is how much of a faint character's colour is left; the rest is its background.
const faintPart = 0.55

// Screen is the screen of a terminal of this size, in cells, on which a frame stands: lines with their looks as escape
// sequences. What does not fit is left out.
func (l Look) Screen(frame string, width, height int) Screen {
	s := Screen{Width: width, Height: height, Cells: make([]Cell, width*height)}
	for i := range s.Cells {
		s.Cells[i] = Cell{Width: 1, Ink: l.Ink, Paper: l.Paper}
	}
	parser := ansi.NewParser()
	var style cellbuf.Style
	y := 0
	for line := range strings.Lines(frame) {
		if y == height {
			break
		}
		l.line(s.Cells[y*width:(y+1)*width], strings.TrimRight(line, "\r\n"), &style, parser)
		y++
	}
	return s
}

// line reads the cells of one line. The style goes on into the next one.
func (l Look) line(row []Cell, line string, style *cellbuf.Style, parser *ansi.Parser) {
	var state byte
	x := 0
	for len(line) > 0 {
		text, width, n, next := ansi.DecodeSequenceWc(line, state, parser)
		line, state = line[n:], next
		switch {
		case width > 0 && x+width <= len(row):
			row[x] = l.cell(text, width, *style)
			for half := 1; half < width; half++ {
				row[x+half] = row[x]
				row[x+half].Text, row[x+half].Width = "", 0
			}
		case width == 0 && ansi.Cmd(parser.Command()).Final() == 'm' && ansi.HasCsiPrefix(text):
			cellbuf.ReadStyle(parser.Params(), style)
		}
		x += width
	}
}

func (l Look) cell(text string, width int, style cellbuf.Style) Cell {
	ink, paper := l.resolve(style.Fg, l.Ink), l.resolve(style.Bg, l.Paper)
	has := style.Attrs.Contains
	if has(cellbuf.FaintAttr) {
		ink = mix(ink, paper, faintPart)
	}
	if has(cellbuf.ReverseAttr) {
		ink, paper = paper, ink
	}
	if has(cellbuf.ConcealAttr) {
		ink = paper
	}
	if text == " " {
		text = ""
	}
	return Cell{
		Text: text, Width: width, Ink: ink, Paper: paper,
		Bold: has(cellbuf.BoldAttr), Italic: has(cellbuf.ItalicAttr), Struck: has(cellbuf.StrikethroughAttr),
		Underline: style.UlStyle != cellbuf.NoUnderline,
	}
}

// resolve is the colour that is seen: the terminal's own where the program names one of the 16, or none.
func (l Look) resolve(c color.Color, none color.RGBA) color.RGBA {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return l.Basic[c&15]
	case ansi.IndexedColor:
		if c < 16 {
			return l.Basic[c]
		}
	}
	return color.RGBAModel.Convert(c).(color.RGBA)
}

// mix is part of a, and b for the rest.
func mix(a, b color.RGBA, part float64) color.RGBA {
	of := func(a, b uint8) uint8 { return uint8(float64(a)*part + float64(b)*(1-part) + 0.5) }
	return color.RGBA{of(a.R, b.R), of(a.G, b.G), of(a.B, b.B), 255}
}
