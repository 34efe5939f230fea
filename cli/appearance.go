package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/filter"
)

// appearance is how the dashboard looks and is steered, whatever broker it shows.
type appearance struct {
	theme   string
	mouse   bool
	filters filter.Saved
	actions []filter.Action
	schemas body.Schemas
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
	a.mouse, a.filters = file.Mouse, file.Filters
	if a.actions, err = p.actionsOf(file, model.Printable(path)); err != nil {
		return a, err
	}
	a.schemas, err = schemasOf(file, path)
	return a, err
}

// schemasOf are the protobuf types of the configuration file. A relative path of a descriptor set begins where that
// file is.
func schemasOf(file config, path string) (body.Schemas, error) {
	var all body.Schemas
	for i, c := range file.Protobuf {
		at := c.Descriptors
		if at != "" && !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(path), at)
		}
		set, unread := readSet(at)
		schema, err := body.NewSchema(at, set, unread, c.Message, c.Queues, c.ContentType)
		if err != nil {
			return nil, usage("%s: protobuf %d: %s", model.Printable(path), i+1, oneLine(err))
		}
		all = append(all, schema)
	}
	return all, nil
}

// readSet reads a descriptor set, and no more of it than one may have.
func readSet(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer f.Close()
	set, err := io.ReadAll(io.LimitReader(f, body.MaxTypes+1))
	return set, reasonOf(err)
}

// reasonOf is an error of a file without its path.
func reasonOf(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// actionsOf are the actions of the configuration file, each on a key of its own.
func (p *Program) actionsOf(file config, path string) ([]filter.Action, error) {
	var all []filter.Action
	for i, c := range file.Actions {
		action, err := filter.NewAction(c.Key, c.Name, c.URL, c.Command, c.Shell)
		if err == nil && p.CheckKey != nil {
			err = p.CheckKey(c.Key)
		}
		if err == nil && slices.ContainsFunc(all, func(a filter.Action) bool { return a.Key == c.Key }) {
			err = fmt.Errorf("the key %s is that of another action", model.Printable(c.Key))
		}
		if err != nil {
			return nil, usage("%s: action %d (%s): %s", path, i+1, model.Printable(c.Name), oneLine(err))
		}
		all = append(all, action)
	}
	return all, nil
}

// checkTheme refuses a theme that there is not, with the list of those that there are.
func (p *Program) checkTheme(from, name string) error {
	if name == "" || slices.Contains(p.Themes, name) {
		return nil
	}
	return usage("there is no theme %s (%s): choose one of %s", model.Printable(name), from, strings.Join(p.Themes, ", "))
}
