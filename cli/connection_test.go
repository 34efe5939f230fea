//go:build unix

package cli_test

import (
	"bytes"
	"cmp"
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

	assert.Equal(t, r.out, "", "standard output has")

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

// contexts are the configuration files that several cases have.
var contexts = map[string]string{"shared": sharedContexts, "two": twoContexts}

// with returns an environment with a configuration file: one of contexts, or this text.
func with(t *testing.T, text, env string) string {
	t.Helper()
	if text == "" {
		return env
	}
	return env + " XDG_CONFIG_HOME=" + configured(t, cmp.Or(contexts[text], text))["XDG_CONFIG_HOME"]
}

func TestConnection(t *testing.T) {
	type connection struct {
		Name, Config, Env, Args string
		Want                    config.Connection
	}

	must.Run(t, "testdata/connections.toml", func(t *testing.T, test connection) {
		got, status, stderr := connectionOf(t, with(t, test.Config, test.Env), test.Args)
		assert.That(t, reflect.DeepEqual(got, test.Want),
			"it connects to\n%s\ninstead of\n%s\n%s", spelled(got), spelled(test.Want), stderr)
		assert.That(t, status == cli.ExitRefused, "exit status %d: %s", status, stderr)
	})
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
	type mistake struct {
		Name, Config, Env, Args string
		Want                    []string
	}

	must.Run(t, "testdata/connection_mistakes.toml", func(t *testing.T, test mistake) {
		_, status, stderr := connectionOf(t, with(t, test.Config, test.Env), test.Args)
		assert.Equal(t, status, cli.ExitUsage, "exit status")
		checkSentence(t, stderr, test.Want...)
	})
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
		assert.Lacks(t, stderr, "s3cr3t", "a password is shown")
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
