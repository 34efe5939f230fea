package main

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// picture turns a screen (text with colours) into a PNG file.
func picture(ctx context.Context, screen, file string) error {
	dir, err := os.MkdirTemp("", "dlxtop-picture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, large := filepath.Join(dir, "screen.ansi"), filepath.Join(dir, "screen.png")
	if err := os.WriteFile(source, []byte(screen), 0o600); err != nil {
		return err
	}
	freeze := exec.CommandContext(ctx, "go", "tool", "-modfile=tools/go.mod", "freeze", source,
		"--language", "ansi", "--font.size", "14", "--padding", "16", "--window=false", "--output", large)
	if out, err := freeze.CombinedOutput(); err != nil {
		return fmt.Errorf("freeze: %w: %s", err, out)
	}
	drawn, err := os.Open(large)
	if err != nil {
		return err
	}
	defer drawn.Close()
	img, err := png.Decode(drawn)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(out, fewColours(half(img))); err != nil {
		return err
	}
	return out.Close()
}

// half is the picture at half its size, each pixel the mean of four: freeze draws four times as large as anybody shows
// it.
func half(img image.Image) *image.RGBA {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx()/2, b.Dy()/2))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var sum [3]uint32
			for _, p := range [4]image.Point{{2 * x, 2 * y}, {2*x + 1, 2 * y}, {2 * x, 2*y + 1}, {2*x + 1, 2*y + 1}} {
				r, g, b, _ := img.At(b.Min.X+p.X, b.Min.Y+p.Y).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
			}
			// 32 steps of each colour are as many as an eye sees in text, and make small files
			out.SetRGBA(x, y, color.RGBA{uint8(sum[0]/4) &^ 7, uint8(sum[1]/4) &^ 7, uint8(sum[2]/4) &^ 7, 255})
		}
	}
	return out
}

// fewColours is the picture with its 256 most frequent colours, each other replaced by the nearest of them.
func fewColours(img *image.RGBA) *image.Paletted {
	uses := map[color.RGBA]int{}
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			uses[img.RGBAAt(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(uses), func(a, b color.RGBA) int { return cmp.Compare(uses[b], uses[a]) })
	palette := color.Palette{}
	for _, c := range colours[:min(256, len(colours))] {
		palette = append(palette, c)
	}
	nearest := make(map[color.RGBA]uint8, len(uses))
	for c := range uses {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(img.Rect, palette)
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			out.SetColorIndex(x, y, nearest[img.RGBAAt(x, y)])
		}
	}
	return out
}
