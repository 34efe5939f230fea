package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/model"
)

// Themes are the colours of the themes in the folder "themes" beside the configuration file, by their names: NAME.toml
// is the theme NAME. check refuses colours in one sentence.
func Themes(env func(string) string, check func(name string, colours map[string]string) error) (
	map[string]map[string]string, error,
) {
	if Path(env) == "" {
		return nil, nil
	}
	const ending = ".toml"
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(Path(env)), "themes", "*"+ending)) // the pattern is a good one
	var themes map[string]map[string]string
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ending)
		colours, err := readTheme(path)
		switch {
		case !filterName.MatchString(name):
			err = errors.New("the name of a theme has letters, digits, _ and - only")
		case err == nil:
			err = check(name, colours)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", model.Printable(path), err)
		}
		if themes == nil {
			themes = map[string]map[string]string{}
		}
		themes[name] = colours
	}
	return themes, nil
}

func readTheme(path string) (map[string]string, error) {
	text, err := readSet(path)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	_, err = toml.Decode(string(text), &values)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("line %d: this is not valid TOML", syntax.Position.Line)
	}
	colours := map[string]string{}
	for key, value := range values {
		switch value.(type) {
		case string, int64:
			colours[key] = fmt.Sprint(value)
		default:
			return nil, fmt.Errorf("%s has the wrong type: it is a text in quotation marks", model.Printable(key))
		}
	}
	return colours, err
}
