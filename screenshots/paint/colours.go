package paint

import (
	"cmp"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"slices"
)

// PaletteOf is the most frequent colours of pictures, at most as many as asked for. It is the same for the same
// pictures.
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

// NewIndexed begins with no colour looked up.
func NewIndexed(palette color.Palette) Indexed { return Indexed{palette, map[color.RGBA]uint8{}} }

// Of is a picture in the palette's colours.
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
