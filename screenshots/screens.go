package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

// screenCell is the width of a character in pixels, in a picture that is not for the documentation.
const screenCell = 6

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

// makeScreens makes a picture of every screen in each theme and size, or in those that the parts name.
func makeScreens(ctx context.Context, node *demo.Node, parts []string, folder string) error {
	painter, err := paint.New(screenCell, screenCell)
	if err != nil {
		return err
	}
	for _, theme := range chosen(themes, parts) {
		themed := filepath.Join(folder, theme.name)
		if err := os.MkdirAll(themed, 0o755); err != nil {
			return err
		}

		for _, size := range chosen(sizes, parts) {
			for _, way := range chosen(script.Ways, parts) {
				shots, err := way.walk(ctx, node, theme, size)
				if err != nil {
					return fmt.Errorf("theme %s, %s, %s: %w", theme, size, way, err)
				}
				for _, shot := range shots {
					path := filepath.Join(themed, shot.name+"-"+size.String()+".png")
					if err := writePicture(painter, shot.screen, theme.look, path); err != nil {
						return err
					}
				}
			}
		}
	}

	return nil
}
