package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
)

// The example has every key, and no others.
func TestExampleHasEveryKey(t *testing.T) {
	var file contents
	meta, err := toml.Decode(Example, &file)
	must.Do(t, err)
	must.Equal(t, len(meta.Undecoded()), 0, "the example has unknown keys %v: %v", meta.Undecoded(), err)

	has := func(table ...string) {
		of := reflect.TypeFor[contents]()
		if len(table) > 0 {
			of = reflect.TypeFor[brokerContext]()
		}
		for i := range of.NumField() {
			name := of.Field(i).Tag.Get("toml")
			there := meta.IsDefined(append(table, name)...) || len(table) > 0 && meta.IsDefined("contexts", "shared", name)
			assert.That(t, there, "the example does not have %s.%s", strings.Join(table, "."), name)
		}
	}

	has()
	has("contexts", "shop")
}

// What was tried is saved, the rest of the file stays, and others cannot read it.
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
	assert.Equal(t, saved.Warning, "", "saved is %#v, tried %#v", saved, tried)
	assert.Equal(t, saved.AMQP, tried.AMQP)
	assert.Equal(t, saved.API, tried.API)
	assert.Equal(t, saved.VHost, "shop")
	assert.Equal(t, saved.Password, a.Password)
	text := string(must.Get(os.ReadFile(path))(t))
	assert.That(t, strings.HasPrefix(text, before), "the file is now\n%s", text)

	for name, wrong := range map[string]Answers{
		"a context shop already": a, "letters, digits": {Host: "rabbit", Name: "a b"},
		"not an AMQP URL": {Host: "ftp://rabbit", Password: "s3cret", Name: "other"},
	} {
		err := wrong.Save(env)
		must.Fails(t, err, name)
		assert.Lacks(t, err.Error(), "s3cret", "%v", name)
	}
}

// checkShown checks that an error can be shown: one printable line of bounded length.
func checkShown(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	assert.Equal(t, model.Printable(text), text)
	assert.That(t, len(text) <= 1000, "the error cannot be shown: %q", text)
}

// A URL is a broker for both adapters that survives writing and reading, or an error that does not repeat it.
func FuzzURL(f *testing.F) {
	for _, text := range []string{
		"amqp://localhost", "amqps://user:p%40ss@host:5671/%2f?heartbeat=10&cacertfile=/ca.pem",
		"amqp://u:p@[::1]:5672/orders", "http://host:15672/prefix/api/",
		"https://u@host/%2Fa", "amqp://u:%00@h", "amqp://h/a/b", "amqp://h:0", "amqp:u:p@h", "amqp://\xff",
		"http://h:15672/#/queues", "amqp://[fe80::1%25eth0]/", "amqp://::", "",
	} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		limit.Check(t, len(text), func() {
			e, err := parseAMQP("--url", text)
			if err != nil {
				checkShown(t, err)
			} else if again, err := parseAMQP("--url", e.amqpURL()); err != nil || again.address() != e.address() ||
				again.tls != e.tls ||
				again.user != e.user || again.password != e.password || again.query != e.query {
				t.Errorf("%+v became %+v, %v", e, again, err)
			}

			a, err := parseAPI("--api", text)
			if err != nil {
				checkShown(t, err)
			} else if again, err := parseAPI("--api", a.apiURL()); err != nil || again.address() != a.address() ||
				again.tls != a.tls || again.path != a.path {
				t.Errorf("%+v became %+v, %v", a, again, err)
			}

			for _, s := range []settings{{url: text, urlFrom: "--url"}, {api: text, apiFrom: "--api"}} {
				c, err := s.connection(nil)
				if err != nil {
					checkShown(t, err)
					continue
				}

				source, err := mgmt.New(mgmt.Options{URL: c.API})
				if err != nil {
					t.Errorf("the management API of %q: %v", text, err)
				} else {
					source.Close()
				}

				if b, err := broker.New(broker.Options{URL: c.AMQP}); err != nil {
					checkShown(t, err)
				} else if e, err := parseAMQP("", c.AMQP); err != nil || b.User() != e.user || b.Address() != e.address() {
					t.Errorf("%q leads to %s at %s, not to %s at %s, %v", text, b.User(), b.Address(), e.user, e.address(), err)
				}
			}
		})
	})
}

// A configuration file is a connection, or one sentence that does not reveal its content.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"[contexts.c]\nurl = \"amqps://user:password@host/vhost\"\napi = \"https://host:15671\"\nvhost = " +
			"\"orders\"\nproduction = true\nread_only = true\njournal = \"full\"\n",
		"[contexts.c]\nurl = 7\n", "[contexts.\"\\u001b[2J\"]\nurl = \"amqp://h\"\n",
		"[contexts.c]\njournal = \"\\u202e\"", "[contexts.c]\nurl = amqp://u:p@h", "contexts = 1", "\xff", "",
	} {
		f.Add([]byte(text))
	}

	dir := f.TempDir()
	path := filepath.Join(dir, "dlxtop", "config.toml")
	must.Do(f, os.Mkdir(filepath.Dir(path), 0o700))
	env := func(name string) string { return map[string]string{"XDG_CONFIG_HOME": dir}[name] }
	f.Fuzz(func(t *testing.T, text []byte) {
		must.Do(t, os.WriteFile(path, text, 0o600))
		limit.Check(t, len(text), func() {
			s, err := loadContext(env, "c")
			if err == nil {
				_, err = s.connection(nil)
			}
			if err != nil {
				checkShown(t, err)
			}
		})
	})
}

// The text shown never contains the password of a valid URL in it.
func FuzzWithoutPasswords(f *testing.F) {
	f.Add("cannot reach ", "user", "s3cr3t", "@host: try again")
	f.Add("amqp://a:b@c ", "", "%40:/", "@")
	f.Fuzz(func(t *testing.T, before, user, password, after string) {
		if password == "" || password == "password" || strings.ContainsAny(user, ":/@ \t\r\n\f\v") ||
			strings.ContainsAny(password, " \t\r\n\f\v@") ||
			strings.ContainsAny(before+user, "@:") || strings.Contains(before+"amqp://"+user+":***@"+after, password) {
			return
		}

		limit.Check(t, len(before)+len(after), func() {
			shown := WithoutPasswords(before + "amqp://" + user + ":" + password + "@" + after)
			assert.That(t, !strings.Contains(shown, password), "%q has the password %q", shown, password)
		})
	})
}
