package paint

import (
	"math"
	"slices"
)

// Lines, blocks and arrowheads are drawn here and not with a font: a font's glyphs are not as high as a cell, and would
// leave gaps between the cells that they join.

// arms are the sides of a cell that something reaches from its middle, or points to.
type arms struct{ left, right, up, down bool }

var lines = map[string]arms{
	"─": {left: true, right: true}, "│": {up: true, down: true}, "┼": {true, true, true, true},
	"├": {right: true, up: true, down: true}, "┤": {left: true, up: true, down: true},
	"┬": {left: true, right: true, down: true}, "┴": {left: true, right: true, up: true},
}

// corners are the round corners.
var corners = map[string]arms{
	"╭": {right: true, down: true}, "╮": {left: true, down: true}, "╰": {right: true, up: true},
	"╯": {left: true, up: true},
}

// heads are the arrowheads.
var heads = map[string]arms{"▶": {right: true}, "◀": {left: true}, "▼": {down: true}, "▲": {up: true}}

// bars fill a cell from below, by eighths.
var bars = []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// drawn draws the characters that join; ok is false for all others.
func (g *glyphs) drawn(of glyph) (made mask, ok bool) {
	for _, shapes := range []struct {
		of   map[string]arms
		draw func(a arms, x, y float64) float64
	}{{lines, g.line}, {corners, g.corner}, {heads, g.head}} {
		if shape, ok := shapes.of[of.text]; ok {
			return g.fill(func(x, y float64) float64 { return shapes.draw(shape, x, y) }), true
		}
	}

	if i := slices.Index(bars, of.text); i >= 0 {
		top := math.Round(float64((7-i)*g.height) / 8)
		return g.fill(func(_, y float64) float64 { return inside(y > top) }), true
	}

	if of.text == "░" {
		return g.fill(func(float64, float64) float64 { return 0.25 }), true
	}

	return nil, false
}

// fill makes the mask of one cell. covers returns the covered share of the pixel with its middle at x, y.
func (g *glyphs) fill(covers func(x, y float64) float64) mask {
	made := make(mask, g.width*g.height)
	for y := range g.height {
		for x := range g.width {
			part := max(0, min(1, covers(float64(x)+0.5, float64(y)+0.5)))
			made[y*g.width+x] = uint8(math.Round(part * (shades - 1)))
		}
	}

	return made
}

func inside(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// thin returns the thickness of a light line, in pixels.
func (g *glyphs) thin() int { return max(1, int(math.Round(float64(g.width)/9))) }

// middle returns the point where lines cross. It is on whole pixels, so that lines are sharp.
func (g *glyphs) middle() (x, y float64) {
	half := float64(g.thin()) / 2
	return float64((g.width-g.thin())/2) + half, float64((g.height-g.thin())/2) + half
}

func (g *glyphs) line(a arms, x, y float64) float64 {
	middleX, middleY := g.middle()
	half := float64(g.thin()) / 2
	on := func(arm bool, along, across float64) bool { // on a line to the side where along is negative
		return arm && along < half && math.Abs(across) <= half
	}
	return inside(on(a.left, x-middleX, y-middleY) || on(a.right, middleX-x, y-middleY) ||
		on(a.up, y-middleY, x-middleX) || on(a.down, middleY-y, x-middleX))
}

// corner draws a quarter of a circle half a cell wide, and a straight line on to the top or the bottom.
func (g *glyphs) corner(a arms, x, y float64) float64 {
	middleX, middleY := g.middle()
	if a.left { // mirror it to the right
		x = float64(g.width) - x
		middleX = float64(g.width) - middleX
	}

	if a.up { // mirror it down
		y = float64(g.height) - y
		middleY = float64(g.height) - middleY
	}

	radius := float64(g.width) - middleX
	half := float64(g.thin()) / 2
	if y >= middleY+radius {
		return inside(math.Abs(x-middleX) <= half)
	}
	fromCentre := math.Hypot(float64(g.width)-x, middleY+radius-y)
	return half + 0.5 - math.Abs(fromCentre-radius)
}

// head draws a triangle, with the rest of the line that leads to it.
func (g *glyphs) head(a arms, x, y float64) float64 {
	middleX, middleY := g.middle()
	along := x
	across := y - middleY
	length := float64(g.width)

	switch {
	case a.left:
		along = length - x
	case a.down, a.up:
		length = float64(g.width) * 0.9
		along, across = y-(middleY-length/2), x-middleX
		if a.up {
			along = length - along
		}
	}

	if along < 0 {
		return inside(math.Abs(across) <= float64(g.thin())/2)
	}
	const slope = 0.5 // half as high as it is long, to each side
	return (length-along)*slope - math.Abs(across) + 0.5
}
