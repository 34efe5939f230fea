package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/dashboard"
)

// Screens is what the dashboard offers and accepts.
type Screens struct {
	Themes []string // built-in ones
	// CheckTheme refuses a theme's colours, or its name, with one sentence.
	CheckTheme func(name string, colours map[string]string) error
	// CheckKey refuses a key that an action cannot have, with one sentence.
	CheckKey func(name string) error
}

// Appearance completes the flags with the configuration file, if there is one.
func (s Screens) Appearance(env func(string) string, a dashboard.Appearance) (dashboard.Appearance, error) {
	var err error
	if a.OwnThemes, err = Themes(env, s.CheckTheme); err != nil {
		return a, err
	}
	if err := s.findTheme("--theme", a.Theme, a.OwnThemes); err != nil {
		return a, err
	}
	file, err := Read(env)
	if err != nil {
		return a, err
	}
	if a.Theme == "" {
		if err := s.findTheme("theme in "+model.Printable(file.Path), file.Theme, a.OwnThemes); err != nil {
			return a, err
		}
		a.Theme = file.Theme
	}

	a.Mouse, a.Bell, a.Filters = file.Mouse, file.Bell, file.Filters
	a.Plain = a.Plain || file.Plain
	a.Actions, err = file.ReadActions(s.CheckKey)
	return a, err
}

// ThemeNames has the built-in themes, then the user's own.
func (s Screens) ThemeNames(own map[string]map[string]string) []string {
	return slices.Concat(s.Themes, slices.Sorted(maps.Keys(own)))
}

// findTheme refuses an unknown theme, and lists the existing ones.
func (s Screens) findTheme(from, name string, own map[string]map[string]string) error {
	names := s.ThemeNames(own)
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("there is no theme %s (%s): choose one of %s, "+
		"or write themes/%[1]s.toml beside the configuration file",
		model.Printable(name), from, model.Printable(strings.Join(names, ", ")))
}
