package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/filter"
)

// appearance is how the dashboard looks and is steered, whatever broker it shows.
type appearance struct {
	theme   string
	themes  map[string]map[string]string // that are not built in
	mouse   bool
	plain   bool
	filters filter.Saved
	actions []filter.Action
	schemas body.Schemas
}

// register adds --theme and --plain to a command that opens the dashboard.
func (a *appearance) register(cmd *cobra.Command, p *Program) {
	cmd.Flags().StringVar(&a.theme, "theme", "", "colours of the dashboard: the theme `NAME`, one of "+
		strings.Join(p.Themes, ", ")+", or of a file in the folder themes (default: theme of the configuration file)")
	cmd.Flags().BoolVar(&a.plain, "plain", false, "for a screen reader: lines of words without boxes, pictures and "+
		"colours, of which only those that change are written (default: plain of the configuration file)")
	_ = cmd.RegisterFlagCompletionFunc("theme", func(*cobra.Command, []string, string) (
		[]string, cobra.ShellCompDirective,
	) {
		own, _ := config.Themes(p.Env, p.CheckTheme)
		return p.themeNames(own), cobra.ShellCompDirectiveNoFileComp
	})
}

// themeNames are those that are built in, then the user's own.
func (p *Program) themeNames(own map[string]map[string]string) []string {
	return slices.Concat(p.Themes, slices.Sorted(maps.Keys(own)))
}

// resolve adds what the configuration file says, where there is one, to what the flags say.
func (a appearance) resolve(p *Program) (appearance, error) {
	var err error
	if a.themes, err = config.Themes(p.Env, p.CheckTheme); err != nil {
		return a, misconfigured(err)
	}
	if err := p.checkTheme("--theme", a.theme, a.themes); err != nil {
		return a, err
	}
	file, err := config.Read(p.Env)
	if err != nil {
		return a, misconfigured(err)
	}
	if a.theme == "" {
		if err := p.checkTheme("theme in "+model.Printable(file.Path), file.Theme, a.themes); err != nil {
			return a, err
		}
		a.theme = file.Theme
	}
	a.mouse, a.filters = file.Mouse, file.Filters
	a.plain = a.plain || file.Plain
	if a.actions, err = file.ReadActions(p.CheckKey); err != nil {
		return a, misconfigured(err)
	}
	a.schemas, err = file.ReadSchemas()
	return a, misconfigured(err)
}

// misconfigured is an error of the configuration, on one line.
func misconfigured(err error) error {
	if err == nil {
		return nil
	}
	return usage("%s", oneLine(err))
}

// checkTheme refuses a theme that there is not, with the list of those that there are.
func (p *Program) checkTheme(from, name string, own map[string]map[string]string) error {
	names := p.themeNames(own)
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return usage("there is no theme %s (%s): choose one of %s, or write themes/%[1]s.toml beside the configuration file",
		model.Printable(name), from, model.Printable(strings.Join(names, ", ")))
}
