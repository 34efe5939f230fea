// Package screenshots draws what a terminal shows as SVG, for pages that show no more than an image: without scripts
// and fonts of its own. What draws the documentation's pictures is a test, because it uses the program as the tests do:
// make screenshots.
package screenshots

import (
	"cmp"
	"fmt"
	"html"
	"image/color"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// look is a terminal's own ink and paper.
type look struct{ ink, paper color.RGBA }

var (
	dark  = look{rgb(0xd5d8df), rgb(0x15181e)}
	light = look{rgb(0x24292f), rgb(0xfdfdfb)}
)

// basic are the 16 colours of a dark terminal: the program's theme for light ones uses colours of its own.
var basic = [16]color.RGBA{
	rgb(0x2b303b), rgb(0xf0717a), rgb(0x97c97b), rgb(0xe3b866),
	rgb(0x6fa8f5), rgb(0xc58ae0), rgb(0x5cc5d3), rgb(0xc6cad3),
	rgb(0x6b7280), rgb(0xff8a92), rgb(0xaee08f), rgb(0xf5d07f),
	rgb(0x8cbdff), rgb(0xdba5f2), rgb(0x7cdde9), rgb(0xffffff),
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// The size of a character, and what is around the screen.
const cellWidth, cellHeight, padding = 10, 20, 10

// outlines are the characters that join from cell to cell, as paths from a cell's left top: a font's have gaps where
// its lines are lower. Those that end with z are filled, and blocks overlap the row below a little.
var outlines = map[string]string{
	"─": "m0,10h10", "│": "m5,0v20", "╭": "m5,20v-5q0-5,5-5", "╮": "m0,10q5,0,5,5v5", "╰": "m5,0v5q0,5,5,5",
	"╯": "m0,10q5,0,5-5v-5", "├": "m5,0v20m0-10h5", "┤": "m5,0v20m0-10h-5", "┬": "m0,10h10m-5,0v10",
	"┴": "m0,10h10m-5,0v-10", "┼": "m0,10h10m-5-10v20",
	"▶": "m0,5l10,5l-10,5z", "◀": "m10,5l-10,5l10,5z", "▲": "m0,15l5-10l5,10z", "▼": "m0,5l5,10l5-10z",
	"▁": "m0,20.5v-3h10v3z", "▂": "m0,20.5v-5.5h10v5.5z", "▃": "m0,20.5v-8h10v8z", "▄": "m0,20.5v-10.5h10v10.5z",
	"▅": "m0,20.5v-13h10v13z", "▆": "m0,20.5v-15.5h10v15.5z", "▇": "m0,20.5v-18h10v18z", "█": "m0,20.5v-20.5h10v20.5z",
}

// head is sized so that the usual fonts have characters as wide as a cell.
const head = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="%d %[3]d %[1]d %[2]d" ` +
	`font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace" ` +
	`font-size="16.6" xml:space="preserve"><style>text{white-space:pre}rect{shape-rendering:crispEdges}` +
	`path{stroke-width:1.2}</style>` + "\n" +
	`<rect x="%[3]d" y="%[3]d" width="%[1]d" height="%[2]d" fill="%[4]s"/>` + "\n"

// frame is what a terminal shows for a time, with its escape sequences.
type frame struct {
	text   string
	stands time.Duration
}

// draw makes a picture of a screen, or one that moves, of several: a row is drawn once for as long as it stays.
func (l look) draw(width, height int, frames ...frame) string {
	rows := make([][]string, len(frames))
	begins := make([]time.Duration, len(frames)+1)
	for i, frame := range frames {
		rows[i] = l.rows(frame.text, width, height)
		begins[i+1] = begins[i] + frame.stands
	}

	whole := begins[len(frames)]
	var svg strings.Builder
	fmt.Fprintf(&svg, head, width*cellWidth+2*padding, height*cellHeight+2*padding, -padding, hex(l.paper))
	for y := range height {
		for from, to := 0, 0; from < len(frames); from = to {
			for to < len(frames) && rows[to][y] == rows[from][y] {
				to++
			}

			fmt.Fprintf(&svg, `<g transform="translate(0,%d)"`, y*cellHeight)
			if from > 0 { // what cannot move the picture shows its beginning
				svg.WriteString(` visibility="hidden"`)
			}
			fmt.Fprintf(&svg, ">%s", rows[from][y])
			if to-from < len(frames) {
				fmt.Fprintf(&svg, `<animate attributeName="visibility" calcMode="discrete" values="hidden;visible;hidden" `+
					`keyTimes="0;%.5f;%.5f" dur="%.2fs" repeatCount="indefinite"/>`,
					begins[from].Seconds()/whole.Seconds(), begins[to].Seconds()/whole.Seconds(), whole.Seconds())
			}
			svg.WriteString("</g>\n")
		}
	}

	return svg.String() + "</svg>\n"
}

// rows draws each row of a text's left top.
func (l look) rows(text string, width, height int) []string {
	screen := vt.NewEmulator(max(width, 200), max(height, 60)) // in which no row is wrapped, and nothing scrolls
	screen.WriteString(strings.ReplaceAll(text, "\n", "\r\n"))
	screen.Resize(width, height)
	drawn := make([]string, height)
	for y := range height {
		for x := 0; x < width; {
			run := l.run(screen, x, y)
			drawn[y] += run.draw(l, x*cellWidth)
			x += run.width
		}
	}

	return drawn
}

// run is characters of the same style. The ones that a font may not have, or not as wide as a cell, are on their own.
type run struct {
	style
	text  string
	width int // in cells
}

type style struct {
	ink, paper      string
	bold, underline bool
	draws           kind
}

type kind int

const (
	letters kind = iota
	sign
	outlined
	filled
)

func (l look) run(screen *vt.Emulator, x, y int) run {
	cell := screen.CellAt(x, y)
	found := run{style: l.style(cell)}
	for cell != nil && l.style(cell) == found.style {
		found.text += cmp.Or(cell.Content, " ")
		found.width += max(1, cell.Width)
		if found.draws == sign {
			break
		}
		cell = screen.CellAt(x+found.width, y)
	}

	return found
}

func (l look) style(cell *uv.Cell) style {
	has := func(a uv.StyleAttr) bool { return cell.Style.Attrs&a != 0 }
	ink := resolve(cell.Style.Fg, l.ink)
	paper := resolve(cell.Style.Bg, l.paper)
	if has(uv.AttrFaint) {
		ink = mix(ink, paper)
	}
	if has(uv.AttrReverse) {
		ink, paper = paper, ink
	}

	found := style{hex(ink), hex(paper), has(uv.AttrBold), cell.Style.Underline != uv.UnderlineStyleNone, letters}
	outline := outlines[cell.Content]
	switch {
	case strings.HasSuffix(outline, "z"):
		found.draws = filled
	case outline != "":
		found.draws = outlined
	case len(cell.Content) > 1:
		found.draws = sign
	}

	return found
}

// resolve returns the visible colour: the terminal's own where the program uses one of the 16, or none.
func resolve(c color.Color, none color.RGBA) color.RGBA {
	switch c := c.(type) {
	case nil:
		return none
	case ansi.BasicColor:
		return basic[c&15]
	}

	return color.RGBAModel.Convert(c).(color.RGBA)
}

// mix returns the colour of faint ink.
func mix(ink, paper color.RGBA) color.RGBA {
	of := func(a, b uint8) uint8 { return uint8(float64(a)*0.55 + float64(b)*0.45 + 0.5) }
	return color.RGBA{of(ink.R, paper.R), of(ink.G, paper.G), of(ink.B, paper.B), 255}
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func (r run) draw(l look, x int) (svg string) {
	width := r.width * cellWidth
	if r.paper != hex(l.paper) {
		svg = fmt.Sprintf(`<rect x="%d" width="%d" height="%d" fill="%s"/>`, x, width, cellHeight, r.paper)
	}

	if r.draws == outlined || r.draws == filled {
		svg += `<path d="`
		for i, character := range []rune(r.text) {
			svg += fmt.Sprintf("M%d,0%s", x+i*cellWidth, outlines[string(character)])
		}
		if r.draws == outlined {
			return svg + fmt.Sprintf(`" fill="none" stroke="%s"/>`, r.ink)
		}
		return svg + fmt.Sprintf(`" fill="%s"/>`, r.ink)
	}

	if strings.TrimSpace(r.text) == "" && !r.underline {
		return svg
	}
	svg += fmt.Sprintf(`<text x="%d" y="15" textLength="%d" fill="%s"`, x, width, r.ink)
	if r.draws == sign {
		svg += ` lengthAdjust="spacingAndGlyphs"`
	}
	if r.bold {
		svg += ` font-weight="bold"`
	}
	if r.underline {
		svg += ` text-decoration="underline"`
	}

	return svg + ">" + html.EscapeString(r.text) + "</text>"
}
