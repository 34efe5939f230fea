// Package config finds out which broker to use, as which user, and how the dashboard should look: from the flags, the
// environment and the configuration file. Its errors are one sentence each, about wrong usage, without passwords.
package config

import (
	_ "embed" // for the example
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Example is a configuration file with every key, and what it means.
//
//go:embed config.example.toml
var Example string

// File is the configuration file; the zero value when it does not exist.
type File struct {
	Path  string // "" without a possible place
	there bool
	contents
}

type contents struct {
	Theme   string                   `toml:"theme"`
	Mouse   bool                     `toml:"mouse"`
	Bell    bool                     `toml:"bell"`
	Plain   bool                     `toml:"plain"`
	Filters filter.Saved             `toml:"filters"`
	Actions []action                 `toml:"actions"`
	Roles   map[string]string        `toml:"roles"`
	Renamed map[string]string        `toml:"redirect"`
	Brokers map[string]brokerContext `toml:"contexts"`
}

// action is a way from a message to somewhere else.
type action struct {
	Key     string `toml:"key"`
	Name    string `toml:"name"`
	URL     string `toml:"url"`
	Command string `toml:"command"`
}

type brokerContext struct {
	URL        string  `toml:"url"`
	API        string  `toml:"api"`
	VHost      *string `toml:"vhost"`
	Production bool    `toml:"production"`
	ReadOnly   bool    `toml:"read_only"`
	Journal    string  `toml:"journal"`
	Looks      string  `toml:"looks"`

	PasswordCommand string `toml:"password_command"`

	Roles map[string]string `toml:"roles"`
}

// Path is $XDG_CONFIG_HOME/dlxtop/config.toml, in ~/.config when that is not set. A relative path counts as not set, as
// in the XDG Base Directory Specification: it would be another file in each directory. "" when neither names a
// directory.
func Path(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := env("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}

	return filepath.Join(dir, "dlxtop", "config.toml")
}

// Read reads the configuration file, which need not exist.
func Read(env func(string) string) (File, error) {
	file := File{Path: Path(env)}
	if file.Path == "" {
		return file, nil
	}
	text, err := os.ReadFile(file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	file.there = true
	if err != nil {
		return file, fmt.Errorf("the configuration file cannot be read: %w", err)
	}

	shown := model.Printable(file.Path)
	var values map[string]any
	_, err = toml.Decode(string(text), &values)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		// The parser's own words may quote a part of a password.
		return file, fmt.Errorf("%s, line %d: this is not valid TOML, or a key is there twice", shown, syntax.Position.Line)
	}
	if _, there := values["protobuf"]; there {
		return file, fmt.Errorf("%s: protobuf is not a key any more, as dlxtop opens no protobuf: "+
			"delete it, and let a command of [[actions]] open such bodies (dlxtop config shows one)", shown)
	}
	if key, allowed := misfit(reflect.TypeFor[contents](), "", values); key != "" {
		return file, model.Errorf("%s: %v has the wrong type: it is %s", shown, key, allowed)
	}
	meta, err := toml.Decode(string(text), &file.contents)
	if err != nil {
		return file, fmt.Errorf("%s: a value has the wrong type", shown)
	}
	if odd := meta.Undecoded(); len(odd) > 0 {
		return file, model.Errorf("%s: unknown key %v: the file has theme, mouse, bell, plain, [filters], [roles], "+
			"[redirect], [[actions]] and [contexts.NAME]; an action has key, name, url, command; "+
			"a context has url, api, password_command, vhost, production, read_only, journal, looks, roles", shown,
			odd[0].String())
	}

	if err := checkFilters(file.Filters, shown); err != nil {
		return file, err
	}

	for old, name := range file.Renamed {
		if old == "" || name == "" || old == name {
			return file, fmt.Errorf("%s: [redirect] %q = %q: write the old name of a queue = its new one, two names", shown,
				model.Printable(old), model.Printable(name))
		}
	}

	return file, file.checkRoles(shown)
}

// checkFilters refuses a saved filter that could not be typed, or parsed.
func checkFilters(saved filter.Saved, path string) error {
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		if !filterName.MatchString(name) {
			return fmt.Errorf("%s: the name %q of a filter: it has letters, digits, _ and - only", path, model.Printable(name))
		}
		if _, err := filter.ParseExpression(saved[name]); err != nil {
			return fmt.Errorf("%s: filters.%s: %w", path, name, err)
		}
	}

	return nil
}

// filterName matches the names for saved filters: they are typed as @NAME.
var filterName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// misfit finds the first key, in the order of the fields, whose value does not fit its type, and says what would. The
// library's own error names no key, and it accepts a number in place of a table. Values are not shown: they may be
// passwords.
func misfit(of reflect.Type, name string, value any) (key, allowed string) {
	table, isTable := value.(map[string]any)
	switch of.Kind() {
	case reflect.Pointer:
		return misfit(of.Elem(), name, value)
	case reflect.String:
		if _, fits := value.(string); !fits {
			return name, "a text in quotation marks"
		}
	case reflect.Bool:
		if _, fits := value.(bool); !fits {
			return name, "true or false"
		}
	case reflect.Slice:
		tables, fits := value.([]map[string]any)
		if !fits {
			return name, "a list of tables: [[" + name + "]]"
		}

		for _, table := range tables {
			if key, allowed := misfit(of.Elem(), name, table); key != "" {
				return key, allowed
			}
		}
	case reflect.Map:
		ofTables := of.Elem().Kind() == reflect.Struct
		allowed = "a table: [" + name + "]"
		if ofTables {
			allowed = "a table: [" + name + ".NAME]"
		}
		if !isTable {
			return name, allowed
		}

		for _, each := range slices.Sorted(maps.Keys(table)) {
			if _, isTable := table[each].(map[string]any); ofTables && !isTable {
				return name + "." + each, allowed
			}
			if key, allowed := misfit(of.Elem(), name+"."+each, table[each]); key != "" {
				return key, allowed
			}
		}
	case reflect.Struct:
		for i := range of.NumField() {
			field := of.Field(i).Tag.Get("toml")
			if value, there := table[field]; there {
				if key, allowed := misfit(of.Field(i).Type, strings.TrimPrefix(name+"."+field, "."), value); key != "" {
					return key, allowed
				}
			}
		}
	}

	return "", ""
}

// Contexts returns the names of the contexts in the file.
func (f *File) Contexts() []string { return slices.Sorted(maps.Keys(f.Brokers)) }

func loadContext(env func(string) string, name string) (settings, error) {
	file, err := Read(env)
	path := model.Printable(file.Path)
	switch {
	case err != nil:
		return settings{}, err
	case path == "":
		return settings{}, model.Errorf("there is no context %v, because there is no place for a configuration file: "+
			"HOME is not set, and the system knows no home directory of this user: name a directory with XDG_CONFIG_HOME",
			name)
	case !file.there:
		return settings{}, model.Errorf("there is no context %v, because there is no configuration file %s",
			name, path)
	}

	found, ok := file.Brokers[name]
	if !ok {
		return settings{}, model.Errorf("there is no context %v in %s: %s", name, path, file.contextNames())
	}
	if found.Journal != "" && found.Journal != "changes" && found.Journal != "full" {
		return settings{}, model.Errorf("the context %v in %s has journal = %q: it is \"changes\" or \"full\"",
			name, path, model.Printable(found.Journal))
	}
	looks, err := peek.ConsentOf(found.Looks)
	if err != nil {
		return settings{}, model.Errorf("the context %v in %s has %w", name, path, err)
	}
	s := settings{
		Caution: Caution{
			ReadOnly:    found.ReadOnly,
			Production:  found.Production,
			FullJournal: found.Journal == "full",
			Looks:       looks,
			Warning:     file.openSecrets(),
		},
		name:            name,
		urlFrom:         "url of context " + model.Printable(name),
		apiFrom:         "api of context " + model.Printable(name),
		passwordCommand: found.PasswordCommand,
	}

	if s.url, err = expanded(s.urlFrom, found.URL, env); err != nil {
		return settings{}, err
	}
	if s.api, err = expanded(s.apiFrom, found.API, env); err != nil {
		return settings{}, err
	}
	if s.url == "" && s.api == "" {
		return settings{}, model.Errorf("the context %v in %s has neither url nor api", name, path)
	}
	if found.VHost != nil {
		vhost, err := expanded("vhost of context "+model.Printable(name), *found.VHost, env)
		if err != nil {
			return settings{}, err
		}
		s.vhost = model.Some(vhost)
	}

	return s, nil
}

// openSecrets returns a warning when the configuration file contains a password and every user of this machine can read
// it, otherwise "".
func (f *File) openSecrets() string {
	info, err := os.Stat(f.Path)
	if err != nil || info.Mode()&0o004 == 0 || runtime.GOOS == "windows" { // there the mode says nothing
		return ""
	}
	for _, c := range f.Brokers {
		if holdsPassword(c.URL) || holdsPassword(c.API) {
			return fmt.Sprintf("the configuration file %s holds a password, and its mode %04o lets others read it: "+
				"chmod 600 %[1]s", model.Printable(f.Path), info.Mode().Perm())
		}
	}

	return ""
}

func (f *File) contextNames() string {
	names := f.Contexts()
	if len(names) == 0 {
		return "it has none"
	}
	for i, name := range names {
		if names[i] = model.Printable(name); name == "" {
			names[i] = `""`
		}
	}

	return "it has " + strings.Join(names, ", ")
}

// ReadActions returns the actions, each with a unique key. checkKey refuses a key that an action cannot have.
func (f *File) ReadActions(checkKey func(name string) error) (all []filter.Action, err error) {
	for i, c := range f.Actions {
		action, err := filter.NewAction(c.Key, c.Name, c.URL, c.Command)
		if err == nil {
			err = checkKey(c.Key)
		}
		if err == nil && slices.ContainsFunc(all, func(a filter.Action) bool { return a.Key == c.Key }) {
			err = model.Errorf("the key %v is that of another action", c.Key)
		}
		if err != nil {
			return nil, model.Errorf("%v: action %d (%v): %w", f.Path, i+1, c.Name, err)
		}
		all = append(all, action)
	}

	return all, nil
}

// Themes returns the colours of the themes in the folder "themes" beside the configuration file, by name: NAME.toml is
// the theme NAME. check refuses colours with one sentence.
func Themes(env func(string) string, check func(name string, colours map[string]string) error) (
	map[string]map[string]string, error,
) {
	if Path(env) == "" {
		return nil, nil
	}
	const ending = ".toml"
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(Path(env)), "themes", "*"+ending)) // the pattern is valid
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
			return nil, model.Errorf("%v: %w", path, err)
		}
		model.Put(&themes, name, colours)
	}

	return themes, nil
}

func readTheme(path string) (map[string]string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	text, err := os.ReadFile(path)
	var of *fs.PathError
	if errors.As(err, &of) { // the caller names the path
		err = of.Err
	}
	if err != nil {
		return nil, err
	}

	var values map[string]any
	_, err = toml.Decode(string(text), &values)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("line %d: this is not valid TOML, or a key is there twice", syntax.Position.Line)
	}
	colours := map[string]string{}
	for key, value := range values {
		switch value.(type) {
		case string, int64:
			colours[key] = fmt.Sprint(value)
		default:
			return nil, model.Errorf("%v has the wrong type: it is a text in quotation marks", key)
		}
	}

	return colours, err
}
