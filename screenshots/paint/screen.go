package paint

import (
	"image/color"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// Screen is a terminal's screen at one moment, row by row.
type Screen struct {
	Width, Height int
	Cells         []Cell
}

// Cell is one character as it looks: its colours are the visible ones, after faint and reverse.
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

// faintPart is the share of a faint character's colour that remains; the rest is its background.
const faintPart = 0.55

func (l Look) Screen(e *vt.Emulator) Screen {
	s := Screen{Width: e.Width(), Height: e.Height()}
	for y := range s.Height {
		for x := range s.Width {
			c := e.CellAt(x, y)
			if c.Width > 0 {
				s.Cells = append(s.Cells, l.cell(c))
				continue
			}

			half := s.at(x-1, y) // of a wide character
			half.Text, half.Width = "", 0
			s.Cells = append(s.Cells, half)
		}
	}

	return s
}

func (l Look) cell(c *uv.Cell) Cell {
	has := func(a uv.StyleAttr) bool { return c.Style.Attrs&a != 0 }
	ink := l.resolve(c.Style.Fg, l.Ink)
	paper := l.resolve(c.Style.Bg, l.Paper)
	if has(uv.AttrFaint) {
		ink = mix(ink, paper, faintPart)
	}
	if has(uv.AttrReverse) {
		ink, paper = paper, ink
	}
	if has(uv.AttrConceal) {
		ink = paper
	}

	return Cell{
		Text:      strings.TrimSpace(c.Content),
		Width:     c.Width,
		Ink:       ink,
		Paper:     paper,
		Bold:      has(uv.AttrBold),
		Italic:    has(uv.AttrItalic),
		Struck:    has(uv.AttrStrikethrough),
		Underline: c.Style.Underline != uv.UnderlineStyleNone,
	}
}

// resolve returns the visible colour: the terminal's own where the program uses one of the 16, or none.
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

// mix mixes two colours: part is the share of a.
func mix(a, b color.RGBA, part float64) color.RGBA {
	of := func(a, b uint8) uint8 { return uint8(float64(a)*part + float64(b)*(1-part) + 0.5) }
	return color.RGBA{of(a.R, b.R), of(a.G, b.G), of(a.B, b.B), 255}
}
