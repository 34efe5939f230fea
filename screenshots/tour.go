package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"io"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

const tourCell = 8 // the width of a character in pixels

// act is a step of the tour: it waits until the screen shows a text, pauses, and then presses keys, which the line
// below the screen shows with their purpose.
type act struct {
	until string
	stay  time.Duration
	keys  string
	says  string
}

// acts show the main job: from the flows to what failed and why, a replay of all messages that failed for one cause, a
// drop, and its undo.
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

type frame struct {
	screen paint.Screen
	stands time.Duration
}

func makeTour(ctx context.Context, node *demo.Node, path string) error {
	painter, err := paint.New(tourCell, 8)
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
	moving := animation(painter, frames, paint.Dark)
	err = save(path, func(w io.Writer) error { return gif.EncodeAll(w, moving) })
	made(path)
	return err
}

// playTour runs the program through the acts and records its screen whenever it has changed, up to eight times a
// second.
func playTour(ctx context.Context, node *demo.Node) ([]frame, error) {
	t, err := openDashboard(ctx, node, paint.Dark, large)
	if err != nil {
		return nil, err
	}
	defer t.close()
	var frames []frame
	says := "dlxtop: the delayed, retry and failed queues of RabbitMQ"
	begun := time.Now()
	record := func() {
		now := withLine(t.screen(), says, paint.Dark)
		if len(frames) > 0 {
			frames[len(frames)-1].stands += time.Since(begun)
		}
		begun = time.Now()
		if len(frames) == 0 || !slices.Equal(now.Cells, frames[len(frames)-1].screen.Cells) {
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
			pause(ctx, 60*time.Millisecond) // typing speed
			record()
		}
	}

	record()
	return frames, ctx.Err()
}

func withLine(s paint.Screen, line string, l paint.Look) paint.Screen {
	added := paint.Screen{Width: s.Width, Height: s.Height + 1, Cells: slices.Clone(s.Cells)}
	text := []rune(" " + line)
	for x := range s.Width {
		below := paint.Cell{Width: 1, Ink: l.Paper, Paper: l.Basic[6], Bold: true}
		if x < len(text) && text[x] != ' ' {
			below.Text = string(text[x])
		}
		added.Cells = append(added.Cells, below)
	}

	return added
}

// changes returns the smallest area of cells in which two screens differ.
func changes(s, before paint.Screen) image.Rectangle {
	var area image.Rectangle
	for i := range s.Cells {
		if s.Cells[i] != before.Cells[i] {
			x, y := i%s.Width, i/s.Width
			area = area.Union(image.Rect(x, y, x+max(1, s.Cells[i].Width), y+1))
		}
	}

	return area
}

// animation makes a GIF of the frames. A frame after the first holds only the area that changed, and in it only the
// changed pixels: all others are transparent.
func animation(p *paint.Painter, frames []frame, l paint.Look) *gif.GIF {
	bounds := p.Bounds(frames[0].screen.Width, frames[0].screen.Height)
	moving := &gif.GIF{Config: image.Config{Width: bounds.Dx(), Height: bounds.Dy()}}
	var pictures []*image.RGBA
	for _, f := range frames {
		pictures = append(pictures, p.Draw(f.screen, l.Paper))
	}

	palette := append(color.Palette{color.Transparent}, paint.PaletteOf(255, pictures...)...)
	moving.Config.ColorModel = palette
	colours := paint.NewIndexed(palette)
	for i, picture := range pictures {
		drawn := colours.Of(picture)
		if i > 0 {
			area := changes(frames[i].screen, frames[i-1].screen)
			drawn = drawn.SubImage(p.Pixels(area)).(*image.Paletted)
			drawn = onlyChanges(drawn, pictures[i], pictures[i-1])
		}

		moving.Image = append(moving.Image, drawn)
		moving.Delay = append(moving.Delay, int(frames[i].stands/(10*time.Millisecond)))
		moving.Disposal = append(moving.Disposal, gif.DisposalNone)
	}

	return moving
}

// onlyChanges returns a part of a picture, transparent where nothing changed.
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
