package main

import (
	"context"
	"fmt"
	"image"
	"image/draw"
	"os"
	"path/filepath"
	"time"

	"dlxtop/demo"
)

// sheetCell is the width of a character on a contact sheet, in pixels.
const sheetCell = 6

// stopPatience is how long a stop may take to show its text.
const stopPatience = 15 * time.Second

// themes are those of the program, with the terminal that each is for.
var themes = []struct {
	name string
	look look
}{{"dark", darkLook}, {"light", lightLook}, {"ansi", darkLook}, {"mono", darkLook}}

// sizes are the terminals of a contact sheet, one column each.
var sizes = []struct{ width, height int }{{120, 36}, {80, 24}, {200, 50}}

// stop is a screen or a dialog on the way through the program: keys lead there from the stop before, and it is there
// when a text is on the screen.
type stop struct {
	name  string
	keys  string
	until string
}

// stops are the screens and dialogs. What is dropped on the way is brought back.
var stops = []stop{
	{"flows", "", "ucenter@user"},
	{"help", "?", "close"},
	{"palette", escape + ":", "what waits"},
	{"columns", "columns" + enter, "show all"},
	{"flow", escape + "/ucenter@user" + enter + enter, "MOVED  "},
	{"chart", "c", "LAST 5 MINUTES"},
	{"tap", "t", "enter tap"},
	{"messages", escape + escape + escape + "f", "Error"},
	{"message", enter, "message 1 of"},
	{"replay", escape + "r", "reaches"},
	{"drop", escape + "d", "rop"},
	{"move", escape + "m", "ove"},
	{"filter", escape + "/", "keep"},
	{"probe", escape + ":probe worker-queue-5s" + enter, "enters"},
	{"queues", escape + "2", "worker-queue"},
	{"failed", "3", "ucenter@enterprise"},
	{"findings", "4", "evidence"},
	{"dropping", "1d", "enter drop"},
	{"account", enter, "What happened"},
	{"journal", enter + "5", "drop"},
	{"record", enter, "dropped"},
	{"undo", "u", "bring back"},
	{"undone", enter, "What happened"},
}

// makeSheets makes a contact sheet for each theme, and the single pictures beside it: one start of the program for each
// theme and size.
func makeSheets(ctx context.Context, node *demo.Node, fonts []cuts, folder string) error {
	glyphs, err := newGlyphs(fonts, sheetCell)
	if err != nil {
		return err
	}
	painter := painter{glyphs, sheetCell}
	for _, theme := range themes {
		single := filepath.Join(folder, theme.name)
		if err := os.MkdirAll(single, 0o755); err != nil {
			return err
		}
		var columns [][]*image.RGBA
		for _, size := range sizes {
			screens, err := visit(ctx, node, theme.look, size.width, size.height, theme.name)
			if err != nil {
				return fmt.Errorf("theme %s, %dx%d: %w", theme.name, size.width, size.height, err)
			}
			var column []*image.RGBA
			for i, screen := range screens {
				picture, err := painter.draw(screen, theme.look.paper)
				if err != nil {
					return err
				}
				column = append(column, picture)
				name := fmt.Sprintf("%s-%dx%d.png", stops[i].name, size.width, size.height)
				if err := writePNG(picture, filepath.Join(single, name)); err != nil {
					return err
				}
			}
			columns = append(columns, column)
		}
		path := filepath.Join(folder, theme.name+".png")
		if err := writePNG(sheet(columns), path); err != nil {
			return err
		}
		report(path)
	}
	return nil
}

// visit goes through all stops in one run of the program and returns the screen at each. A stop whose text does not
// come has its picture all the same: that is what a person has to see.
func visit(
	ctx context.Context, node *demo.Node, l look, width, height int, theme string,
) (screens []screen, err error) {
	t, err := openDashboard(ctx, node, l, width, height, "--theme", theme)
	if err != nil {
		return nil, err
	}
	defer t.close()
	for i, stop := range stops {
		for _, key := range split(stop.keys) {
			t.press(key)
			if key == escape { // read together with the next key, it would be another one
				pause(ctx, 400*time.Millisecond)
			}
		}
		soon, cancel := context.WithTimeout(ctx, stopPatience)
		err := t.await(soon, stop.until)
		cancel()
		if err != nil {
			if i == 0 || ctx.Err() != nil {
				return nil, err
			}
			fmt.Fprintf(os.Stderr, "theme %s, %dx%d, %s: %q is not on it:\n%s\n", theme, width, height, stop.name,
				stop.until, t.text())
		}
		pause(ctx, 700*time.Millisecond)
		screens = append(screens, t.screen())
	}
	return screens, ctx.Err()
}

// sheet puts pictures side by side, one column for each size, and rows as high as their highest picture.
func sheet(columns [][]*image.RGBA) *image.RGBA {
	const gap = 12
	height, width := gap, gap
	tops, lefts := make([]int, len(columns[0])), make([]int, len(columns))
	for row := range tops {
		tops[row] = height
		highest := 0
		for _, column := range columns {
			highest = max(highest, column[row].Rect.Dy())
		}
		height += highest + gap
	}
	for i, column := range columns {
		lefts[i] = width
		width += column[0].Rect.Dx() + gap
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	fill(out, out.Rect, rgb(0x7f7f7f))
	for i, column := range columns {
		for row, picture := range column {
			draw.Draw(out, picture.Rect.Add(image.Pt(lefts[i], tops[row])), picture, image.Point{}, draw.Src)
		}
	}
	return out
}
