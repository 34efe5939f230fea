package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"os"
	"time"

	"dlxtop/demo"
)

// The tour's size, in characters, and of one character in pixels.
const tourWidth, tourHeight, tourCell = 120, 36, 8

// act is a step of the tour: it waits until a text is on the screen, stays for a while, and then presses keys, which
// the line below the screen shows with what they are for.
type act struct {
	until string
	stay  time.Duration
	keys  string
	says  string
}

// acts are the main job: from the flows to what failed and why, a replay of all that failed for one cause, a drop, and
// its undo.
var acts = []act{
	{until: "ucenter@user", stay: 3500 * time.Millisecond, keys: "/ucenter@user" + enter, says: "/  find a flow"},
	{until: "ucenter@user", stay: 1200 * time.Millisecond, keys: enter, says: "enter  one flow: dots move as messages do"},
	{until: "MOVED  ", stay: 6 * time.Second, keys: "3", says: "3  what failed, and why: each cause once"},
	{until: "CAUSE", stay: 3500 * time.Millisecond, keys: "/timeout" + enter, says: "/  find a cause"},
	{until: "TimeoutError", stay: time.Second, keys: enter, says: "enter  its messages, without consuming them"},
	{until: "Story", stay: 2500 * time.Millisecond, keys: "j", says: "j  the story of each: what failed, how often, when"},
	{until: "Story", stay: 2 * time.Second, keys: "R", says: "R  replay all of the cause: who will receive them"},
	{until: "reaches", stay: 3500 * time.Millisecond, keys: enter, says: "enter  on disk first, then moved"},
	{until: "What happened", stay: 2500 * time.Millisecond, keys: enter, says: "enter  none is left"},
	{
		until: "marks it as resolved", stay: 1500 * time.Millisecond, keys: "o",
		says: "o  resolved: if it fails again, it is shown as back",
	},
	{until: "marked as resolved", stay: 2 * time.Second, keys: escape, says: "esc  the other causes"},
	{until: "nothing matches", stay: 500 * time.Millisecond, keys: escape, says: "esc  the other causes"},
	{until: "CAUSE", stay: 2 * time.Second, keys: "/integrity" + enter, says: "/  another cause"},
	{until: "/ integrity", stay: time.Second, keys: "d", says: "d  drop all of it"},
	{until: "enter drop", stay: 2 * time.Second, keys: enter, says: "enter  the journal keeps them"},
	{until: "What happened", stay: 2 * time.Second, keys: enter + "u", says: "u  undo"},
	{until: "bring back", stay: 2500 * time.Millisecond, keys: enter, says: "enter  bring them back, byte for byte"},
	{until: "brought back to", stay: 2500 * time.Millisecond, keys: enter, says: "enter  done"},
	{until: "Error", stay: 1500 * time.Millisecond, keys: "\x12", says: "ctrl-r  read again: they are back"},
	{until: "Error", stay: 3 * time.Second},
}

// frame is a picture of the tour, and how long it stands.
type frame struct {
	screen screen
	stands time.Duration
}

// makeTour plays the tour and writes it as a GIF.
func makeTour(ctx context.Context, node *demo.Node, fonts []cuts, path string) error {
	glyphs, err := newGlyphs(fonts, tourCell)
	if err != nil {
		return err
	}
	leave, err := ownHome()
	if err != nil {
		return err
	}
	defer leave()
	frames, err := playTour(ctx, node)
	if err != nil {
		return fmt.Errorf("picture tour: %w", err)
	}
	moving, err := animation(painter{glyphs, 8}, frames, darkLook)
	if err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := gif.EncodeAll(file, moving); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	made(path)
	return nil
}

// playTour runs the program through the acts and records its screen whenever it has changed, up to eight times a
// second.
func playTour(ctx context.Context, node *demo.Node) ([]frame, error) {
	t, err := openDashboard(ctx, node, darkLook, tourWidth, tourHeight)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if err := t.await(ctx, acts[0].until); err != nil {
		return nil, err
	}
	var frames []frame
	says := "dlxtop: the delayed, retry and failed queues of RabbitMQ"
	begun := time.Now()
	record := func() {
		now := t.screen().with(says, darkLook)
		if len(frames) > 0 {
			frames[len(frames)-1].stands += time.Since(begun)
		}
		begun = time.Now()
		if len(frames) == 0 || !now.same(frames[len(frames)-1].screen) {
			frames = append(frames, frame{screen: now})
		}
	}
	for _, act := range acts {
		there := make(chan error, 1) // room for the one result
		go func() { there <- t.await(ctx, act.until) }()
		waiting := true
		var over time.Time
		for waiting || time.Now().Before(over) {
			select {
			case err := <-there:
				if err != nil {
					return nil, fmt.Errorf("%q: %w", act.says, err)
				}
				waiting, over = false, time.Now().Add(act.stay)
			case <-time.After(125 * time.Millisecond):
				record()
			}
		}
		if act.says != "" {
			says = act.says
		}
		for _, key := range split(act.keys) {
			t.press(key)
			pause(ctx, 60*time.Millisecond) // as a person types
			record()
		}
	}
	record()
	return frames, ctx.Err()
}

// with is the screen with a line below it.
func (s screen) with(line string, l look) screen {
	added := screen{width: s.width, height: s.height + 1, cells: append([]cell(nil), s.cells...)}
	text := []rune(" " + line)
	for x := range s.width {
		below := cell{width: 1, ink: l.paper, paper: l.basic[6], bold: true}
		if x < len(text) && text[x] != ' ' {
			below.text = string(text[x])
		}
		added.cells = append(added.cells, below)
	}
	return added
}

func (s screen) same(other screen) bool {
	for i := range s.cells {
		if s.cells[i] != other.cells[i] {
			return false
		}
	}
	return len(s.cells) == len(other.cells)
}

// changes is the smallest area of cells in which two screens differ.
func (s screen) changes(before screen) image.Rectangle {
	var area image.Rectangle
	for i := range s.cells {
		if s.cells[i] != before.cells[i] {
			x, y := i%s.width, i/s.width
			area = area.Union(image.Rect(x, y, x+max(1, s.cells[i].width), y+1))
		}
	}
	return area
}

// animation is the frames as a GIF. A frame after the first holds only the part in which something changed, and in it
// only the pixels that did: all others are transparent.
func animation(p painter, frames []frame, l look) (*gif.GIF, error) {
	bounds := p.bounds(frames[0].screen.width, frames[0].screen.height)
	moving := &gif.GIF{Config: image.Config{Width: bounds.Dx(), Height: bounds.Dy()}}
	var pictures []*image.RGBA
	for _, f := range frames {
		picture, err := p.draw(f.screen, l.paper)
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, picture)
	}
	palette := append(color.Palette{color.Transparent}, paletteOf(255, pictures...)...)
	moving.Config.ColorModel = palette
	colours := indexed{palette, map[color.RGBA]uint8{}}
	for i, picture := range pictures {
		drawn := colours.of(picture)
		if i > 0 {
			area := frames[i].screen.changes(frames[i-1].screen)
			drawn = drawn.SubImage(p.pixels(area)).(*image.Paletted)
			drawn = onlyChanges(drawn, pictures[i], pictures[i-1])
		}
		moving.Image = append(moving.Image, drawn)
		moving.Delay = append(moving.Delay, int(frames[i].stands/(10*time.Millisecond)))
		moving.Disposal = append(moving.Disposal, gif.DisposalNone)
	}
	return moving, nil
}

// pixels is where an area of cells is drawn.
func (p painter) pixels(cells image.Rectangle) image.Rectangle {
	g := p.glyphs
	return image.Rect(cells.Min.X*g.width, cells.Min.Y*g.height, cells.Max.X*g.width, cells.Max.Y*g.height).
		Add(image.Pt(p.padding, p.padding))
}

// onlyChanges is a part of a picture with what was there before made transparent.
func onlyChanges(part *image.Paletted, now, before *image.RGBA) *image.Paletted {
	out := image.NewPaletted(part.Rect, part.Palette)
	for y := part.Rect.Min.Y; y < part.Rect.Max.Y; y++ {
		for x := part.Rect.Min.X; x < part.Rect.Max.X; x++ {
			if now.RGBAAt(x, y) != before.RGBAAt(x, y) {
				out.SetColorIndex(x, y, part.ColorIndexAt(x, y))
			}
		}
	}
	return out
}
