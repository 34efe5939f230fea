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

// act is a step of the tour: it waits until the screen shows a text, stays, and then presses keys, which the line
// below the screen shows with their purpose.
type act struct {
	Until string
	Stay  time.Duration
	Keys  keys
	Says  string
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
	return save(path, func(w io.Writer) error { return gif.EncodeAll(w, moving) })
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

	for _, act := range script.Acts {
		there := make(chan error, 1) // room for the one result
		go func() { there <- t.await(ctx, act.Until) }()
		waiting := true
		var over time.Time
		for waiting || time.Now().Before(over) {
			select {
			case err := <-there:
				if err != nil {
					return nil, fmt.Errorf("%q: %w", act.Says, err)
				}
				waiting, over = false, time.Now().Add(act.Stay)
			case <-time.After(125 * time.Millisecond):
				record()
			}
		}

		if act.Says != "" {
			says = act.Says
		}

		for _, key := range act.Keys {
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
