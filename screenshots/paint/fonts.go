package paint

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
)

// style is one of the four cuts of a font.
type style struct{ bold, italic bool }

// family is the files of one font by their cuts. A cut that is missing is drawn as the ordinary one.
type family map[style]string

// The fonts that are looked for, the first one first. What a font has no glyph for is drawn with the next; Go Mono,
// which is part of the program, comes behind those that are made for terminals.
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

// cuts are the fonts of one family.
type cuts map[style]*sfnt.Font

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

// fonts are those of this machine, read once.
var fonts = sync.OnceValues(func() ([]cuts, error) { return findFonts(fontFolders()) })

// findFonts reads the fonts that are installed, and Go Mono.
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

// read reads the files of a family; nil when it is not installed.
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

// ownFont is Go Mono.
func ownFont() (cuts, error) {
	read := cuts{}
	for cut, data := range map[style][]byte{{}: gomono.TTF, {bold: true}: gomonobold.TTF} {
		font, err := opentype.Parse(data)
		if err != nil {
			return nil, err
		}
		read[cut] = font
	}
	return read, nil
}
