package paint

import (
	"fmt"
	"image"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// shades is the number of steps from a character's background to its foreground. Few steps make small files: with 16,
// the colours of a screen fit into a palette.
const shades = 16

// mask is how much a character covers each pixel of its cell, 0 to shades-1, row by row.
type mask []uint8

// glyphs draws single characters in cells of the same size.
type glyphs struct {
	width, height int // of a cell, in pixels
	baseline      int // from the cell's top
	size          float64
	fonts         []cuts
	faces         map[*sfnt.Font]font.Face
	masks         map[glyph]mask
	buffer        sfnt.Buffer
}

type glyph struct {
	text  string
	width int // in cells
	style style
}

// newGlyphs makes glyphs for cells of this width in pixels. The first font determines the size and the height.
func newGlyphs(fonts []cuts, width int) (*glyphs, error) {
	g := &glyphs{width: width, fonts: fonts, faces: map[*sfnt.Font]font.Face{}, masks: map[glyph]mask{}}
	const em = 1000 // pixels, for measuring
	first := fonts[0][style{}]
	index, err := first.GlyphIndex(&g.buffer, '0')
	if err != nil {
		return nil, err
	}
	advance, err := first.GlyphAdvance(&g.buffer, index, fixed.I(em), font.HintingNone)
	if err != nil {
		return nil, err
	}
	metrics, err := first.Metrics(&g.buffer, fixed.I(em), font.HintingNone)
	if err != nil {
		return nil, err
	}
	g.size = float64(width) / pixels(advance) * em
	g.baseline = int(math.Round(pixels(metrics.Ascent) * g.size / em))
	g.height = g.baseline + int(math.Round(pixels(metrics.Descent)*g.size/em))
	return g, nil
}

func pixels(length fixed.Int26_6) float64 { return float64(length) / 64 }

// of returns the mask of a cell's character, width cells wide.
func (g *glyphs) of(c Cell) (mask, error) {
	of := glyph{c.Text, max(1, c.Width), style{c.Bold, c.Italic}}
	if made, ok := g.masks[of]; ok {
		return made, nil
	}
	made, ok := g.drawn(of)
	if !ok {
		var err error
		if made, err = g.written(of); err != nil {
			return nil, err
		}
	}

	g.masks[of] = made
	return made, nil
}

// written draws a character with the first font that has it, or as a shape or a box when none has it.
func (g *glyphs) written(of glyph) (mask, error) {
	width := g.width * of.width
	target := image.NewAlpha(image.Rect(0, 0, width, g.height))
	for _, r := range of.text {
		face, ok, err := g.face(r, of.style)
		if err != nil {
			return nil, err
		}
		if !ok {
			return g.standIn(of), nil
		}
		drawer := font.Drawer{Dst: target, Src: image.Opaque, Face: face, Dot: fixed.P(0, g.baseline)}
		if advance := drawer.MeasureString(string(r)); advance > fixed.I(width) { // the font is wider
			drawer.Dot.X = (fixed.I(width) - advance) / 2
		}

		drawer.DrawString(string(r)) // a combining mark is drawn over its base character
	}

	made := make(mask, len(target.Pix))
	for i, alpha := range target.Pix {
		made[i] = uint8((int(alpha)*(shades-1) + 127) / 255)
	}

	return made, nil
}

func (g *glyphs) face(r rune, cut style) (font.Face, bool, error) {
	for _, family := range g.fonts {
		chosen := family[cut]
		if chosen == nil {
			chosen = family[style{}]
		}

		index, err := chosen.GlyphIndex(&g.buffer, r)
		if err != nil {
			return nil, false, err
		}
		if index == 0 {
			continue
		}
		if g.faces[chosen] == nil {
			options := &opentype.FaceOptions{Size: g.size, DPI: 72, Hinting: font.HintingNone}
			if g.faces[chosen], err = opentype.NewFace(chosen, options); err != nil {
				return nil, false, err
			}
		}

		return g.faces[chosen], true, nil
	}

	return nil, false, nil
}

// style is one of the four cuts of a font.
type style struct{ bold, italic bool }

// family maps the cuts of one font to files. A missing cut is drawn as the regular one.
type family map[style]string

// The fonts in order of preference. A character missing in one is drawn with the next; Go Mono, which is part of the
// program, comes after the fonts made for terminals.
var (
	monospace = []family{
		{
			{}: "JetBrainsMono-Regular.ttf", {bold: true}: "JetBrainsMono-Bold.ttf",
			{italic: true}: "JetBrainsMono-Italic.ttf", {true, true}: "JetBrainsMono-BoldItalic.ttf",
		},
		{
			{}: "DejaVuSansMono.ttf", {bold: true}: "DejaVuSansMono-Bold.ttf",
			{italic: true}: "DejaVuSansMono-Oblique.ttf", {true, true}: "DejaVuSansMono-BoldOblique.ttf",
		},
	}
	otherwise = family{{}: "DejaVuSans.ttf", {bold: true}: "DejaVuSans-Bold.ttf"} // for what no monospace font has
)

type cuts map[style]*sfnt.Font

func fontFolders() []string {
	folders := []string{
		"/usr/share/fonts", "/usr/local/share/fonts", "/opt/homebrew/share/fonts", "/Library/Fonts", "/System/Library/Fonts",
	}
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range []string{".local/share/fonts", ".fonts", "Library/Fonts"} {
			folders = append(folders, filepath.Join(home, name))
		}
	}

	return folders
}

var fonts = sync.OnceValues(func() ([]cuts, error) { return findFonts(fontFolders()) })

func findFonts(folders []string) ([]cuts, error) {
	paths := map[string]string{} // by file name
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && paths[entry.Name()] == "" {
				paths[entry.Name()] = path
			}
			return nil // skip folders that cannot be read
		})
	}

	var found []cuts
	for _, f := range monospace {
		read, err := f.read(paths)
		if err != nil {
			return nil, err
		}
		if read != nil {
			found = append(found, read)
		}
	}

	goMono, err := ownFont()
	if err != nil {
		return nil, err
	}
	found = append(found, goMono)
	others, err := otherwise.read(paths)
	if err == nil && others != nil {
		found = append(found, others)
	}

	return found, err
}

// read reads the files of a family; it returns nil when the family is not installed.
func (f family) read(paths map[string]string) (cuts, error) {
	if paths[f[style{}]] == "" {
		return nil, nil
	}
	read := cuts{}
	for cut, name := range f {
		path := paths[name]
		if path == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if read[cut], err = opentype.Parse(data); err != nil {
			return nil, fmt.Errorf("read the font %s: %w", path, err)
		}
	}

	return read, nil
}

func ownFont() (cuts, error) {
	read := cuts{}
	for cut, data := range map[style][]byte{{}: gomono.TTF, {bold: true}: gomonobold.TTF} {
		var err error
		if read[cut], err = opentype.Parse(data); err != nil {
			return nil, err
		}
	}

	return read, nil
}
