package main

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/opentype"
)

// testPainter draws with a font that every machine has.
func testPainter(t *testing.T) painter {
	t.Helper()
	font, err := opentype.Parse(gomono.TTF)
	if err != nil {
		t.Fatal(err)
	}
	glyphs, err := newGlyphs([]cuts{{style{}: font}}, 12)
	if err != nil {
		t.Fatal(err)
	}
	return painter{glyphs, 4}
}

// shown is the screen of a terminal that got this text.
func shown(t *testing.T, width, height int, text string) screen {
	t.Helper()
	emulator := vt.NewEmulator(width, height)
	if _, err := emulator.WriteString(text); err != nil {
		t.Fatal(err)
	}
	terminal := &terminal{look: darkLook, emulator: emulator}
	return terminal.screen()
}

func (p painter) mustDraw(t *testing.T, s screen) *image.RGBA {
	t.Helper()
	img, err := p.draw(s, darkLook.paper)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// strongest is the colour of a cell's picture that is farthest from a background.
func (p painter) strongest(img *image.RGBA, x, y int, from color.RGBA) color.RGBA {
	area := p.pixels(image.Rect(x, y, x+1, y+1))
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

// Faint, reversed and coloured text is seen, each in its own way.
func TestAttributesAreSeen(t *testing.T) {
	s := shown(t, 5, 1, "H\x1b[2mH\x1b[0;7mH\x1b[0;31mH\x1b[0;2;7mH")
	p := testPainter(t)
	img := p.mustDraw(t, s)
	corner := func(x int) color.RGBA { return img.RGBAAt(p.padding+x*p.glyphs.width, p.padding) }
	faint := mix(darkLook.ink, darkLook.paper, faintPart)
	for x, want := range []struct{ ink, paper color.RGBA }{
		{darkLook.ink, darkLook.paper},
		{faint, darkLook.paper},
		{darkLook.paper, darkLook.ink},
		{darkLook.basic[1], darkLook.paper},
		{darkLook.paper, faint},
	} {
		if got := corner(x); got != want.paper {
			t.Errorf("cell %d: the background is %v, want %v", x, got, want.paper)
		}
		if got := p.strongest(img, x, 0, want.paper); got != want.ink {
			t.Errorf("cell %d: the ink is %v, want %v", x, got, want.ink)
		}
	}
	if faint == darkLook.ink || faint == darkLook.paper {
		t.Errorf("faint is %v", faint)
	}
}

// An underline is below the text, and bold and italic ask for their own cuts.
func TestStylesOfCells(t *testing.T) {
	s := shown(t, 4, 1, "\x1b[4m \x1b[0;1mb\x1b[0;3mi\x1b[0;9ms")
	if !s.at(0, 0).underline || !s.at(1, 0).bold || !s.at(2, 0).italic || !s.at(3, 0).struck {
		t.Errorf("the cells are %+v", s.cells)
	}
	p := testPainter(t)
	if got := p.strongest(p.mustDraw(t, s), 0, 0, darkLook.paper); got != darkLook.ink {
		t.Errorf("the underline is %v", got)
	}
}

// The terminal's own colours stand for the 16; all others are themselves.
func TestColours(t *testing.T) {
	for _, test := range []struct{ given, want color.Color }{
		{nil, darkLook.ink},
		{ansi.Green, darkLook.basic[2]},
		{ansi.IndexedColor(9), darkLook.basic[9]},
		{ansi.IndexedColor(231), color.RGBA{255, 255, 255, 255}},
		{ansi.RGBColor{R: 1, G: 2, B: 3}, color.RGBA{1, 2, 3, 255}},
	} {
		got := darkLook.cellOf(&uv.Cell{Content: "x", Width: 1, Style: uv.Style{Fg: test.given}}).ink
		if got != test.want {
			t.Errorf("%v: got %v, want %v", test.given, got, test.want)
		}
	}
}

// Lines and blocks leave no gap between the cells that they join.
func TestLinesJoin(t *testing.T) {
	p := testPainter(t)
	g := p.glyphs
	img := p.mustDraw(t, shown(t, 3, 3, "╭─┬\r\n│█│\r\n╰─▶"))
	ink := func(x, y int) bool { return img.RGBAAt(x+p.padding, y+p.padding) != darkLook.paper }
	middleX, middleY := g.middle()
	x, y := int(middleX-0.5), int(middleY-0.5)
	arrows := p.mustDraw(t, shown(t, 3, 2, "▲│\r\n│▼"))
	for at := y; at < g.height+y; at++ {
		for column := range 2 {
			pixel := arrows.RGBAAt(p.padding+column*g.width+x, p.padding+at)
			if pixel == darkLook.paper {
				t.Fatalf("arrow %d has a gap at %d", column, at)
			}
		}
	}
	for at := y + g.width; at < g.height*2+y-g.width; at++ { // between the arcs
		if !ink(x, at) {
			t.Fatalf("the left side has a gap at %d", at)
		}
	}
	for at := x + g.width; at < 3*g.width; at++ {
		if !ink(at, y) {
			t.Fatalf("the top has a gap at %d", at)
		}
		if at < 3*g.width-2 && !ink(at, 2*g.height+y) {
			t.Fatalf("the bottom has a gap at %d", at)
		}
	}
	for _, corner := range []image.Point{{0, 0}, {g.width - 1, 0}, {0, g.height - 1}, {g.width - 1, g.height - 1}} {
		if !ink(g.width+corner.X, g.height+corner.Y) {
			t.Errorf("the block does not fill its cell at %v", corner)
		}
	}
}

// What no font has is a box and not nothing; a wide character takes two cells.
func TestOtherCharacters(t *testing.T) {
	p := testPainter(t)
	s := shown(t, 4, 1, "世x")
	img := p.mustDraw(t, s)
	for _, x := range []int{0, 1, 2} {
		if p.strongest(img, x, 0, darkLook.paper) == darkLook.paper {
			t.Errorf("nothing is in cell %d of %+v", x, s.cells)
		}
	}
}

// The same screen makes the same file, small and with the colours that were drawn.
func TestPicturesAreTheSame(t *testing.T) {
	s := shown(t, 30, 5, "\x1b[1mdlxtop\x1b[0m \x1b[2mfaint\x1b[0m \x1b[36mcyan\x1b[0m ▁▂▃▄▅▆▇█ ├──▶")
	var files [2][]byte
	for i := range files {
		path := filepath.Join(t.TempDir(), "picture.png")
		p := testPainter(t)
		if _, err := p.write(s, darkLook, path); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = data
		back, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		drawn := p.mustDraw(t, s)
		for y := range drawn.Rect.Dy() {
			for x := range drawn.Rect.Dx() {
				if color.RGBAModel.Convert(back.At(x, y)) != color.Color(drawn.RGBAAt(x, y)) {
					t.Fatalf("the pixel %d,%d has another colour in the file", x, y)
				}
			}
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the second file is another one")
	}
}

// A moving picture shows, frame by frame, what the screens show, and its later frames hold only what changed.
func TestAnimation(t *testing.T) {
	p := testPainter(t)
	frames := []frame{
		{shown(t, 6, 3, "one\r\n─•──"), 500 * time.Millisecond},
		{shown(t, 6, 3, "one\r\n──•─"), 200 * time.Millisecond},
		{shown(t, 6, 3, "one\r\n───•"), time.Second},
	}
	moving, err := animation(p, frames, darkLook)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := gif.EncodeAll(&file, moving); err != nil {
		t.Fatal(err)
	}
	back, err := gif.DecodeAll(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Delay; len(got) != 3 || got[0] != 50 || got[1] != 20 || got[2] != 100 {
		t.Errorf("the delays are %v", got)
	}
	if got, want := back.Image[1].Rect, p.pixels(image.Rect(1, 1, 3, 2)); got != want {
		t.Errorf("the second frame is %v, want the two cells that changed: %v", got, want)
	}
	canvas := image.NewRGBA(back.Image[0].Rect)
	for i, part := range back.Image {
		for y := part.Rect.Min.Y; y < part.Rect.Max.Y; y++ {
			for x := part.Rect.Min.X; x < part.Rect.Max.X; x++ {
				if c := color.RGBAModel.Convert(part.At(x, y)).(color.RGBA); c.A > 0 {
					canvas.SetRGBA(x, y, c)
				}
			}
		}
		if !bytes.Equal(canvas.Pix, p.mustDraw(t, frames[i].screen).Pix) {
			t.Errorf("frame %d does not show what the screen shows", i)
		}
	}
}

func TestFontsAreNamed(t *testing.T) {
	if _, err := findFonts([]string{t.TempDir()}); err != errNoFont {
		t.Errorf("without fonts: %v", err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "DejaVuSansMono.ttf"), gomono.TTF, 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := findFonts([]string{"/nowhere", folder}); err != nil || len(found) != 1 {
		t.Errorf("found %v, %v", found, err)
	}
}
