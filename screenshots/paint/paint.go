package paint

import (
	"image"
	"image/color"
	"image/draw"
)

// Painter draws screens as pixels.
type Painter struct {
	glyphs  *glyphs
	padding int // around the screen, in pixels
}

// New makes a painter whose cells are this many pixels wide, with a padding of pixels around the screen. It draws with
// JetBrains Mono or DejaVu Sans Mono where they are installed, and with Go Mono, which it brings along. The error is
// that of a font's file.
func New(cell, padding int) (*Painter, error) {
	fonts, err := fonts()
	if err != nil {
		return nil, err
	}
	glyphs, err := newGlyphs(fonts, cell)
	if err != nil {
		return nil, err
	}
	return &Painter{glyphs, padding}, nil
}

// Bounds is the size of a picture of a screen that has this many columns and rows.
func (p *Painter) Bounds(columns, rows int) image.Rectangle {
	return image.Rect(0, 0, columns*p.glyphs.width+2*p.padding, rows*p.glyphs.height+2*p.padding)
}

// Pixels is where an area of cells is drawn.
func (p *Painter) Pixels(cells image.Rectangle) image.Rectangle {
	g := p.glyphs
	return image.Rect(cells.Min.X*g.width, cells.Min.Y*g.height, cells.Max.X*g.width, cells.Max.Y*g.height).
		Add(image.Pt(p.padding, p.padding))
}

// Draw makes a screen's picture on a terminal's background. The error is that of a font.
func (p *Painter) Draw(s Screen, background color.RGBA) (*image.RGBA, error) {
	img := image.NewRGBA(p.Bounds(s.Width, s.Height))
	fill(img, img.Rect, background)
	for y := range s.Height {
		for x := range s.Width {
			if err := p.drawCell(img, s.at(x, y), x, y); err != nil {
				return nil, err
			}
		}
	}
	return img, nil
}

func (p *Painter) drawCell(img *image.RGBA, c Cell, x, y int) error {
	if c.Width == 0 {
		return nil // the second half of a wide one
	}
	g := p.glyphs
	area := p.Pixels(image.Rect(x, y, x+c.Width, y+1))
	fill(img, area, c.Paper)
	if c.Text != "" {
		mask, err := g.of(c)
		if err != nil {
			return err
		}
		for i, shade := range mask {
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
	return nil
}

func fill(img *image.RGBA, area image.Rectangle, c color.RGBA) {
	draw.Draw(img, area, image.NewUniform(c), image.Point{}, draw.Src)
}
