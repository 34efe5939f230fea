package paint

import (
	"image"
	"math"

	"github.com/go-fonts/dejavu/dejavusansmono"
	"github.com/go-fonts/dejavu/dejavusansmonobold"
	"github.com/go-fonts/dejavu/dejavusansmonoboldoblique"
	"github.com/go-fonts/dejavu/dejavusansmonooblique"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// shades is the number of steps from a character's background to its foreground. Few steps make small files: with 16,
// the colours of a screen fit into a palette.
const shades = 16

// mask is how much a character covers each pixel of its cell, 0 to shades-1, row by row.
type mask []uint8

// style is one of the four cuts of the font.
type style struct{ bold, italic bool }

// cuts are DejaVu Sans Mono. A character that it lacks is its box.
var cuts = map[style][]byte{
	{}: dejavusansmono.TTF, {bold: true}: dejavusansmonobold.TTF,
	{italic: true}: dejavusansmonooblique.TTF, {true, true}: dejavusansmonoboldoblique.TTF,
}

// advance is the width of every character of the font, as a part of its size.
const advance = 1233.0 / 2048

// glyphs draws single characters in cells of the same size.
type glyphs struct {
	width, height int // of a cell, in pixels
	baseline      int // from the cell's top
	faces         map[style]font.Face
	masks         map[glyph]mask
}

type glyph struct {
	text  string
	width int // in cells
	style style
}

// newGlyphs makes glyphs for cells of this width in pixels.
func newGlyphs(width int) (*glyphs, error) {
	g := &glyphs{width: width, faces: map[style]font.Face{}, masks: map[glyph]mask{}}
	for cut, data := range cuts {
		parsed, err := opentype.Parse(data)
		if err != nil {
			return nil, err
		}
		options := &opentype.FaceOptions{Size: float64(width) / advance, DPI: 72, Hinting: font.HintingNone}
		if g.faces[cut], err = opentype.NewFace(parsed, options); err != nil {
			return nil, err
		}
	}

	metrics := g.faces[style{}].Metrics()
	g.baseline = int(math.Round(pixels(metrics.Ascent)))
	g.height = g.baseline + int(math.Round(pixels(metrics.Descent)))

	return g, nil
}

func pixels(length fixed.Int26_6) float64 { return float64(length) / 64 }

// of returns the mask of a cell's character, width cells wide.
func (g *glyphs) of(c Cell) mask {
	of := glyph{c.Text, max(1, c.Width), style{c.Bold, c.Italic}}
	made, ok := g.masks[of]
	if ok {
		return made
	}

	if made, ok = g.drawn(of); !ok {
		made = g.written(of)
	}
	g.masks[of] = made

	return made
}

// written draws a character with the font, in the middle of its cells.
func (g *glyphs) written(of glyph) mask {
	target := image.NewAlpha(image.Rect(0, 0, g.width*of.width, g.height))
	drawer := font.Drawer{Dst: target, Src: image.Opaque, Face: g.faces[of.style]}
	for _, r := range of.text { // a combining mark is drawn over its base character
		drawer.Dot = fixed.P(g.width*(of.width-1)/2, g.baseline)
		drawer.DrawString(string(r))
	}

	made := make(mask, len(target.Pix))
	for i, alpha := range target.Pix {
		made[i] = uint8((int(alpha)*(shades-1) + 127) / 255)
	}

	return made
}
