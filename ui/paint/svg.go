package paint

import (
	"fmt"
	"html"
	"image/color"
	"strings"
)

// The measures of an SVG, in pixels.
const (
	svgWidth    = 8.4 // of a cell
	svgHeight   = 18.0
	svgFont     = 14.0
	svgBaseline = 13.5
	svgMargin   = 10.0
)

// SVG is a screen as a picture that stands for itself. It is made of text: who opens it draws it with a font of theirs.
func SVG(s Screen, l Look) string {
	var drawn strings.Builder
	for y := range s.Height {
		for x := 0; x < s.Width; {
			r := s.run(x, y)
			r.draw(&drawn, l.Paper)
			x += r.width
		}
	}
	width, height := float64(s.Width)*svgWidth+2*svgMargin, float64(s.Height)*svgHeight+2*svgMargin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.1f" height="%.1f" viewBox="0 0 %[1]g %[2]g">
<rect width="100%%" height="100%%" fill="%s"/>
<g font-family="ui-monospace,'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="%g" `+
		`xml:space="preserve" style="white-space:pre">
%s</g>
</svg>
`, width, height, svgHex(l.Paper), svgFont, drawn.String())
}

// svgRun are characters of a line that look the same.
type svgRun struct {
	text        string
	x, y, width int // in cells
	look        Cell
}

// run is the run that begins in a cell. A wide character is a run of its own, so that each stays in its cells, whatever
// font shows it.
func (s Screen) run(x, y int) svgRun {
	look := func(c Cell) Cell { c.Text = ""; return c }
	r := svgRun{x: x, y: y, look: look(s.at(x, y))}
	var text strings.Builder
	for ; x < s.Width; x += max(1, r.look.Width) {
		c := s.at(x, y)
		if look(c) != r.look || r.width > 0 && c.Width > 1 {
			break
		}
		if c.Text == "" {
			c.Text = " "
		}
		text.WriteString(c.Text)
		r.width += max(1, c.Width)
	}
	r.text = text.String()
	return r
}

// draw draws a run: its background where it is another one than the picture's, and its characters, stretched to their
// cells.
func (r svgRun) draw(b *strings.Builder, background color.RGBA) {
	left, top := svgMargin+float64(r.x)*svgWidth, svgMargin+float64(r.y)*svgHeight
	width := float64(r.width) * svgWidth
	if r.look.Paper != background {
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", left, top, width,
			svgHeight, svgHex(r.look.Paper))
	}
	text := r.text
	if !r.look.Underline && !r.look.Struck { // blanks are kept by few who draw SVG
		text = strings.TrimLeft(text, " ")
		left += float64(len(r.text)-len(text)) * svgWidth
		kept := strings.TrimRight(text, " ")
		width = float64(r.width)*svgWidth - float64(len(r.text)-len(kept))*svgWidth
		text = kept
	}
	if text == "" {
		return
	}
	looks := ""
	for _, look := range []struct {
		has  bool
		text string
	}{
		{r.look.Bold, ` font-weight="bold"`},
		{r.look.Italic, ` font-style="italic"`},
		{r.look.Underline, ` text-decoration="underline"`},
		{r.look.Struck, ` text-decoration="line-through"`},
	} {
		if look.has {
			looks += look.text
		}
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" fill=\"%s\"%s>"+
		"%s</text>\n", left, top+svgBaseline, width, svgHex(r.look.Ink), looks, html.EscapeString(text))
}

func svgHex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
