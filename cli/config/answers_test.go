package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// What is saved is what was tried, all else of the file stays, and nothing of it is readable for others.
func TestAnswersAreSaved(t *testing.T) {
	dir := t.TempDir()
	env := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": dir}[name] }
	path := filepath.Join(dir, "dlxtop", "config.toml")
	must.Do(t, os.Mkdir(filepath.Dir(path), 0o755))
	const before = "# mine\ntheme = \"dark\"\n\n[contexts.old]\nurl = \"amqp://old\"\n"
	must.Do(t, os.WriteFile(path, []byte(before), 0o644))
	a := Answers{Host: "rabbit:5673/shop", User: "me", Password: `p"w\@/ö`, API: "http://rabbit:8080", Name: "shop"}
	tried := must.Get(a.Connection())(t)
	must.Do(t, a.Save(env))
	saved := must.Get(Flags{Context: "shop"}.Connection(env))(t)
	tried.Name = saved.Name
	assert.That(t, saved.Warning == "" && saved.AMQP == tried.AMQP && saved.API == tried.API && saved.VHost == "shop" &&
		saved.Password == a.Password, "saved is %#v, tried %#v", saved, tried)
	text := string(must.Get(os.ReadFile(path))(t))
	assert.That(t, strings.HasPrefix(text, before), "the file is now\n%s", text)
	for name, wrong := range map[string]Answers{
		"a context shop already": a, "letters, digits": {Host: "rabbit", Name: "a b"},
		"not an AMQP URL": {Host: "ftp://rabbit", Password: "s3cret", Name: "other"},
	} {
		err := wrong.Save(env)
		assert.That(t, err != nil && strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), "s3cret"),
			"%s: %v", name, err)
	}
}
