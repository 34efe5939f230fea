package term

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/cellbuf"
)

// The measures of a picture, in pixels.
const (
	svgWidth    = 8.4 // of a cell
	svgHeight   = 18.0
	svgFont     = 14.0
	svgBaseline = 13.5
	svgMargin   = 10.0
)

// svgColours are those of a terminal that has not been told any.
type svgColours struct{ ink, paper color.Color }

var (
	svgDark  = svgColours{color.RGBA{0xe6, 0xed, 0xf3, 0xff}, color.RGBA{0x0d, 0x11, 0x17, 0xff}}
	svgLight = svgColours{color.RGBA{0x1f, 0x23, 0x28, 0xff}, color.RGBA{0xff, 0xff, 0xff, 0xff}}
)

// svgRun are characters of a line that look the same. Those that are two cells wide are runs of their own, so that each
// stays in its cells, whatever font shows it.
type svgRun struct {
	text   strings.Builder
	x, y   int // in cells
	width  int
	style  cellbuf.Style
	single bool
}

// SVG is a frame as a picture that stands for itself, on a dark or a light background. It is made of text, so that no
// font has to be found or shipped.
func SVG(frame string, light bool) string {
	colours := svgDark
	if light {
		colours = svgLight
	}
	var drawn strings.Builder
	var style cellbuf.Style
	widest, lines := 0, 0
	for line := range strings.Lines(frame) {
		var runs []*svgRun
		runs, style = svgRuns(strings.TrimRight(line, "\r\n"), lines, style)
		lines++
		for _, r := range runs {
			r.draw(&drawn, colours)
			widest = max(widest, r.x+r.width)
		}
	}
	width, height := float64(widest)*svgWidth+2*svgMargin, float64(lines)*svgHeight+2*svgMargin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.1f" height="%.1f" viewBox="0 0 %[1]g %[2]g">
<rect width="100%%" height="100%%" fill="%s"/>
<g font-family="ui-monospace,'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="%g" `+
		`xml:space="preserve" style="white-space:pre">
%s</g>
</svg>
`, width, height, svgHex(colours.paper), svgFont, drawn.String())
}

// svgRuns are the runs of a line, and the style behind it.
func svgRuns(line string, y int, style cellbuf.Style) ([]*svgRun, cellbuf.Style) {
	var runs []*svgRun
	parser := ansi.NewParser()
	var state byte
	x := 0
	for len(line) > 0 {
		text, width, n, next := ansi.DecodeSequenceWc(line, state, parser)
		line, state = line[n:], next
		if width == 0 {
			if ansi.Cmd(parser.Command()).Final() == 'm' && ansi.HasCsiPrefix(text) {
				cellbuf.ReadStyle(parser.Params(), &style)
			}
			continue
		}
		single := width > 1
		if last := len(runs) - 1; last < 0 || runs[last].style != style || runs[last].single || single {
			runs = append(runs, &svgRun{x: x, y: y, style: style, single: single})
		}
		r := runs[len(runs)-1]
		r.text.WriteString(text)
		r.width += width
		x += width
	}
	return runs, style
}

// draw draws a run: its background where it has one, and its characters, stretched to their cells.
func (r *svgRun) draw(b *strings.Builder, colours svgColours) {
	ink, paper := r.style.Fg, r.style.Bg
	if r.style.Attrs.Contains(cellbuf.ReverseAttr) {
		ink, paper = paper, ink
		if ink == nil {
			ink = colours.paper
		}
		if paper == nil {
			paper = colours.ink
		}
	}
	if ink == nil {
		ink = colours.ink
	}
	left, top := svgMargin+float64(r.x)*svgWidth, svgMargin+float64(r.y)*svgHeight
	width := float64(r.width) * svgWidth
	if paper != nil {
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", left, top, width,
			svgHeight, svgHex(paper))
	}
	text := r.text.String()
	if r.style.UlStyle == cellbuf.NoUnderline { // blanks are kept by few who draw SVG
		text = strings.TrimLeft(text, " ")
		left += float64(r.text.Len()-len(text)) * svgWidth
		text = strings.TrimRight(text, " ")
		width -= float64(r.text.Len()-len(text)) * svgWidth
	}
	if text == "" {
		return
	}
	looks := ""
	for _, look := range []struct {
		has  bool
		text string
	}{
		{r.style.Attrs.Contains(cellbuf.BoldAttr), ` font-weight="bold"`},
		{r.style.Attrs.Contains(cellbuf.FaintAttr), ` fill-opacity="0.6"`},
		{r.style.Attrs.Contains(cellbuf.ItalicAttr), ` font-style="italic"`},
		{r.style.UlStyle != cellbuf.NoUnderline, ` text-decoration="underline"`},
	} {
		if look.has {
			looks += look.text
		}
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" fill=\"%s\"%s>"+
		"%s</text>\n", left, top+svgBaseline, width, svgHex(ink), looks, html.EscapeString(text))
}

func svgHex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
