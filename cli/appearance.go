package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dlxtop/model"
)

// appearance is how the dashboard looks and is steered, whatever broker it shows.
type appearance struct {
	theme string
	mouse bool
}

// register adds --theme to a command that opens the dashboard.
func (a *appearance) register(cmd *cobra.Command, themes []string) {
	cmd.Flags().StringVar(&a.theme, "theme", "", "colours of the dashboard: the theme `NAME`, one of "+
		strings.Join(themes, ", ")+" (default: theme of the configuration file)")
	_ = cmd.RegisterFlagCompletionFunc("theme", cobra.FixedCompletions(themes, cobra.ShellCompDirectiveNoFileComp))
}

// resolve adds what the configuration file says, where there is one, to what the flags say.
func (a appearance) resolve(p *Program) (appearance, error) {
	if err := p.checkTheme("--theme", a.theme); err != nil {
		return a, err
	}
	file, path, _, err := readConfig(p.Env)
	if err != nil {
		return a, err
	}
	if a.theme == "" {
		if err := p.checkTheme("theme in "+model.Printable(path), file.Theme); err != nil {
			return a, err
		}
		a.theme = file.Theme
	}
	a.mouse = file.Mouse
	return a, nil
}

// checkTheme refuses a theme that there is not, with the list of those that there are.
func (p *Program) checkTheme(from, name string) error {
	if name == "" || slices.Contains(p.Themes, name) {
		return nil
	}
	return usage("there is no theme %s (%s): choose one of %s", model.Printable(name), from, strings.Join(p.Themes, ", "))
}
