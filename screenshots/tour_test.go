package main

import (
	"bytes"
	"image"
	"image/color"
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

	moving := animation(p, frames, paint.Dark)
	var file bytes.Buffer
	err := gif.EncodeAll(&file, moving)
	must.Do(t, err)
	back := must.Get(gif.DecodeAll(&file))(t)
	got := back.Delay
	must.Equal(t, len(got), 3, "the delays are %v", got)
	assert.Equal(t, got[0], 50)
	assert.Equal(t, got[1], 20)
	assert.Equal(t, got[2], 100)

	if got, want := back.Image[1].Rect, p.Pixels(image.Rect(1, 1, 3, 2)); got != want {
		t.Errorf("the second frame is %v, want the two cells that changed: %v", got, want)
	}

	canvas := image.NewRGBA(back.Image[0].Rect)
	for i, part := range back.Image {
		for y := part.Rect.Min.Y; y < part.Rect.Max.Y; y++ {
			for x := part.Rect.Min.X; x < part.Rect.Max.X; x++ {
				if c := color.RGBAModel.Convert(part.At(x, y)).(color.RGBA); c.A > 0 {
					canvas.SetRGBA(x, y, c)
				}
			}
		}

		want := p.Draw(frames[i].screen, paint.Dark.Paper)
		assert.That(t, bytes.Equal(canvas.Pix, want.Pix), "frame %d does not show what the screen shows", i)
	}
}
