package paint

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

func testPainter(t *testing.T) *Painter {
	t.Helper()
	return must.Get(New(12, 4))(t)
}

// screen returns the screen of a terminal of this size after a text.
func screen(t *testing.T, text string, width, height int) Screen {
	t.Helper()
	emulator := vt.NewEmulator(width, height)
	must.Get(emulator.WriteString(text))(t)
	return Dark.Screen(emulator)
}

// strongest returns the colour in a cell's picture that is farthest from a background.
func (p *Painter) strongest(img *image.RGBA, x, y int, from color.RGBA) color.RGBA {
	area := p.Pixels(image.Rect(x, y, x+1, y+1))
	best, farthest := from, 0
	for py := area.Min.Y; py < area.Max.Y; py++ {
		for px := area.Min.X; px < area.Max.X; px++ {
			c := img.RGBAAt(px, py)
			far := 0
			for _, d := range [3]int{int(c.R) - int(from.R), int(c.G) - int(from.G), int(c.B) - int(from.B)} {
				far += d * d
			}
			if far > farthest {
				best, farthest = c, far
			}
		}
	}

	return best
}

// Faint, reversed and coloured text is visible, and each looks different.
func TestAttributesAreSeen(t *testing.T) {
	s := screen(t, "H\x1b[2mH\x1b[0;7mH\x1b[0;31mH\x1b[0;2;7mH", 5, 1)
	p := testPainter(t)
	img := p.Draw(s, Dark.Paper)
	corner := func(x int) color.RGBA { return img.RGBAAt(p.padding+x*p.glyphs.width, p.padding) }

	faint := mix(Dark.Ink, Dark.Paper, faintPart)
	for x, want := range []struct{ ink, paper color.RGBA }{
		{Dark.Ink, Dark.Paper},
		{faint, Dark.Paper},
		{Dark.Paper, Dark.Ink},
		{Dark.Basic[1], Dark.Paper},
		{Dark.Paper, faint},
	} {
		got := corner(x)
		assert.That(t, got == want.paper, "cell %d: the background is %v, want %v", x, got, want.paper)
		got = p.strongest(img, x, 0, want.paper)
		assert.That(t, got == want.ink, "cell %d: the ink is %v, want %v", x, got, want.ink)
	}

	assert.That(t, faint != Dark.Ink, "faint is %v", faint)
	assert.That(t, faint != Dark.Paper, "faint is %v", faint)
}

// An underline is below the text, and bold and italic use their own cuts.
func TestStylesOfCells(t *testing.T) {
	s := screen(t, "\x1b[4m \x1b[0;1mb\x1b[0;3mi\x1b[0;9ms", 4, 1)
	assert.That(t, s.at(0, 0).Underline, "the cells are %+v", s.Cells)
	assert.That(t, s.at(1, 0).Bold, "the cells are %+v", s.Cells)
	assert.That(t, s.at(2, 0).Italic, "the cells are %+v", s.Cells)
	assert.That(t, s.at(3, 0).Struck, "the cells are %+v", s.Cells)
	p := testPainter(t)
	got := p.strongest(p.Draw(s, Dark.Paper), 0, 0, Dark.Paper)
	assert.That(t, got == Dark.Ink, "the underline is %v", got)
}

// The terminal's own colours replace the 16; all others are used as they are.
func TestColours(t *testing.T) {
	for _, test := range []struct{ given, want color.Color }{
		{nil, Dark.Ink},
		{ansi.Green, Dark.Basic[2]},
		{ansi.IndexedColor(9), Dark.Basic[9]},
		{ansi.IndexedColor(231), color.RGBA{255, 255, 255, 255}},
		{ansi.RGBColor{R: 1, G: 2, B: 3}, color.RGBA{1, 2, 3, 255}},
	} {
		got := Dark.cell(&uv.Cell{Content: "x", Width: 1, Style: uv.Style{Fg: test.given}}).Ink
		assert.That(t, got == test.want, "%v: got %v, want %v", test.given, got, test.want)
	}
}

// Lines and blocks leave no gap between the cells that they join.
func TestLinesJoin(t *testing.T) {
	p := testPainter(t)
	g := p.glyphs
	img := p.Draw(screen(t, "╭─┬\r\n│█│\r\n╰─▶", 3, 3), Dark.Paper)
	ink := func(x, y int) bool { return img.RGBAAt(x+p.padding, y+p.padding) != Dark.Paper }
	middleX, middleY := g.middle()
	x, y := int(middleX-0.5), int(middleY-0.5)

	arrows := p.Draw(screen(t, "▲│\r\n│▼", 3, 2), Dark.Paper)
	for at := y; at < g.height+y; at++ {
		for column := range 2 {
			pixel := arrows.RGBAAt(p.padding+column*g.width+x, p.padding+at)
			must.That(t, pixel != Dark.Paper, "arrow %d has a gap at %d", column, at)
		}
	}

	for at := y + g.width; at < g.height*2+y-g.width; at++ { // between the arcs
		must.That(t, ink(x, at), "the left side has a gap at %d", at)
	}

	for at := x + g.width; at < 3*g.width; at++ {
		must.That(t, ink(at, y), "the top has a gap at %d", at)
		must.That(t, at >= 3*g.width-2 || ink(at, 2*g.height+y), "the bottom has a gap at %d", at)
	}

	for _, corner := range []image.Point{{0, 0}, {g.width - 1, 0}, {0, g.height - 1}, {g.width - 1, g.height - 1}} {
		assert.That(t, ink(g.width+corner.X, g.height+corner.Y), "the block does not fill its cell at %v", corner)
	}
}

// The font has the signs of the screens; a character that it lacks is drawn as a box, and a wide one takes two cells.
func TestOtherCharacters(t *testing.T) {
	p := testPainter(t)
	masks := map[string]bool{string(p.glyphs.of(Cell{Text: "世", Width: 1})): true}
	for _, sign := range "✓✗◇▸•›…→≤" {
		mask := string(p.glyphs.of(Cell{Text: string(sign), Width: 1}))
		assert.That(t, !masks[mask], "%c looks like a box or another sign", sign)
		masks[mask] = true
	}

	s := screen(t, "世x", 4, 1)
	img := p.Draw(s, Dark.Paper)
	for _, x := range []int{0, 1, 2} {
		assert.That(t, p.strongest(img, x, 0, Dark.Paper) != Dark.Paper, "nothing is in cell %d of %+v", x, s.Cells)
	}
}

// The same screen gives the same file, small and with the colours that were drawn.
func TestPicturesAreTheSame(t *testing.T) {
	const styled = "\x1b[1mdlxtop\x1b[0m \x1b[2mfaint\x1b[0m \x1b[36mcyan\x1b[0m"
	s := screen(t, styled+" ▁▂▃▄▅▆▇█ ├──▶", 30, 5)
	var files [2][]byte
	for i := range files {
		p := testPainter(t)
		var file bytes.Buffer
		err := PNG(&file, p.Draw(s, Dark.Paper))
		must.Do(t, err)
		data := file.Bytes()
		files[i] = data
		back := must.Get(png.Decode(bytes.NewReader(data)))(t)

		drawn := p.Draw(s, Dark.Paper)
		for y := range drawn.Rect.Dy() {
			for x := range drawn.Rect.Dx() {
				must.That(t, color.RGBAModel.Convert(back.At(x, y)) == color.Color(drawn.RGBAAt(x, y)),
					"the pixel %d,%d has another colour in the file", x, y)
			}
		}
	}

	assert.That(t, bytes.Equal(files[0], files[1]), "the second file is another one")
}
