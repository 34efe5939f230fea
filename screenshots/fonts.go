package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
)

// style is one of the four cuts of a font.
type style struct{ bold, italic bool }

// family is the files of one font by their cuts. A cut that is missing is drawn as the ordinary one.
type family map[style]string

// families are the fonts that are looked for, the first one first. What a font has no glyph for is drawn with the next.
var families = []family{
	{
		{}: "JetBrainsMono-Regular.ttf", {bold: true}: "JetBrainsMono-Bold.ttf",
		{italic: true}: "JetBrainsMono-Italic.ttf", {true, true}: "JetBrainsMono-BoldItalic.ttf",
	},
	{
		{}: "DejaVuSansMono.ttf", {bold: true}: "DejaVuSansMono-Bold.ttf",
		{italic: true}: "DejaVuSansMono-Oblique.ttf", {true, true}: "DejaVuSansMono-BoldOblique.ttf",
	},
	{{}: "DejaVuSans.ttf", {bold: true}: "DejaVuSans-Bold.ttf"}, // only for what no monospace font has
}

// cuts are the fonts of one family.
type cuts map[style]*sfnt.Font

var errNoFont = errors.New("found no monospace font: install the package fonts-jetbrains-mono or fonts-dejavu-core " +
	"(Debian, Ubuntu: apt-get install fonts-jetbrains-mono; macOS: brew install --cask font-jetbrains-mono)")

// fontFolders are where fonts usually are on Linux and macOS.
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

// findFonts reads the families that are installed.
func findFonts(folders []string) ([]cuts, error) {
	paths := map[string]string{} // by the file's name
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && paths[entry.Name()] == "" {
				paths[entry.Name()] = path
			}
			return nil // a folder that cannot be read has no fonts
		})
	}
	var found []cuts
	for i, family := range families {
		if paths[family[style{}]] == "" {
			continue
		}
		if len(found) == 0 && i == len(families)-1 {
			break // it is no monospace font
		}
		read := cuts{}
		for cut, name := range family {
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
		found = append(found, read)
	}
	if len(found) == 0 {
		return nil, errNoFont
	}
	return found, nil
}
