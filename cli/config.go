package cli

import (
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
	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
)

// config is the configuration file. example.toml shows each of its keys.
type config struct {
	Theme    string                   `toml:"theme"`
	Mouse    bool                     `toml:"mouse"`
	Filters  map[string]string        `toml:"filters"`
	Actions  []configAction           `toml:"actions"`
	Protobuf []configProtobuf         `toml:"protobuf"`
	Contexts map[string]configContext `toml:"contexts"`
}

// configAction is a way from a message to somewhere else.
type configAction struct {
	Key     string `toml:"key"`
	Name    string `toml:"name"`
	URL     string `toml:"url"`
	Command string `toml:"command"`
	Shell   bool   `toml:"shell"`
}

// configProtobuf is which bodies are protobuf, and of which type.
type configProtobuf struct {
	Descriptors string `toml:"descriptors"`
	Message     string `toml:"message"`
	Queues      string `toml:"queues"`
	ContentType string `toml:"content_type"`
}

// configContext is one broker in it.
type configContext struct {
	URL        string  `toml:"url"`
	API        string  `toml:"api"`
	VHost      *string `toml:"vhost"`
	Production bool    `toml:"production"`
	ReadOnly   bool    `toml:"read_only"`
	Journal    string  `toml:"journal"`
}

// configPath is $XDG_CONFIG_HOME/dlxtop/config.toml, in ~/.config when that is not set. A relative path counts as not
// set, as the XDG Base Directory Specification has it: it would be another file in each directory. "" when neither
// names a directory.
func configPath(env func(string) string) string {
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

// readConfig reads the configuration file. path is "" where there is no place for one; there is false, and the rest
// zero, when the file does not exist.
func readConfig(env func(string) string) (file config, path string, there bool, err error) {
	path = configPath(env)
	if path == "" {
		return file, path, false, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, path, false, nil
	}
	if err != nil {
		return file, path, true, usage("the configuration file cannot be read: %w", err)
	}
	shown := model.Printable(path)
	var values map[string]any
	_, err = toml.Decode(string(text), &values)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		// The parser's own words may quote a part of a password.
		return file, path, true, usage("%s, line %d: this is not valid TOML", shown, syntax.Position.Line)
	}
	if key, allowed := misfit(reflect.TypeFor[config](), values); key != "" {
		return file, path, true, usage("%s: %s has the wrong type: it is %s", shown, model.Printable(key), allowed)
	}
	meta, err := toml.Decode(string(text), &file)
	if err != nil {
		return config{}, path, true, usage("%s: a value has the wrong type", shown)
	}
	if odd := meta.Undecoded(); len(odd) > 0 {
		return config{}, path, true, usage("%s: unknown key %s: the file has theme, mouse, [filters], [[actions]], "+
			"[[protobuf]] and [contexts.NAME]; an action has key, name, url, command, shell; "+
			"protobuf has descriptors, message, queues, content_type; "+
			"a context has url, api, vhost, production, read_only, journal", shown, model.Printable(odd[0].String()))
	}
	if err := checkFilters(file.Filters, shown); err != nil {
		return config{}, path, true, err
	}
	return file, path, true, nil
}

// checkFilters refuses a saved filter that could not be typed, or read.
func checkFilters(saved filter.Saved, path string) error {
	for _, name := range slices.Sorted(maps.Keys(saved)) {
		if !filterName.MatchString(name) {
			return usage("%s: the name %q of a filter: it has letters, digits, _ and - only", path, model.Printable(name))
		}
		if _, err := filter.ParseExpression(saved[name]); err != nil {
			return usage("%s: filters.%s: %s", path, name, oneLine(err))
		}
	}
	return nil
}

// filterName is what a filter can be saved under: it is typed as @NAME.
var filterName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func registerFilter(cmd *cobra.Command, text *string) {
	cmd.Flags().StringVar(text, "filter", "", "only messages that match this expression")
}

// filterNamed reads the flag --filter: an expression, or the name of a saved one.
func (p *Program) filterNamed(text string) (*filter.Filter, error) {
	saved, err := p.savedFilters(text)
	if err != nil {
		return nil, err
	}
	f, err := saved.Expression(text)
	if err != nil {
		return nil, usage("--filter: %s", oneLine(err))
	}
	return f, nil
}

// savedFilters are those of the configuration file, for an expression that names one: no other needs the file.
func (p *Program) savedFilters(text string) (filter.Saved, error) {
	if !strings.Contains(text, filter.SavedMark) {
		return nil, nil
	}
	file, _, _, err := readConfig(p.Env)
	return file.Filters, err
}

// misfit finds the first key, in the order of the fields, whose value does not fit into its field, and says what would.
// The library's own words name no key, and it takes a number in the place of a table. Values are not shown: they may be
// passwords.
func misfit(fields reflect.Type, table map[string]any) (key, allowed string) {
	for i := range fields.NumField() {
		name, of := fields.Field(i).Tag.Get("toml"), fields.Field(i).Type
		value, there := table[name]
		if !there {
			continue
		}
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch of.Kind() {
		case reflect.String:
			allowed = "a text in quotation marks"
		case reflect.Bool:
			allowed = "true or false"
		case reflect.Slice:
			if key, allowed := misfits(name, of.Elem(), value); key != "" {
				return key, allowed
			}
			continue
		default:
			allowed = "a table: [" + name + "]"
			if of.Elem().Kind() == reflect.Struct {
				allowed = "a table: [" + name + ".NAME]"
			}
		}
		if below, isTable := value.(map[string]any); isTable && of.Kind() == reflect.Map {
			for _, each := range slices.Sorted(maps.Keys(below)) {
				if of.Elem().Kind() == reflect.String {
					if _, isText := below[each].(string); !isText {
						return name + "." + each, "a text in quotation marks"
					}
					continue
				}
				context, isTable := below[each].(map[string]any)
				if !isTable {
					return name + "." + each, allowed
				}
				if inner, allowed := misfit(of.Elem(), context); inner != "" {
					return name + "." + each + "." + inner, allowed
				}
			}
			continue
		}
		if reflect.TypeOf(value).Kind() != of.Kind() {
			return name, allowed
		}
	}
	return "", ""
}

// misfits does the same for a list of tables.
func misfits(name string, fields reflect.Type, value any) (key, allowed string) {
	tables, ok := value.([]map[string]any)
	if !ok {
		return name, "a list of tables: [[" + name + "]]"
	}
	for _, table := range tables {
		if key, allowed := misfit(fields, table); key != "" {
			return name + "." + key, allowed
		}
	}
	return "", ""
}

// loadContext reads one context of the configuration file.
func loadContext(env func(string) string, name string) (settings, error) {
	file, path, there, err := readConfig(env)
	switch {
	case err != nil:
		return settings{}, err
	case path == "":
		return settings{}, usage("there is no context %s, because there is no place for a configuration file: "+
			"HOME is not set, and the system knows no home directory of this user: name a directory with XDG_CONFIG_HOME",
			model.Printable(name))
	case !there:
		return settings{}, usage("there is no context %s, because there is no configuration file %s",
			model.Printable(name), path)
	}
	found, ok := file.Contexts[name]
	if !ok {
		return settings{}, usage("there is no context %s in %s: %s", model.Printable(name), path, contextNames(file))
	}
	if found.Journal != "" && found.Journal != "changes" && found.Journal != "full" {
		return settings{}, usage("the context %s in %s has journal = %q: it is \"changes\" or \"full\"",
			model.Printable(name), path, model.Printable(found.Journal))
	}
	s := settings{
		full: found.Journal == "full", warning: openSecrets(path, file),
		name: name, url: found.URL, api: found.API, production: found.Production, readOnly: found.ReadOnly,
		urlFrom: "url of context " + model.Printable(name), apiFrom: "api of context " + model.Printable(name),
	}
	if s.url == "" && s.api == "" {
		return settings{}, usage("the context %s in %s has neither url nor api", model.Printable(name), path)
	}
	if found.VHost != nil {
		s.vhost, s.vhostSet = *found.VHost, true
	}
	return s, nil
}

// openSecrets is a sentence when the configuration file holds a password and lets every user of this machine read it,
// else "".
func openSecrets(path string, file config) string {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&0o004 == 0 || runtime.GOOS == "windows" { // there the mode says nothing
		return ""
	}
	for _, c := range file.Contexts {
		if credentials.MatchString(c.URL) || credentials.MatchString(c.API) {
			return fmt.Sprintf(
				"the configuration file %s holds a password, and its mode %04o lets others read it: chmod 600 %[1]s",
				model.Printable(path), info.Mode().Perm())
		}
	}
	return ""
}

func contextNames(file config) string {
	names := slices.Sorted(maps.Keys(file.Contexts))
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
