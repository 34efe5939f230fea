package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"os"
	"path/filepath"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

// sheetCell is the width of a character on a contact sheet, in pixels.
const sheetCell = 6

const stopPatience = 15 * time.Second

// theme is one of the program's themes, with the terminal that it is made for.
type theme struct {
	name string
	look paint.Look
}

var themes = []theme{{"dark", paint.Dark}, {"light", paint.Light}, {"ansi", paint.Dark}, {"mono", paint.Dark}}

type size struct{ width, height int }

var (
	large = size{120, 36}
	sizes = []size{large, {80, 24}, {200, 50}}
)

// UnmarshalText reads what String writes: "80x24".
func (s *size) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%dx%d", &s.width, &s.height)
	return err
}

// makeSheets makes a contact sheet for each theme, and the single pictures beside it. When parts are selected it makes
// only the single pictures.
func makeSheets(ctx context.Context, node *demo.Node, parts []string, folder string) error {
	painter, err := paint.New(sheetCell, sheetCell)
	if err != nil {
		return err
	}
	for _, theme := range chosen(themes, parts) {
		single := filepath.Join(folder, theme.name)
		if err := os.MkdirAll(single, 0o755); err != nil {
			return err
		}

		var columns [][]*image.RGBA
		for _, size := range chosen(sizes, parts) {
			var column []*image.RGBA
			for _, way := range chosen(script.Ways, parts) {
				shots, err := way.walk(ctx, node, theme, size)
				if err != nil {
					return fmt.Errorf("theme %s, %s, %s: %w", theme, size, way, err)
				}
				for _, shot := range shots {
					path := filepath.Join(single, shot.name+"-"+size.String()+".png")
					picture, err := writePicture(painter, shot.screen, theme.look, path)
					if err != nil {
						return err
					}
					column = append(column, picture)
				}
			}

			columns = append(columns, column)
		}

		if len(parts) > 0 {
			continue
		}
		path := filepath.Join(folder, theme.name+".png")
		if err := writePNG(sheet(columns), path); err != nil {
			return err
		}
		made(path)
	}

	return nil
}

// sheet puts pictures side by side, one column for each size; each row is as high as its highest picture.
func sheet(columns [][]*image.RGBA) *image.RGBA {
	const gap = 12
	height, width := gap, gap
	tops := make([]int, len(columns[0]))
	lefts := make([]int, len(columns))

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
	draw.Draw(out, out.Rect, image.NewUniform(color.Gray{0x7f}), image.Point{}, draw.Src)
	for i, column := range columns {
		for row, picture := range column {
			draw.Draw(out, picture.Rect.Add(image.Pt(lefts[i], tops[row])), picture, image.Point{}, draw.Src)
		}
	}

	return out
}
