package main

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

// shown returns the screen of a terminal of 6 columns and 3 rows after this text.
func shown(t *testing.T, text string) paint.Screen {
	t.Helper()
	emulator := vt.NewEmulator(6, 3)
	must.Get(emulator.WriteString(text))(t)
	terminal := &terminal{look: paint.Dark, emulator: emulator}
	return terminal.screen()
}

// An animation shows, frame by frame, what the screens show, and its later frames hold only the changes.
func TestAnimation(t *testing.T) {
	p := must.Get(paint.New(12, 4))(t)
	frames := []frame{
		{shown(t, "one\r\n─•──"), 500 * time.Millisecond},
		{shown(t, "one\r\n──•─"), 200 * time.Millisecond},
		{shown(t, "one\r\n───•"), time.Second},
	}

	var file bytes.Buffer
	must.Do(t, gif.EncodeAll(&file, animation(p, frames, paint.Dark)))
	back := must.Get(gif.DecodeAll(&file))(t)
	must.Equal(t, fmt.Sprint(back.Delay), "[50 20 100]")
	assert.Equal(t, back.Image[1].Rect, p.Pixels(image.Rect(1, 1, 3, 2)), "not only the two cells that changed")

	canvas := image.NewRGBA(back.Image[0].Rect)
	for i, part := range back.Image {
		draw.Draw(canvas, part.Rect, part, part.Rect.Min, draw.Over)
		want := p.Draw(frames[i].screen, paint.Dark.Paper).Pix
		assert.That(t, bytes.Equal(canvas.Pix, want), "frame %d does not show what the screen shows", i)
	}
}
