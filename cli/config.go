package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"dlxtop/model"
)

// config is the configuration file:
//
//	[contexts.production]
//	url = "amqps://user:password@host/vhost"
//	api = "https://host:15671"   # when it is not beside the broker
//	vhost = "orders"             # when the URL does not name it
//	production = true            # asks for more before it changes something
//	read_only = true
//	journal = "full"             # keep replayed messages completely, not only what was changed in them ("changes")
type config struct {
	Contexts map[string]struct {
		URL        string  `toml:"url"`
		API        string  `toml:"api"`
		VHost      *string `toml:"vhost"`
		Production bool    `toml:"production"`
		ReadOnly   bool    `toml:"read_only"`
		Journal    string  `toml:"journal"`
	} `toml:"contexts"`
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

// loadContext reads one context of the configuration file.
func loadContext(env func(string) string, name string) (settings, error) {
	path := configPath(env)
	if path == "" {
		return settings{}, usage("there is no context %s, because there is no place for a configuration file: "+
			"HOME is not set, and the system knows no home directory of this user: name a directory with XDG_CONFIG_HOME",
			model.Printable(name))
	}
	var file config
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{}, usage("there is no context %s, because there is no configuration file %s",
			model.Printable(name), path)
	}
	if err != nil {
		return settings{}, usage("the configuration file cannot be read: %w", err)
	}
	meta, err := toml.Decode(string(text), &file)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		// The parser's own words may quote a part of a password.
		return settings{}, usage("%s, line %d: this is not valid TOML", path, syntax.Position.Line)
	case err != nil:
		return settings{}, usage("%s: a value has the wrong type: url, api, vhost and journal are texts, production "+
			"and read_only are true or false", path)
	}
	if odd := meta.Undecoded(); len(odd) > 0 {
		return settings{}, usage("%s: unknown key %s: a context has url, api, vhost, production, read_only, journal",
			path, model.Printable(odd[0].String()))
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
	for i := range names {
		names[i] = model.Printable(names[i])
	}
	return "it has " + strings.Join(names, ", ")
}
