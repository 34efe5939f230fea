package paint

import "math"

// Lines, blocks and arrowheads are drawn here and not with a font: a font's glyphs are not as high as a cell, and would
// leave gaps between the cells that they join.

// arms are the thicknesses of the lines from a cell's middle to its sides: 0 is none, 1 is light, 2 is heavy.
type arms struct{ left, right, up, down int }

var lines = map[string]arms{
	"─": {left: 1, right: 1}, "│": {up: 1, down: 1}, "━": {left: 2, right: 2}, "┃": {up: 2, down: 2},
	"┌": {right: 1, down: 1}, "┐": {left: 1, down: 1}, "└": {right: 1, up: 1}, "┘": {left: 1, up: 1},
	"├": {right: 1, up: 1, down: 1}, "┤": {left: 1, up: 1, down: 1},
	"┬": {left: 1, right: 1, down: 1}, "┴": {left: 1, right: 1, up: 1}, "┼": {1, 1, 1, 1},
	"╴": {left: 1}, "╵": {up: 1}, "╶": {right: 1}, "╷": {down: 1},
}

// corners are the round corners, with the sides that their lines reach.
var corners = map[string]arms{
	"╭": {right: 1, down: 1}, "╮": {left: 1, down: 1}, "╰": {right: 1, up: 1}, "╯": {left: 1, up: 1},
}

// blocks are the filled parts of a cell, in eighths: from left, top to right, bottom.
var blocks = map[string][4]int{
	"▁": {0, 7, 8, 8}, "▂": {0, 6, 8, 8}, "▃": {0, 5, 8, 8}, "▄": {0, 4, 8, 8},
	"▅": {0, 3, 8, 8}, "▆": {0, 2, 8, 8}, "▇": {0, 1, 8, 8}, "█": {0, 0, 8, 8},
	"▉": {0, 0, 7, 8}, "▊": {0, 0, 6, 8}, "▋": {0, 0, 5, 8}, "▌": {0, 0, 4, 8},
	"▍": {0, 0, 3, 8}, "▎": {0, 0, 2, 8}, "▏": {0, 0, 1, 8}, "▐": {4, 0, 8, 8}, "▀": {0, 0, 8, 4},
}

// shading is the share of a cell that is covered evenly.
var shading = map[string]float64{"░": 0.25, "▒": 0.5, "▓": 0.75}

// heads are the arrowheads, by the side that they point to.
var heads = map[string]arms{"▶": {right: 1}, "◀": {left: 1}, "▼": {down: 1}, "▲": {up: 1}}

// drawn draws the characters that join; ok is false for all others.
func (g *glyphs) drawn(of glyph) (made mask, ok bool) {
	if line, ok := lines[of.text]; ok {
		return g.fill(func(x, y float64) float64 { return g.line(line, x, y) }), true
	}
	if corner, ok := corners[of.text]; ok {
		return g.fill(func(x, y float64) float64 { return g.corner(corner, x, y) }), true
	}
	if block, ok := blocks[of.text]; ok {
		edge := func(eighths, size int) float64 { return math.Round(float64(eighths*size) / 8) }
		return g.fill(func(x, y float64) float64 {
			return inside(x > edge(block[0], g.width) && x < edge(block[2], g.width) &&
				y > edge(block[1], g.height) && y < edge(block[3], g.height))
		}), true
	}
	if shade, ok := shading[of.text]; ok {
		return g.fill(func(float64, float64) float64 { return shade }), true
	}
	if head, ok := heads[of.text]; ok {
		return g.fill(func(x, y float64) float64 { return g.head(head, x, y) }), true
	}
	return nil, false
}

// signs are characters that some fonts lack, as strokes: from x, y to x, y, as fractions of a square that is as wide as
// a cell.
var signs = map[string][][4]float64{
	"✓": {{0.05, 0.55, 0.35, 0.9}, {0.35, 0.9, 0.95, 0.15}},
	"✗": {{0.1, 0.1, 0.9, 0.9}, {0.1, 0.9, 0.9, 0.1}},
	"◇": {{0.5, 0.05, 0.95, 0.5}, {0.95, 0.5, 0.5, 0.95}, {0.5, 0.95, 0.05, 0.5}, {0.05, 0.5, 0.5, 0.05}},
	"▸": {
		{0.3, 0.2, 0.75, 0.5}, {0.75, 0.5, 0.3, 0.8}, {0.3, 0.8, 0.3, 0.2}, {0.3, 0.5, 0.6, 0.5}, {0.35, 0.4, 0.35, 0.6},
	},
}

// standIn draws a character that no font has: a sign by its strokes, and anything else as a box, as terminals do.
func (g *glyphs) standIn(of glyph) mask {
	strokes, ok := signs[of.text]
	if !ok {
		return g.box(g.width * of.width)
	}
	side := float64(g.width) - 2
	top := float64(g.baseline) - side - 1
	thick := float64(g.thin())
	if of.style.bold {
		thick *= 1.5
	}
	return g.fill(func(x, y float64) float64 {
		nearest := math.Inf(1)
		for _, s := range strokes {
			nearest = min(nearest, toStroke(x, y, 1+s[0]*side, top+s[1]*side, 1+s[2]*side, top+s[3]*side))
		}
		return thick/2 + 0.5 - nearest
	})
}

func toStroke(x, y, fromX, fromY, toX, toY float64) float64 {
	dx, dy := toX-fromX, toY-fromY
	along := max(0, min(1, ((x-fromX)*dx+(y-fromY)*dy)/(dx*dx+dy*dy)))
	return math.Hypot(x-fromX-along*dx, y-fromY-along*dy)
}

func (g *glyphs) box(width int) mask {
	made := make(mask, width*g.height)
	for y := g.height / 5; y <= g.baseline; y++ {
		for x := 1; x < width-1; x++ {
			if y == g.height/5 || y == g.baseline || x == 1 || x == width-2 {
				made[y*width+x] = shades / 2
			}
		}
	}
	return made
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

// thin is the thickness of a light line, in pixels.
func (g *glyphs) thin() int { return max(1, int(math.Round(float64(g.width)/9))) }

// middle returns the point where lines cross. It is on whole pixels, so that lines are sharp.
func (g *glyphs) middle() (x, y float64) {
	half := float64(g.thin()) / 2
	return float64((g.width-g.thin())/2) + half, float64((g.height-g.thin())/2) + half
}

func (g *glyphs) line(a arms, x, y float64) float64 {
	middleX, middleY := g.middle()
	half := float64(g.thin()) / 2
	on := func(thickness int, along, across float64) bool { // on a line to the side where along is negative
		reach := half * float64(thickness)
		return thickness > 0 && along < half && math.Abs(across) <= reach
	}
	return inside(on(a.left, x-middleX, y-middleY) || on(a.right, middleX-x, y-middleY) ||
		on(a.up, y-middleY, x-middleX) || on(a.down, middleY-y, x-middleX))
}

// corner draws a quarter of a circle half a cell wide, and a straight line on to the top or the bottom.
func (g *glyphs) corner(a arms, x, y float64) float64 {
	middleX, middleY := g.middle()
	if a.left > 0 { // mirror it to the right
		x, middleX = float64(g.width)-x, float64(g.width)-middleX
	}
	if a.up > 0 { // mirror it down
		y, middleY = float64(g.height)-y, float64(g.height)-middleY
	}
	radius, half := float64(g.width)-middleX, float64(g.thin())/2
	if y >= middleY+radius {
		return inside(math.Abs(x-middleX) <= half)
	}
	fromCentre := math.Hypot(float64(g.width)-x, middleY+radius-y)
	return half + 0.5 - math.Abs(fromCentre-radius)
}

// head draws a triangle, with the rest of the line that leads to it.
func (g *glyphs) head(a arms, x, y float64) float64 {
	middleX, middleY := g.middle()
	along, across, length := x, y-middleY, float64(g.width)
	switch {
	case a.left > 0:
		along = length - x
	case a.down > 0, a.up > 0:
		length = float64(g.width) * 0.9
		along, across = y-(middleY-length/2), x-middleX
		if a.up > 0 {
			along = length - along
		}
	}
	if along < 0 {
		return inside(math.Abs(across) <= float64(g.thin())/2)
	}
	const slope = 0.5 // half as high as it is long, to each side
	return (length-along)*slope - math.Abs(across) + 0.5
}
