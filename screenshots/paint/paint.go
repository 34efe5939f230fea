// Package paint draws a terminal's screen as a picture, in the terminal's colours. It reads a program's output, and
// knows nothing about its meaning.
package paint

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"maps"
	"slices"
)

// Painter draws screens as pixels.
type Painter struct {
	glyphs  *glyphs
	padding int // around the screen, in pixels
}

// New makes a painter with cells of this width and a padding around the screen, both in pixels. It returns an error
// when the font cannot be used.
func New(cell, padding int) (*Painter, error) {
	glyphs, err := newGlyphs(cell)
	return &Painter{glyphs, padding}, err
}

// Bounds returns the size of a picture of a screen with this many columns and rows.
func (p *Painter) Bounds(columns, rows int) image.Rectangle {
	return image.Rect(0, 0, columns*p.glyphs.width+2*p.padding, rows*p.glyphs.height+2*p.padding)
}

// Pixels returns where an area of cells is drawn.
func (p *Painter) Pixels(cells image.Rectangle) image.Rectangle {
	g := p.glyphs
	return image.Rect(cells.Min.X*g.width, cells.Min.Y*g.height, cells.Max.X*g.width, cells.Max.Y*g.height).
		Add(image.Pt(p.padding, p.padding))
}

// Draw makes a picture of a screen on a terminal's background.
func (p *Painter) Draw(s Screen, background color.RGBA) *image.RGBA {
	img := image.NewRGBA(p.Bounds(s.Width, s.Height))
	fill(img, img.Rect, background)
	for y := range s.Height {
		for x := range s.Width {
			p.drawCell(img, s.at(x, y), x, y)
		}
	}

	return img
}

func (p *Painter) drawCell(img *image.RGBA, c Cell, x, y int) {
	if c.Width == 0 {
		return // the second half of a wide character
	}
	g := p.glyphs
	area := p.Pixels(image.Rect(x, y, x+c.Width, y+1))
	fill(img, area, c.Paper)
	if c.Text != "" {
		for i, shade := range g.of(c) {
			if shade > 0 {
				img.SetRGBA(area.Min.X+i%area.Dx(), area.Min.Y+i/area.Dx(), mix(c.Ink, c.Paper, float64(shade)/(shades-1)))
			}
		}
	}

	rule := func(y int) {
		fill(img, image.Rect(area.Min.X, y, area.Max.X, y+g.thin()).Intersect(area), c.Ink)
	}
	if c.Underline {
		rule(area.Min.Y + g.baseline + g.thin() + 1)
	}
	if c.Struck {
		rule(area.Min.Y + g.baseline*2/3)
	}
}

func fill(img *image.RGBA, area image.Rectangle, c color.RGBA) {
	draw.Draw(img, area, image.NewUniform(c), image.Point{}, draw.Src)
}

// PaletteOf returns the most frequent colours of pictures, up to a limit. The same pictures always give the same
// palette.
func PaletteOf(most int, pictures ...*image.RGBA) color.Palette {
	uses := map[color.RGBA]int{}
	for _, img := range pictures {
		for i := 0; i < len(img.Pix); i += 4 {
			uses[color.RGBA{img.Pix[i], img.Pix[i+1], img.Pix[i+2], 255}]++
		}
	}

	value := func(c color.RGBA) uint32 { return uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B) }
	colours := slices.SortedFunc(maps.Keys(uses), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(uses[b], uses[a]), cmp.Compare(value(a), value(b)))
	})

	var palette color.Palette
	for _, c := range colours[:min(most, len(colours))] {
		palette = append(palette, c)
	}

	return palette
}

// Indexed draws pictures in the colours of a palette, each pixel in the nearest.
type Indexed struct {
	palette color.Palette
	nearest map[color.RGBA]uint8
}

func NewIndexed(palette color.Palette) Indexed { return Indexed{palette, map[color.RGBA]uint8{}} }

func (n Indexed) Of(img *image.RGBA) *image.Paletted {
	out := image.NewPaletted(img.Rect, n.palette)
	for i := range out.Pix {
		out.Pix[i] = n.index(color.RGBA{img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], 255})
	}
	return out
}

func (n Indexed) index(c color.RGBA) uint8 {
	index, ok := n.nearest[c]
	if !ok {
		index = uint8(n.palette.Index(c))
		n.nearest[c] = index
	}

	return index
}

// PNG writes a picture as a small file, in its 256 most frequent colours.
func PNG(w io.Writer, img *image.RGBA) error {
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	return encoder.Encode(w, NewIndexed(PaletteOf(256, img)).Of(img))
}
