package main

import (
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"slices"
)

// painter draws screens.
type painter struct {
	glyphs  *glyphs
	padding int // around the screen, in pixels
}

// bounds is the size of a screen's picture.
func (p painter) bounds(width, height int) image.Rectangle {
	return image.Rect(0, 0, width*p.glyphs.width+2*p.padding, height*p.glyphs.height+2*p.padding)
}

// draw makes a screen's picture on a terminal's background.
func (p painter) draw(s screen, background color.RGBA) (*image.RGBA, error) {
	img := image.NewRGBA(p.bounds(s.width, s.height))
	fill(img, img.Rect, background)
	for y := range s.height {
		for x := range s.width {
			if err := p.drawCell(img, s.at(x, y), x, y); err != nil {
				return nil, err
			}
		}
	}
	return img, nil
}

func (p painter) drawCell(img *image.RGBA, c cell, x, y int) error {
	if c.width == 0 {
		return nil // the second half of a wide one
	}
	g := p.glyphs
	width := g.width * c.width
	left, top := p.padding+x*g.width, p.padding+y*g.height
	area := image.Rect(left, top, left+width, top+g.height)
	fill(img, area, c.paper)
	if c.text != "" {
		mask, err := g.of(c)
		if err != nil {
			return err
		}
		for i, shade := range mask {
			if shade > 0 {
				img.SetRGBA(left+i%width, top+i/width, mix(c.ink, c.paper, float64(shade)/(shades-1)))
			}
		}
	}
	rule := func(y int) { fill(img, image.Rect(left, y, left+width, y+g.thin()).Intersect(area), c.ink) }
	if c.underline {
		rule(top + g.baseline + g.thin() + 1)
	}
	if c.struck {
		rule(top + g.baseline*2/3)
	}
	return nil
}

func fill(img *image.RGBA, area image.Rectangle, c color.RGBA) {
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			img.SetRGBA(x, y, c)
		}
	}
}

// paletteOf is the most frequent colours of pictures, at most as many as asked for. It is the same for the same
// pictures.
func paletteOf(most int, pictures ...*image.RGBA) color.Palette {
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

// indexed is a picture in the colours of a palette, each pixel in the nearest.
type indexed struct {
	palette color.Palette
	nearest map[color.RGBA]uint8
}

func (n indexed) of(img *image.RGBA) *image.Paletted {
	out := image.NewPaletted(img.Rect, n.palette)
	for i := range out.Pix {
		out.Pix[i] = n.index(color.RGBA{img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], 255})
	}
	return out
}

func (n indexed) index(c color.RGBA) uint8 {
	index, ok := n.nearest[c]
	if !ok {
		index = uint8(n.palette.Index(c))
		n.nearest[c] = index
	}
	return index
}

// writePNG writes a picture as a small file.
func writePNG(img *image.RGBA, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	small := indexed{paletteOf(256, img), map[color.RGBA]uint8{}}
	if err := encoder.Encode(file, small.of(img)); err != nil {
		return err
	}
	return file.Close()
}
