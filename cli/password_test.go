package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/mgmt"
)

// secretLetters are the letters of the passwords here: no sentence of dlxtop has two different ones of them in a row,
// so that the smallest part of a password is found in what is said.
const secretLetters = "QXZJKV"

// secret is a password: letters, with the characters between them that mean something in a URL, a shell or a terminal.
func secret(r *rand.Rand) string {
	specials := []string{
		"", "@", ":", "/", "//", "?", "#", "%", "%4", "%zz", " ", "\t", "\n", "\x1b[2J", "&", "=", ";",
		"'", `"`, `\`, "[", "]", "ß", "\u202e", "\xff", "$", "|",
	}
	var b strings.Builder
	for range 2 + r.IntN(4) {
		last := byte(0)
		for range 2 + r.IntN(4) {
			c := secretLetters[r.IntN(len(secretLetters))]
			for c == last {
				c = secretLetters[r.IntN(len(secretLetters))]
			}
			b.WriteByte(c)
			last = c
		}
		b.WriteString(specials[r.IntN(len(specials))])
	}
	return b.String()
}

// leak is a part of a password that a text repeats, "" when there is none.
func leak(text, password string) string {
	for i := 0; i+2 <= len(password); i++ {
		part := password[i : i+2]
		if strings.Trim(part, secretLetters) == "" && part[0] != part[1] && strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// urlWith is a URL with a password in it: as it should be written, or in one of the ways in which people write it
// amiss.
func urlWith(r *rand.Rand, password string) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	written := pick(password, url.QueryEscape(password), url.PathEscape(password),
		strings.ToLower(url.QueryEscape(password)),
		strings.TrimPrefix(url.UserPassword("", password).String(), ":"))
	if strings.EqualFold(written, password) && r.IntN(2) == 0 {
		written = password
	}
	host := pick("127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:1", "", "127.0.0.1:99999", "127.0.0.1:x", "[::1",
		"no.such.host.invalid:1", "127.0.0.1:1/%zz", "127.0.0.1:1/v", "127.0.0.1 1", "%")
	switch r.IntN(8) {
	case 0:
		return pick("amqp", "http", "mailto") + ":user:" + written + "@" + host
	case 1:
		return "user:" + written + "@" + host
	case 2:
		return pick("amqp", "amqps", "http", "https") + "://" + host + pick("?", "/v?", "/#") +
			pick("password=", "a=b&password=", "a=%zz;password=") + written
	case 4:
		return pick("amqp", "http") + "://:" + written + "@" + host
	}
	return pick("amqp", "amqps", "http", "https", "AMQP", "ftp", "", "amqp ", "\x00") +
		pick("://", "://", "://", ":/", ":") + pick("user", "us er", "a%zz", "") + ":" + written + "@" + host
}

// named is how a URL begins that has a password.
var named = regexp.MustCompile(`^[^:]*://([^:/@]*:|.*password=)`)

// Whatever a person gives as a URL, nothing that dlxtop says repeats a password from it, in part or as a whole.
func TestNothingRepeatsAPassword(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "dlxtop"), 0o700))
	config := filepath.Join(dir, "dlxtop", "config.toml")
	connected := 0
	for range 2000 {
		password := secret(r)
		text := urlWith(r, password)
		if u, err := url.Parse(text); err == nil && leak(strings.ToUpper(u.Host), password) != "" {
			continue // "amqp://u:a@b/c@h" is a good URL, of the host b: nobody can know that a@b/c was meant as a password
		}
		check := func(where, said string) {
			t.Helper()
			part := leak(strings.ToUpper(said), password)
			must.That(t, part == "", "%s: %q of the password %q in\n%q\nfor %q", where, part, password, said, text)
		}
		if client, err := mgmt.New(mgmt.Options{URL: text}); err != nil {
			check("mgmt.New", err.Error())
		} else {
			client.Close()
		}
		if client, err := broker.New(broker.Options{URL: text}); err != nil {
			check("broker.New", err.Error())
		} else {
			client.Close()
		}
		env := map[string]string{"XDG_CONFIG_HOME": dir}
		args := []string{"flows"}
		kind := r.IntN(9)
		if kind < 4 && !named.MatchString(text) {
			kind = 8 // without "://user:" it may as well be the name of a queue
		}
		switch kind {
		case 0:
			args = []string{text}
		case 1:
			args = []string{"flows", text}
		case 2:
			args = []string{"peek", text, "-n", text}
		case 3:
			args = []string{"flows", "--context", text}
		case 4:
			args = []string{"flows", "--api", text}
		case 5:
			env["DLXTOP_URL"] = text
		case 6:
			env["RABBITMQ_URL"] = text
		case 7:
			args = []string{"flows", "--context", "c"}
			content := fmt.Sprintf("[contexts.c]\nurl = %s\n",
				[]string{fmt.Sprintf("%q", text), "'" + text + "'", text}[r.IntN(3)])
			must.Do(t, os.WriteFile(config, []byte(content), 0o600))
		default:
			args = []string{"flows", "--url", text}
		}
		var out, errs bytes.Buffer
		p := program(strings.NewReader(""), &out, &errs)
		p.Env = func(name string) string { return env[name] }
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if status := p.Run(ctx, args); status == 3 {
			connected++
		}
		cancel()
		check(fmt.Sprintf("%q", args[0]), out.String()+errs.String())
	}
	assert.That(t, connected >= 20,
		"only %d of the URLs could be used: nothing was seen of what a connection says", connected)
}

// A broker that refuses the password is told of without it.
func TestARefusedPasswordIsNotRepeated(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	for range 3 {
		password := secret(r)
		user := url.UserPassword("guest", password).String()
		amqp := strings.Replace(node.AMQP(), "guest:guest", user, 1)
		api := strings.Replace(node.API(), "guest:guest", user, 1)
		for _, args := range [][]string{
			{"--url", amqp, "--api", api},
			{"--url", amqp, "--api", node.API()},
			{"--url", node.AMQP(), "--api", api},
		} {
			got := run(t, append([]string{"flows"}, args...)...)
			part := leak(strings.ToUpper(got.out+got.stderr), password)
			assert.That(t, part == "", "%q of the password %q in %s", part, password, got.stderr)
		}
	}
}
