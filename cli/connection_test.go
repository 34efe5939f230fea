//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/term"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/dashboard"
)

// errSeen ends a command as soon as its connection is known.
var errSeen = errors.New("seen")

// connectionOf runs `dlxtop flows` with arguments in an environment of NAME=VALUE, all separated by blanks, and returns
// where it would connect to.
func connectionOf(t *testing.T, env, args string) (c config.Connection, status int, stderr string) {
	t.Helper()
	r := runChanged(t.Context(), func(p *cli.Program) {
		p.Env = func(name string) (value string) {
			for variable := range strings.FieldsSeq(env) {
				if of, is, _ := strings.Cut(variable, "="); of == name {
					value = is
				}
			}
			return value
		}

		p.Source = func(seen config.Connection) (cli.Source, error) {
			c = seen
			return nil, errSeen
		}
	}, append([]string{"flows"}, strings.Fields(args)...)...)

	assert.That(t, r.out == "", "standard output has %q", r.out)

	return c, r.status, r.stderr
}

// sharedContexts hold no password: they could be in a repository.
const sharedContexts = `
[contexts.parts]
url = "amqp://${USER_NAME}:${SECRET}@${HOST}/${VHOST}"
api = "http://${BROKER}"
[contexts.whole]
url = "${WHOLE}"
[contexts.command]
url = "amqp://me@h"
password_command = "echo \"a 'b'\"; echo more"
[contexts.api]
api = "http://me@h:15672"
password_command = "printf pw"
[contexts.fails]
url = "amqp://me@h"
password_command = "echo s3cr3t; echo s3cr3t >&2; exit 7"
[contexts.silent]
url = "amqp://me@h"
password_command = "echo; echo s3cr3t"
[contexts.both]
url = "amqp://me:s3cr3t@h"
password_command = "echo s3cr3t"
[contexts.nobody]
url = "amqp://h"
password_command = "echo s3cr3t"
[contexts.odd]
url = "amqp://me:${SE-CRET}@h"
[contexts.vhost]
url = "amqp://h"
vhost = "${TENANT}"
`

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
	file := "XDG_CONFIG_HOME=" + configured(t, twoContexts)["XDG_CONFIG_HOME"]
	shared := "XDG_CONFIG_HOME=" + configured(t, sharedContexts)["XDG_CONFIG_HOME"]
	type change = func(*config.Connection)
	vhost := func(name string) change { return func(c *config.Connection) { c.VHost = name } }
	as := func(user, password string) change {
		return func(c *config.Connection) { c.User, c.Password = user, password }
	}
	named := func(name string) change { return func(c *config.Connection) { c.Name = name } }
	apiOnly := func(c *config.Connection) { c.APIOnly = true }
	guessed := func(c *config.Connection) { c.Guessed = true }
	readOnly := func(c *config.Connection) { c.ReadOnly = true }
	production := func(c *config.Connection) { c.Production = true }

	at := func(amqp, api string, changes ...change) config.Connection {
		_, name, _ := strings.Cut(amqp, "@")
		c := config.Connection{Name: name, AMQP: amqp, API: api, User: "guest", Password: "guest"}
		for _, change := range changes {
			change(&c)
		}
		return c
	}

	on := func(host string, changes ...change) config.Connection {
		return at("amqp://guest:guest@"+host+":5672", "http://"+host+":15672", changes...)
	}
	local := func(api string) config.Connection {
		return at("amqp://dev:dev@127.0.0.1:5673", api, named("local"), as("dev", "dev"), vhost("/"))
	}

	prod := at("amqps://ops:s3cr%2Ft@mq.example.com:5671", "https://admin.example.com:443/rabbit", named("prod"),
		as("ops", "s3cr/t"), vhost("orders"), readOnly, production)
	for _, test := range []struct {
		name, env, args string
		want            config.Connection
	}{
		{"nothing", "", "", on("localhost", guessed)},
		{"url", "", "--url amqp://localhost", on("localhost")},
		{"a slash alone names no vhost", "", "--url amqp://localhost/", on("localhost")},
		{"the vhost /", "", "--url amqp://h/%2f", on("h", vhost("/"))},
		{"a vhost", "", "--url amqp://h/a%20b", on("h", vhost("a b"))},
		{"--vhost before the URL's", "", "--url amqp://h/a --vhost b", on("h", vhost("b"))},
		{"--vhost of nothing is all", "", "--url amqp://h/a --vhost=", on("h")},
		{"IPv6", "", "--url amqp://[::1]:7000", at("amqp://guest:guest@[::1]:7000", "http://[::1]:15672")},
		{
			"TLS is TLS on both ways", "", "--url amqps://u:p@h",
			at("amqps://u:p@h:5671", "https://h:15671", as("u", "p")),
		},
		{
			"the API's credentials are its own", "", "--url amqp://u:p@h --api http://x:y@a:1",

			at("amqp://u:p@h:5672", "http://a:1", as("x", "y")),
		},
		{
			"the API alone", "", "--api http://x:y@a:15672/api/",
			at("amqp://x:y@a:5672", "http://a:15672/api", as("x", "y"), apiOnly),
		},
		{
			"the API alone, TLS", "", "--api https://x:y@a",
			at("amqps://x:y@a:5671", "https://a:443", as("x", "y"), apiOnly),
		},
		{
			"the API alone does not borrow a broker", "DLXTOP_URL=amqp://other", "--api http://a:15672",
			on("a", apiOnly),
		},
		{"read-only", "", "--url amqp://h --read-only", on("h", readOnly)},
		{"AMQP_URL before RABBITMQ_URL", "AMQP_URL=amqp://a RABBITMQ_URL=amqp://r", "", on("a")},
		{"RABBITMQ_URL", "RABBITMQ_URL=amqp://r", "", on("r")},
		{"DLXTOP_URL before AMQP_URL", "AMQP_URL=amqp://a DLXTOP_URL=amqp://d", "", on("d")},
		{"DLXTOP_API", "DLXTOP_API=http://d:15672 AMQP_URL=amqp://a", "", on("d", apiOnly)},
		{"DLXTOP_CONTEXT", file + " DLXTOP_CONTEXT=prod AMQP_URL=amqp://a", "", prod},
		{"DLXTOP_URL before DLXTOP_CONTEXT", file + " DLXTOP_CONTEXT=prod DLXTOP_URL=amqp://d", "", on("d")},

		{"--context before the environment", file + " DLXTOP_URL=amqp://d", "--context prod", prod},
		{"a context's vhost", file, "--context local", local("http://127.0.0.1:15672")},
		{
			"--url before --context, which stays careful", file, "--context prod --url amqp://h",
			on("h", readOnly, production),
		},
		{
			"--api of a context", file, "--context local --api http://127.0.0.1:8080",
			local("http://127.0.0.1:8080"),
		},
		{
			"variables in a context", shared + " USER_NAME=a/b SECRET=%@:/? HOST=h BROKER=x:1 VHOST=a%b", "--context parts",
			at("amqp://a%2Fb:%25%40%3A%2F%3F@h:5672", "http://x:1", named("parts"), as("a/b", "%@:/?"), vhost("a%b")),
		},
		{
			"a variable with a whole URL", shared + " WHOLE=amqp://u:%2F@h/v", "--context whole",
			at("amqp://u:%2F@h:5672", "http://h:15672", named("whole"), as("u", "/"), vhost("v")),
		},
		{
			"a password_command", shared, "--context command",

			at("amqp://me:a%20%27b%27@h:5672", "http://h:15672", named("command"), as("me", "a 'b'")),
		},
		{
			"a password_command for the API alone", shared, "--context api",
			at("amqp://me:pw@h:5672", "http://h:15672", named("api"), as("me", "pw"), apiOnly),
		},
		{
			"the password of the same user beside it", "", "--url amqp://u@h --api http://u:p@h:1",
			at("amqp://u:p@h:5672", "http://h:1", as("u", "p")),
		},
		{
			"a password with everything", "", "--url amqp://u:%40%3A%2F%23@h",
			at("amqp://u:%40%3A%2F%23@h:5672", "http://h:15672", as("u", "@:/#")),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, status, stderr := connectionOf(t, test.env, test.args)
			assert.That(t, reflect.DeepEqual(got, test.want),
				"it connects to\n%s\ninstead of\n%s\n%s", spelled(got), spelled(test.want), stderr)
			assert.That(t, status == cli.ExitRefused, "exit status %d: %s", status, stderr)
		})
	}
}

// What --help and the man page begin with works where it is pasted: it needs no name of somewhere else.
func TestFirstExamplesWorkWhenPasted(t *testing.T) {
	examples := strings.Split(strings.TrimSpace(new(cli.Program).Commands()[0].Example), "\n  ")
	assert.Equal(t, examples[0], "dlxtop demo", "the first one")
	for _, example := range examples[1:] {
		_, arguments, _ := strings.Cut(example, " ")
		c, _, stderr := connectionOf(t, "", arguments)
		assert.Equal(t, c.Address(), "localhost:5672", "%q leads to %s: %s", example, spelled(c), stderr)
		assert.Equal(t, c.User, "guest", "%v", example)
		assert.Equal(t, c.Password, "guest", "%v", example)
	}
}

// spelled shows what String hides.
func spelled(c config.Connection) string {
	return strings.Join([]string{c.Name, c.AMQP, c.API, c.User, c.Password, "vhost " + c.VHost}, " ")
}

func TestConnectionIsPrintedWithoutPassword(t *testing.T) {
	c, _, _ := connectionOf(t, "", "--url amqp://u:s3cr3t@h")
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		text := fmt.Sprintf(format, c)
		assert.That(t, !strings.Contains(text, "s3cr3t"), "%s prints %s", format, text)
	}
}

func TestConnectionMistakes(t *testing.T) {
	with := func(text string) string { return "XDG_CONFIG_HOME=" + configured(t, text)["XDG_CONFIG_HOME"] }
	shared := with(sharedContexts)
	for _, test := range []struct {
		name, env, args string
		want            []string
	}{
		{"a variable that is not set", "AMQP_URL=amqp://other", "--url=", []string{"--url is empty"}},
		{"a context that is not set", "", "--context=", []string{"--context is empty"}},
		{
			"another scheme", "", "--url http://u:s3cr3t@h",
			[]string{"--url", "amqp://user:password@host:port/vhost"},
		},
		{"a slash in the password", "", "--url amqp://u:s3cr3t/x@h", []string{"--url", "%XX"}},
		{"no host", "", "--url amqp://", []string{"--url"}},
		{"a port that is none", "", "--url amqp://u:s3cr3t@h:99999", []string{"--url"}},
		{"an API that is none", "", "--api amqp://u:s3cr3t@h", []string{"--api", "http://host:15672"}},
		{"of the environment", "AMQP_URL=u:s3cr3t@h", "", []string{"AMQP_URL"}},
		{
			"a certificate that is none", "", "--url amqps://u:s3cr3t@h?cacertfile=/nowhere/ca.pem",
			[]string{"cacertfile in --url", "/nowhere/ca.pem"},
		},
		{
			"half a client certificate", "", "--url amqps://u:s3cr3t@h?certfile=/nowhere/c.pem",

			[]string{"certfile and keyfile in --url"},
		},
		{
			"a key that is not there", "",
			"--url amqps://u:p@h?certfile=/nowhere/s3cr3t.pem&keyfile=/nowhere/s3cr3t.key",
			[]string{"certfile and keyfile in --url", "no such file"},
		},
		{
			"a password that is empty", "", "--url amqp://u:@h",
			[]string{"the password in --url is empty", "leave out the colon"},
		},
		{"one of the API", "", "--url amqp://u:s3cr3t@h --api http://u:@h", []string{"the password in --api is empty"}},
		{
			"a variable for a password that a script forgot", "AMQP_URL=amqp://u:@h", "",
			[]string{"the password in AMQP_URL is empty"},
		},
		{
			"no password, and no terminal", "", "--url amqp://u@h",
			[]string{"--url names the user u without a password", "no terminal", "password_command", "DLXTOP_URL"},
		},
		{
			"a user of the API without a password", "", "--url amqp://u:s3cr3t@h --api http://x@h:1",
			[]string{"names the user x without a password"},
		},

		{
			"a certificate is no password of the API", "", "--url amqps://u@h?auth_mechanism=external",
			[]string{"names the user u without a password"},
		},
		{
			"a variable that is not set in a context", shared + " USER_NAME=u HOST=h", "--context parts",
			[]string{"url of context parts", "SECRET is not set"},
		},
		{"the vhost's variable", shared, "--context vhost", []string{"vhost of context vhost", "TENANT is not set"}},
		{"no name of a variable", shared, "--context odd", []string{"url of context odd", "write ${NAME}"}},
		{
			"a password_command that fails", shared, "--context fails",
			[]string{"password_command beside url of context fails failed (exit status 7)"},
		},
		{"one that prints nothing", shared, "--context silent", []string{"printed no password"}},
		{"one too many", shared, "--context both", []string{"url of context both", "has a password already"}},
		{"one for nobody", shared, "--context nobody", []string{"names no user"}},
		{"no such context", with(twoContexts), "--context x\x1b[2J", []string{"no context x", "local, prod"}},
		{
			"no configuration", "HOME=/nowhere", "--context x",
			[]string{"/nowhere/.config/dlxtop/config.toml"},
		},
		{"no home", "", "--context x", []string{"HOME is not set", "XDG_CONFIG_HOME"}},
		{"a relative home", "HOME=.", "--context x", []string{"XDG_CONFIG_HOME"}},

		{
			"a relative directory", "HOME=/nowhere XDG_CONFIG_HOME=conf", "--context x",
			[]string{"/nowhere/.config/dlxtop/config.toml"},
		},
		{
			"unknown key", with("[contexts.a]\nurl = \"amqp://u:s3cr3t@h\"\nvhosts = 1\n"), "--context a",
			[]string{"contexts.a.vhosts", "read_only"},
		},
		{
			"unknown section", with("[context.a]\nurl = \"amqp://u:s3cr3t@h\"\n"), "--context a",
			[]string{"unknown key context"},
		},

		{"no TOML", with("[contexts.a]\nurl = amqp://u:s3cr3t@h\n"), "--context a", []string{"line 2", "TOML"}},
		{"wrong type", with("[contexts.a]\nurl = 1\n"), "--context a", []string{"wrong type"}},
		{"empty context", with("[contexts.a]\nvhost = \"x\"\n"), "--context a", []string{"neither url nor api"}},
		{
			"a context's bad URL", with("[contexts.a]\nurl = \"u:s3cr3t@h\"\n"), "--context a",
			[]string{"url of context a"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, status, stderr := connectionOf(t, test.env, test.args)
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
		{"[contexts.a]\nurl = \"amqp://h\"\n[contexts.b]\nurl = \"amqp://u:${SECRET}@h\"\n", 0o644, false},
		{"[contexts.a]\nurl = \"amqp://h\"\n[contexts.b]\nurl = \"amqp://u:s3cr3t${X}@h\"\n", 0o644, true},
	} {
		env := configured(t, test.text)
		path := filepath.Join(env["XDG_CONFIG_HOME"], "dlxtop", "config.toml")
		must.Do(t, os.Chmod(path, test.mode))
		_, _, stderr := connectionOf(t, "XDG_CONFIG_HOME="+env["XDG_CONFIG_HOME"], "--context a")
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
		p.Ask = func(context.Context, dashboard.Form) error { asked = true; return nil }
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

// The password of a URL without one is asked for on the terminal, which shows nothing of it; an interruption ends that,
// and the terminal shows again what is typed.
func TestPasswordIsAskedFor(t *testing.T) {
	master, tty := openPTY(t)
	var errs bytes.Buffer
	var seen config.Connection
	p := program(tty, io.Discard, &errs)
	p.Source = func(c config.Connection) (cli.Source, error) {
		seen = c
		return nil, errSeen
	}

	before := must.Get(term.GetState(tty.Fd()))(t)

	must.Get(master.WriteString("s3cr3t @/%\n"))(t)
	p.Run(t.Context(), []string{"flows", "--url", "amqp://me@h"})
	assert.Equal(t, seen.Password, "s3cr3t @/%", "it connects as %s", spelled(seen))
	assert.Equal(t, seen.User, "me")
	assert.That(t, strings.HasPrefix(errs.String(), "password of me at h:5672: \n"), "it says %q", errs.String())
	assert.Lacks(t, errs.String(), "s3cr3t")

	must.Get(master.WriteString("\n"))(t)
	errs.Reset()
	status := p.Run(t.Context(), []string{"flows", "--url", "amqp://me@h"})
	assert.Equal(t, status, cli.ExitUsage, "exit status %d: %s", status, &errs)
	assert.Contains(t, errs.String(), "no password was typed")

	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() { ended <- p.Run(ctx, []string{"flows", "--url", "amqp://me@h"}) }()
	must.Await(t, "it hides what is typed", func() bool {
		return !reflect.DeepEqual(must.Get(term.GetState(tty.Fd()))(t), before)
	})
	interrupt()
	assert.Equal(t, <-ended, cli.ExitInterrupted, "exit status")
	assert.That(t, reflect.DeepEqual(must.Get(term.GetState(tty.Fd()))(t), before), "the terminal stays without echo")

	status = p.Run(ctx, []string{"flows", "--url", "amqp://me@h"})
	assert.Equal(t, status, cli.ExitInterrupted, "exit status when it was interrupted before it asked")
	assert.That(t, reflect.DeepEqual(must.Get(term.GetState(tty.Fd()))(t), before), "it hides what is typed after the end")
}
