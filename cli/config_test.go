package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/dashboard"
)

// written creates a configuration file and an environment that leads to it.
func written(t *testing.T, text string) func(string) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "dlxtop"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(dir, "dlxtop", "config.toml"), []byte(text), 0o600))

	return func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return dir
		}
		return ""
	}
}

// run runs a command line without a terminal and without a broker.
func run(env func(string) string, args ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	program := Program{
		In: strings.NewReader(""), Out: &stdout, Err: &stderr, Env: env,
		Screens: config.Screens{Themes: []string{"auto", "dark", "mono"}, CheckKey: func(name string) error {
			if name == "ctrl-d" {
				return errors.New("the key ctrl-d is taken")
			}
			return nil
		}},
	}

	status = program.Run(context.Background(), args)
	return status, stdout.String(), stderr.String()
}

// The output of `dlxtop config` is a configuration file. Package config tests that it has every key.
func TestConfigExample(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	status, out, errs := run(func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return missing
		}
		return ""
	}, "config")

	first, _, _ := strings.Cut(out, "\n")
	must.Equal(t, status, ExitDone, "exit status %d, the first line is %q: %s", status, first, errs)
	must.Equal(t, first, "# "+filepath.Join(missing, "dlxtop", "config.toml"))
	assert.Contains(t, errs, "does not exist yet", "it does not say that there is no file")
	env := written(t, out)
	_, err := (config.Flags{Context: "shop"}).Connection(env)
	assert.That(t, err == nil, "the example is not usable: %v", err)
	_, _, errs = run(env, "config")
	assert.Contains(t, errs, "the file exists")
}

// The file's settings for the dashboard apply without a context, and --theme overrides them.
func TestAppearance(t *testing.T) {
	program := &Program{Screens: config.Screens{Themes: []string{"auto", "dark", "mono"}}}
	for _, test := range []struct {
		file, flag string
		want       dashboard.Appearance
	}{
		{"", "", dashboard.Appearance{}},
		{"", "mono", dashboard.Appearance{Theme: "mono"}},
		{"theme = \"dark\"\n", "", dashboard.Appearance{Theme: "dark"}},
		{"theme = \"dark\"\nmouse = true\n", "mono", dashboard.Appearance{Theme: "mono", Mouse: true}},
		{"plain = true\n", "", dashboard.Appearance{Plain: true}},
		{"mouse = false\n[contexts.a]\nurl = \"amqp://h\"\n", "", dashboard.Appearance{}},
	} {
		program.Env = written(t, test.file)
		got, err := (appearance{dashboard.Appearance{Theme: test.flag}}).resolve(program)
		must.That(t, err == nil, "%q with --theme %q: %+v, %v", test.file, test.flag, got, err)
		assert.That(t, reflect.DeepEqual(got.Appearance, test.want), "%q with --theme %q: %+v, %v", test.file, test.flag, got,
			err)
	}

	program.Env = func(string) string { return "" } // no place for a file
	got, err := (appearance{dashboard.Appearance{Theme: "dark"}}).resolve(program)
	must.Do(t, err)
	assert.Equal(t, got.Theme, "dark", "without a file: %+v, %v", got, err)
}

// The shell completes --context with the names in the file, and --theme with the themes.
func TestConfigCompletes(t *testing.T) {
	env := written(t, "[contexts.shop]\nurl = \"amqp://h\"\n[contexts.\"-x\"]\nurl = \"amqp://h\"\n")
	_, out, _ := run(env, "__complete", "flows", "--context", "")
	assert.That(t, strings.HasPrefix(out, "shop\n:"), "--context is completed with %q", out)
	_, out, _ = run(env, "__complete", "--theme", "")
	assert.That(t, strings.HasPrefix(out, "auto\ndark\nmono\n:"), "--theme is completed with %q", out)
	env = written(t, "[filters]\nsmtp = 'failure contains \"smtp\"'\n")
	_, out, _ = run(env, "__complete", "replay", "q", "--filter", "")
	assert.That(t, strings.HasPrefix(out, "@smtp\tfailure contains \"smtp\"\n:"), "--filter is completed with %q", out)
	_, out, _ = run(env, "__complete", "find", "")
	assert.That(t, strings.HasPrefix(out, "=@smtp\t"), "find is completed with %q", out)
	_, out, _ = run(written(t, "mouse = 1\n"), "__complete", "flows", "--context", "")
	assert.That(t, strings.HasPrefix(out, ":"), "a bad file completes --context with %q", out)
}

// A theme in a file is offered beside the built-in ones; an error in a file is one sentence with its name, the key, and
// what is allowed.
func TestThemesOfFiles(t *testing.T) {
	for text, want := range map[string][]string{
		"accent = \"#12ab9f\"\nmuted = 240\n": {"no theme pink", "auto, dark, mine, or write"},
		"accent = \"blu\"\n":                  {"mine.toml: accent is no colour"},
		"accent = [1]\n":                      {"mine.toml: accent has the wrong type", "a text"},
		"\n= \x1b\n":                          {"mine.toml: line 2: this is not valid TOML"},
	} {
		env := written(t, "")
		folder := filepath.Join(filepath.Dir(config.Path(env)), "themes")
		must.Do(t, os.MkdirAll(folder, 0o700))
		must.Do(t, os.WriteFile(filepath.Join(folder, "mine.toml"), []byte(text), 0o600))
		var out, errs strings.Builder
		p := Program{
			In: strings.NewReader(""), Out: &out, Err: &errs, Env: env,
			Screens: config.Screens{
				Themes: []string{"auto", "dark"},
				CheckTheme: func(_ string, colours map[string]string) error {
					if colours["accent"] == "#12ab9f" && colours["muted"] == "240" {
						return nil
					}
					return errors.New("accent is no colour")
				},
			},
		}

		status := p.Run(t.Context(), []string{"--theme", "pink"})
		assert.Equal(t, status, ExitUsage, "%q: %d, %s", text, status, &errs)
		assert.Equal(t, strings.Count(errs.String(), "\n"), 1, "%v", text)

		for _, words := range want {
			assert.Contains(t, errs.String(), words, "%q", text)
		}
	}
}

// An error in the file, or in --theme, is one sentence with the place and what is allowed, and without a password.
func TestConfigMistakes(t *testing.T) {
	type mistake struct {
		File       string
		Args, Want []string
	}

	for _, test := range must.Cases[mistake](t, "testdata/config_mistakes.toml") {
		status, out, errs := run(written(t, test.File), test.Args...)
		assert.Equal(t, status, ExitUsage, "%q %q: exit status %d, %q, %q", test.File, test.Args, status, out, errs)
		assert.Equal(t, out, "", "%v", test.File)
		assert.Equal(t, strings.Count(errs, "\n"), 1, "%v", test.File)
		assert.Lacks(t, errs, "s3cr3t", "%v", test.File)

		for _, want := range test.Want {
			assert.Contains(t, errs, want, "%q %q", test.File, test.Args)
		}
	}
}
