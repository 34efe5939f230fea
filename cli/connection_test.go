//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/ports"
)

// errSeen ends a command as soon as its connection is known.
var errSeen = errors.New("seen")

// connectionOf runs `dlxtop flows` with arguments in an environment, and returns where it would connect to.
func connectionOf(
	t *testing.T, env map[string]string, args ...string,
) (c config.Connection, status int, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	program := cli.Program{
		In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(name string) string { return env[name] },
		Source: func(seen config.Connection) (cli.Source, error) {
			c = seen
			return nil, errSeen
		},
	}
	status = program.Run(context.Background(), append([]string{"flows"}, args...))
	assert.That(t, out.Len() <= 0, "standard output has %q", out.String())
	return c, status, errs.String()
}

const twoContexts = `
[contexts.prod]
url = "amqps://ops:s3cr%2Ft@mq.example.com/orders"
api = "https://admin.example.com/rabbit/"
production = true
read_only = true

[contexts.local]
url = "amqp://dev:dev@127.0.0.1:5673"
vhost = "/"
`

func TestConnection(t *testing.T) {
	file := configured(t, twoContexts)
	with := func(more map[string]string) map[string]string {
		env := map[string]string{"XDG_CONFIG_HOME": file["XDG_CONFIG_HOME"]}
		for name, value := range more {
			env[name] = value
		}
		return env
	}
	local := config.Connection{
		Name: "localhost:5672", AMQP: "amqp://guest:guest@localhost:5672",
		API: "http://localhost:15672", User: "guest", Password: "guest",
	}
	prod := config.Connection{
		Name: "prod", AMQP: "amqps://ops:s3cr%2Ft@mq.example.com:5671", API: "https://admin.example.com:443/rabbit",
		User: "ops", Password: "s3cr/t", VHost: "orders", ReadOnly: true, Production: true,
	}
	guessed := local
	guessed.Guessed = true
	on := func(host string, more ...func(*config.Connection)) config.Connection {
		c := config.Connection{Name: host + ":5672", AMQP: "amqp://guest:guest@" + host + ":5672", API: "http://" + host +
			":15672", User: "guest", Password: "guest"}
		for _, change := range more {
			change(&c)
		}
		return c
	}
	vhost := func(name string) func(*config.Connection) { return func(c *config.Connection) { c.VHost = name } }
	apiOnly := func(c *config.Connection) { c.APIOnly = true }
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		want config.Connection
	}{
		{"nothing", nil, nil, guessed},
		{"url", nil, []string{"--url", "amqp://localhost"}, local},
		{"a slash alone names no vhost", nil, []string{"--url", "amqp://localhost/"}, local},
		{"the vhost /", nil, []string{"--url", "amqp://h/%2f"}, on("h", vhost("/"))},
		{"a vhost", nil, []string{"--url", "amqp://h/a%20b"}, on("h", vhost("a b"))},
		{"--vhost before the URL's", nil, []string{"--url", "amqp://h/a", "--vhost", "b"}, on("h", vhost("b"))},
		{"--vhost of nothing is all", nil, []string{"--url", "amqp://h/a", "--vhost", ""}, on("h")},
		{"IPv6", nil, []string{"--url", "amqp://[::1]:7000"}, config.Connection{
			Name: "[::1]:7000", AMQP: "amqp://guest:guest@[::1]:7000", API: "http://[::1]:15672", User: "guest",
			Password: "guest",
		}},
		{"TLS is TLS on both ways", nil, []string{"--url", "amqps://u:p@h"}, config.Connection{
			Name: "h:5671", AMQP: "amqps://u:p@h:5671", API: "https://h:15671", User: "u", Password: "p",
		}},
		{
			"the API's credentials are its own", nil,
			[]string{"--url", "amqp://u:p@h", "--api", "http://x:y@a:1"},
			config.Connection{Name: "h:5672", AMQP: "amqp://u:p@h:5672", API: "http://a:1", User: "x", Password: "y"},
		},
		{"the API alone", nil, []string{"--api", "http://x:y@a:15672/api/"}, config.Connection{
			Name: "a:5672", AMQP: "amqp://x:y@a:5672", API: "http://a:15672/api", User: "x", Password: "y", APIOnly: true,
		}},
		{"the API alone, TLS", nil, []string{"--api", "https://x:y@a"}, config.Connection{
			Name: "a:5671", AMQP: "amqps://x:y@a:5671", API: "https://a:443", User: "x", Password: "y", APIOnly: true,
		}},
		{
			"the API alone does not borrow a broker",
			map[string]string{"DLXTOP_URL": "amqp://other"},
			[]string{"--api", "http://a:15672"},
			on("a", apiOnly),
		},
		{
			"read-only", nil,
			[]string{"--url", "amqp://h", "--read-only"},
			on("h", func(c *config.Connection) { c.ReadOnly = true }),
		},
		{"AMQP_URL before RABBITMQ_URL", map[string]string{"AMQP_URL": "amqp://a", "RABBITMQ_URL": "amqp://r"}, nil, on("a")},
		{"RABBITMQ_URL", map[string]string{"RABBITMQ_URL": "amqp://r"}, nil, on("r")},
		{"DLXTOP_URL before AMQP_URL", map[string]string{"AMQP_URL": "amqp://a", "DLXTOP_URL": "amqp://d"}, nil, on("d")},
		{"DLXTOP_API", map[string]string{"DLXTOP_API": "http://d:15672", "AMQP_URL": "amqp://a"}, nil, on("d", apiOnly)},
		{"DLXTOP_CONTEXT", with(map[string]string{"DLXTOP_CONTEXT": "prod", "AMQP_URL": "amqp://a"}), nil, prod},
		{
			"DLXTOP_URL before DLXTOP_CONTEXT",
			with(map[string]string{"DLXTOP_CONTEXT": "prod", "DLXTOP_URL": "amqp://d"}), nil, on("d"),
		},
		{
			"--context before the environment", with(map[string]string{"DLXTOP_URL": "amqp://d"}),
			[]string{"--context", "prod"},
			prod,
		},
		{"a context's vhost", file, []string{"--context", "local"}, config.Connection{
			Name: "local", AMQP: "amqp://dev:dev@127.0.0.1:5673", API: "http://127.0.0.1:15672", User: "dev",
			Password: "dev", VHost: "/",
		}},
		{
			"--url before --context, which stays careful", file,
			[]string{"--context", "prod", "--url", "amqp://h"},
			on("h", func(c *config.Connection) {
				c.ReadOnly, c.Production = true, true
			}),
		},
		{"--api of a context", file, []string{"--context", "local", "--api", "http://127.0.0.1:8080"}, config.Connection{
			Name: "local", AMQP: "amqp://dev:dev@127.0.0.1:5673", API: "http://127.0.0.1:8080", User: "dev",
			Password: "dev", VHost: "/",
		}},
		{"a password with everything", nil, []string{"--url", "amqp://u:%40%3A%2F%23@h"}, config.Connection{
			Name: "h:5672", AMQP: "amqp://u:%40%3A%2F%23@h:5672", API: "http://h:15672", User: "u", Password: "@:/#",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, status, stderr := connectionOf(t, test.env, test.args...)
			assert.That(t, got == test.want,
				"it connects to\n%s\ninstead of\n%s\n%s", spelled(got), spelled(test.want), stderr)
			assert.That(t, status == cli.ExitRefused, "exit status %d: %s", status, stderr)
		})
	}
}

// spelled shows what String hides.
func spelled(c config.Connection) string {
	return strings.Join([]string{c.Name, c.AMQP, c.API, c.User, c.Password, "vhost " + c.VHost}, " ")
}

func TestConnectionIsPrintedWithoutPassword(t *testing.T) {
	c, _, _ := connectionOf(t, nil, "--url", "amqp://u:s3cr3t@h")
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		text := fmt.Sprintf(format, c)
		assert.That(t, !strings.Contains(text, "s3cr3t"), "%s prints %s", format, text)
	}
}

func TestConnectionMistakes(t *testing.T) {
	file := configured(t, twoContexts)
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		want []string
	}{
		{
			"a variable that is not set",
			map[string]string{"AMQP_URL": "amqp://other"},
			[]string{"--url", ""},
			[]string{"--url is empty"},
		},
		{"a context that is not set", nil, []string{"--context="}, []string{"--context is empty"}},
		{
			"another scheme", nil,
			[]string{"--url", "http://u:s3cr3t@h"},
			[]string{"--url", "amqp://user:password@host:port/vhost"},
		},
		{"a slash in the password", nil, []string{"--url", "amqp://u:s3cr3t/x@h"}, []string{"--url", "%XX"}},
		{"no host", nil, []string{"--url", "amqp://"}, []string{"--url"}},
		{"a port that is none", nil, []string{"--url", "amqp://u:s3cr3t@h:99999"}, []string{"--url"}},
		{"an API that is none", nil, []string{"--api", "amqp://u:s3cr3t@h"}, []string{"--api", "http://host:15672"}},
		{"of the environment", map[string]string{"AMQP_URL": "u:s3cr3t@h"}, nil, []string{"AMQP_URL"}},
		{
			"a certificate that is none", nil,
			[]string{"--url", "amqps://u:s3cr3t@h?cacertfile=/nowhere/ca.pem"},
			[]string{"cacertfile in --url", "/nowhere/ca.pem"},
		},
		{
			"half a client certificate", nil,
			[]string{"--url", "amqps://u:s3cr3t@h?certfile=/nowhere/c.pem"},
			[]string{"certfile and keyfile in --url"},
		},
		{
			"a key that is not there", nil,
			[]string{"--url", "amqps://u:p@h?certfile=/nowhere/s3cr3t.pem&keyfile=/nowhere/s3cr3t.key"},
			[]string{"certfile and keyfile in --url", "no such file"},
		},
		{"no such context", file, []string{"--context", "x\x1b[2J"}, []string{"no context x", "local, prod"}},
		{
			"no configuration",
			map[string]string{"HOME": "/nowhere"},
			[]string{"--context", "x"},
			[]string{"/nowhere/.config/dlxtop/config.toml"},
		},
		{"no home", nil, []string{"--context", "x"}, []string{"HOME is not set", "XDG_CONFIG_HOME"}},
		{"a relative home", map[string]string{"HOME": "."}, []string{"--context", "x"}, []string{"XDG_CONFIG_HOME"}},
		{
			"a relative directory",
			map[string]string{"HOME": "/nowhere", "XDG_CONFIG_HOME": "conf"},
			[]string{"--context", "x"},
			[]string{"/nowhere/.config/dlxtop/config.toml"},
		},
		{
			"unknown key", configured(t, "[contexts.a]\nurl = \"amqp://u:s3cr3t@h\"\nvhosts = 1\n"),
			[]string{"--context", "a"},
			[]string{"contexts.a.vhosts", "read_only"},
		},
		{
			"unknown section", configured(t, "[context.a]\nurl = \"amqp://u:s3cr3t@h\"\n"),
			[]string{"--context", "a"},
			[]string{"unknown key context"},
		},
		{
			"no TOML", configured(t, "[contexts.a]\nurl = amqp://u:s3cr3t@h\n"),
			[]string{"--context", "a"},
			[]string{"line 2", "TOML"},
		},
		{"wrong type", configured(t, "[contexts.a]\nurl = 1\n"), []string{"--context", "a"}, []string{"wrong type"}},
		{
			"empty context", configured(t, "[contexts.a]\nvhost = \"x\"\n"),
			[]string{"--context", "a"},
			[]string{"neither url nor api"},
		},
		{
			"a context's bad URL", configured(t, "[contexts.a]\nurl = \"u:s3cr3t@h\"\n"),
			[]string{"--context", "a"},
			[]string{"url of context a"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, status, stderr := connectionOf(t, test.env, test.args...)
			assert.Equal(t, status, cli.ExitUsage, "exit status")
			checkSentence(t, stderr, test.want...)
		})
	}
}

// A password in a file that every user of the machine can read causes a warning; a file without one does not.
func TestConfigThatOthersRead(t *testing.T) {
	const password, none = "[contexts.a]\nurl = \"amqp://ops:s3cr3t@h\"\n", "[contexts.a]\nurl = \"amqp://h\"\n"
	for _, test := range []struct {
		text string
		mode os.FileMode
		told bool
	}{
		{password, 0o644, true},
		{"[contexts.a]\nurl = \"amqp://h\"\n[contexts.b]\napi = \"https://ops:s3cr3t@h\"\n", 0o604, true},
		{password, 0o600, false},
		{password, 0o640, false}, // a deliberate choice of a group
		{none, 0o644, false},
	} {
		env := configured(t, test.text)
		path := filepath.Join(env["XDG_CONFIG_HOME"], "dlxtop", "config.toml")
		must.Do(t, os.Chmod(path, test.mode))
		_, _, stderr := connectionOf(t, env, "--context", "a")
		line, _, _ := strings.Cut(stderr, "\n")
		told := strings.HasPrefix(line, "warning: ") && strings.Contains(line, "chmod 600 "+path)
		assert.That(t, told == test.told, "%+v: %q", test, stderr)
		assert.That(t, !strings.Contains(stderr, "s3cr3t"), "a password is shown: %s", stderr)
	}
}

// A user with saved contexts sees their names and is not asked; nor is one who named a broker.
func TestOnlyAFirstStartAsks(t *testing.T) {
	_, tty := openPTY(t)
	home := t.TempDir()
	start := func(args ...string) (asked bool, said string) {
		var errs bytes.Buffer
		p := program(tty, tty, &errs)
		p.Env = func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home, "TERM": "xterm"}[name] }
		p.Ask = func(context.Context, ports.Form) error { asked = true; return nil }
		p.Dashboard = func(context.Context, cli.Dashboard) (string, error) { return "", nil }
		p.Run(t.Context(), args)
		return asked, errs.String()
	}
	asked, said := start("--url", "amqp://localhost:1")
	assert.That(t, !asked, "it asks though there is a URL, and says %s", said)
	must.Do(t, os.Mkdir(filepath.Join(home, "dlxtop"), 0o700))
	path := filepath.Join(home, "dlxtop", "config.toml")
	must.Do(t, os.WriteFile(path, []byte("[contexts.a]\nurl = \"amqp://h\"\n"), 0o600))
	if there, err := net.Dial("tcp", "localhost:5672"); err == nil {
		there.Close()
		t.Skip("this machine has a broker where dlxtop looks for one")
	}
	asked, said = start()
	assert.That(t, !asked, "it asks though there is a context")
	assert.Contains(t, said, "`dlxtop --context NAME` opens one that is saved: a", "with a context")
}
