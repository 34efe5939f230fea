package cli

import (
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
	mouse   bool
	plain   bool
	filters filter.Saved
	actions []filter.Action
	schemas body.Schemas
}

// register adds --theme and --plain to a command that opens the dashboard.
func (a *appearance) register(cmd *cobra.Command, themes []string) {
	cmd.Flags().StringVar(&a.theme, "theme", "", "colours of the dashboard: the theme `NAME`, one of "+
		strings.Join(themes, ", ")+" (default: theme of the configuration file)")
	cmd.Flags().BoolVar(&a.plain, "plain", false, "for a screen reader: lines of words without boxes, pictures and "+
		"colours, of which only those that change are written (default: plain of the configuration file)")
	_ = cmd.RegisterFlagCompletionFunc("theme", cobra.FixedCompletions(themes, cobra.ShellCompDirectiveNoFileComp))
}

// resolve adds what the configuration file says, where there is one, to what the flags say.
func (a appearance) resolve(p *Program) (appearance, error) {
	if err := p.checkTheme("--theme", a.theme); err != nil {
		return a, err
	}
	file, err := config.Read(p.Env)
	if err != nil {
		return a, misconfigured(err)
	}
	if a.theme == "" {
		if err := p.checkTheme("theme in "+model.Printable(file.Path), file.Theme); err != nil {
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
func (p *Program) checkTheme(from, name string) error {
	if name == "" || slices.Contains(p.Themes, name) {
		return nil
	}
	return usage("there is no theme %s (%s): choose one of %s", model.Printable(name), from, strings.Join(p.Themes, ", "))
}
