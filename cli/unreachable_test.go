package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/mgmt"
)

// Every way in which a broker cannot be reached is one sentence and exit status 3, for scripts and for the dashboard,
// whose terminal is not touched.
func TestCannotConnect(t *testing.T) {
	v := newVHost(t)
	foreign := newNamedVHost(t, "foreign")
	manage.User(t, node.API(), "looker", "management", v.name)
	manage.User(t, node.API(), "no-tag", "", v.name)
	places := map[string]string{
		"amqp": strings.TrimSuffix(strings.TrimPrefix(node.AMQP(), "amqp://guest:guest@"), "/"),
		"api":  strings.TrimPrefix(node.API(), "http://guest:guest@"), "unused": dial.Unused(t),
		"vhost": v.name, "foreign": foreign.name,
	}
	placed := func(text string) string {
		return os.Expand(text, func(name string) string { return places[name] })
	}

	type expected struct {
		Name, URL, API string
		Want           []string
	}
	must.Run(t, "testdata/unreachable.toml", func(t *testing.T, test expected) {
		address, api := placed(test.URL), placed(cmp.Or(test.API, "http://$api"))
		for _, command := range [][]string{{"flows"}, {"peek", "q"}, {"drop", "q", "--yes"}, {"findings"}} {
			run(t, append(command, "--url", address, "--api", api)...).refuses(t, cli.ExitConnect, test.Want...)
		}

		noDashboard(t, address, api).refuses(t, cli.ExitConnect, test.Want...)
	})
}

// A host that is down, or says nothing, costs seconds and nothing else.
func TestHosts(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "q")
	v.fill("q", 3)
	_, amqpHost, _ := strings.Cut(node.AMQP(), "@")
	amqpHost = strings.TrimSuffix(amqpHost, "/")
	_, apiHost, _ := strings.Cut(node.API(), "@")
	for i, other := range []string{dial.Unused(t), dial.Silent(t), "no-such-host.invalid:5672"} {
		hosts := []string{
			"--url", "amqp://guest:guest@" + other + "," + amqpHost + "/" + v.name, "--api",
			"http://" + other + "," + apiHost,
		}
		r := run(t, append(hosts, "drop", "q", "--limit", "1", "--yes")...)
		assert.Equal(t, r.status, cli.ExitDone, "%s: %s%s", other, r.out, r.stderr)
		v.holds("q", 2-i)
	}

	none := "http://" + dial.Unused(t) + "," + dial.Unused(t)
	run(t, "flows", "--url", v.url(), "--api", none).refuses(t, cli.ExitConnect, "RabbitMQ answers at "+amqpHost,
		"none of ", "nothing listens", "--api")
}

// What one broker reports is never acted on in another, nor shown as if it were that one's.
func TestTwoBrokers(t *testing.T) {
	v := newVHost(t, "q")
	v.fill("q", 1)
	other := behindProxy(t, func(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(clusterName.ReplaceAll(answer.Body.Bytes(), []byte(`"cluster_name":"another@one"`)))
	})

	file := filepath.Join(t.TempDir(), "messages")
	for _, command := range [][]string{
		{"peek", "q"},
		{"drop", "q", "--yes"},
		{"drop", "q", "--dry-run"},
		{"replay", "q", "--to", "queue:q", "--yes"},
		{"export", "q", file},
		{"flows"},
		{"findings"},
	} {
		var r result
		must.Await(t, "the cluster is checked", func() bool { // or, on a busy machine, it says that it does not answer
			r = run(t, append(command, "--url", v.url(), "--api", other)...)
			return !strings.Contains(r.stderr, "not checked that AMQP leads to the same cluster")
		})

		assert.Equal(t, r.status, cli.ExitConnect, "%v: exit status %d, %q", command, r.status, r.out)
		assert.Equal(t, r.out, "", "%v", command)
		checkSentence(t, r.stderr, "another@one", "--api")
	}

	noDashboard(t, v.url(), other).refuses(t, cli.ExitConnect, "another@one", "--api")
	v.holds("q", 1)
}

// A management API that accepts connections but never answers exists, and RabbitMQ runs: nothing needs to be enabled.
func TestSilentAPI(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	r := runChanged(t.Context(), impatient, "flows", "--url", v.url(), "--api", "http://"+dial.Silent(t))
	assert.Equal(t, r.ends(t, cli.ExitConnect).out, "")
	said := strings.SplitAfter(r.stderr, "\n")
	must.Equal(t, len(said), 4, "it is asked three times: %q", said)
	assert.Contains(t, said[0], "within 2s: dlxtop asks again")
	assert.Contains(t, said[1], "within 4s: dlxtop asks again")
	checkSentence(t, said[2], "RabbitMQ answers at", "accepted the connection and gave no answer within 8s")
	assert.Lacks(t, r.stderr, "enable", "it is to be enabled")
}

// impatient makes a program wait two seconds for the management API's first answer.
func impatient(p *cli.Program) {
	p.Source = func(c config.Connection) (cli.Source, error) {
		return mgmt.New(mgmt.Options{
			URL: c.API, Others: c.APIHosts, User: c.User, Password: c.Password, VHost: c.VHost,
			Timeout: 2 * time.Second,
		})
	}
}

// A large, busy broker may take longer for its lists than a first poll waits.
func TestSlowAPI(t *testing.T) {
	v := newVHost(t, "orders.failed")
	v.declare("orders", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.failed"})
	var asked atomic.Int64
	slow := behindProxy(t, func(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/queues") && asked.Add(1) == 1 {
			<-r.Context().Done() // the client gave up
			return
		}
		proxy.ServeHTTP(w, r)
	})

	r := runChanged(t.Context(), impatient, "flows", "--url", v.url(), "--api", slow)
	r.ends(t, cli.ExitDone).shows(t, "orders.failed")
	assert.Equal(t, strings.Count(r.stderr, "gave no answer within 2s: dlxtop asks again and waits longer"), 1)
}

// A command that only needs the management API works without AMQP, and says that the clusters were not compared.
func TestUncheckedCluster(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "q")
	api := strings.Replace(node.API(), "guest:guest@", "", 1)
	for name, c := range map[string]struct {
		args []string
		says string // "": nothing
	}{
		"both are named": {
			[]string{"--url", "amqp://guest:guest@" + dial.Unused(t) + "/" + v.name, "--api", api},
			"not checked that AMQP leads to the same cluster",
		},
		"silence": {
			[]string{"--url", "amqp://guest:guest@" + dial.Silent(t) + "/" + v.name, "--api", api},
			"not checked that AMQP leads to the same cluster",
		},
		"only the API is":      {[]string{"--api", node.API(), "--vhost", v.name}, ""},
		"both lead to the one": {[]string{"--url", v.url(), "--api", api}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, append([]string{"flows", "-o", "json"}, c.args...)...).ends(t, cli.ExitDone)
			assert.That(t, strings.HasPrefix(r.out, "{"), "exit status %d: %s%s", r.status, r.out, r.stderr)
			assert.That(t, c.says != "" || r.stderr == "" || c.args[0] != "--api" && r.quiet(), "it says %s", r.stderr)

			if c.says != "" {
				assert.That(t, strings.HasPrefix(r.stderr, c.says), "it says %q", r.stderr)
				assert.Equal(t, strings.Count(r.stderr, "\n"), 1)
			}
		})
	}
}

var clusterName = regexp.MustCompile(`"cluster_name":"[^"]*"`)

// openDashboard starts the dashboard on a terminal, and ends it as soon as it is opened.
func openDashboard(t *testing.T, opened func(cli.Dashboard), args ...string) result {
	t.Helper()
	_, tty := openPTY(t)
	var errs bytes.Buffer
	p := program(tty, tty, &errs)
	p.Dashboard = func(_ context.Context, d cli.Dashboard) (string, error) {
		opened(d)
		return "", nil
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	return result{status: p.Run(ctx, args), stderr: errs.String(), args: args}
}

// noDashboard returns what is said instead of opening the dashboard.
func noDashboard(t *testing.T, amqpURL, api string) result {
	t.Helper()
	opened := func(cli.Dashboard) { t.Error("the dashboard was opened") }
	return openDashboard(t, opened, "--url", amqpURL, "--api", api)
}

// A user with access to one vhost only, and not the default one, gets in.
func TestDashboardOpens(t *testing.T) {
	v := newVHost(t)
	user := manage.User(t, node.API(), "narrow", "management", v.name)
	var opened config.Connection
	amqpURL := strings.Replace(node.AMQP(), "guest:guest", user+":s3cr3t", 1)
	api := strings.Replace(node.API(), "guest:guest@", "", 1)
	keep := func(d cli.Dashboard) { opened = d.Connection }
	openDashboard(t, keep, "--url", amqpURL, "--api", api, "--read-only").ends(t,
		cli.ExitDone)
	assert.Equal(t, opened.User, user, "opened on %+v", opened)
	assert.That(t, opened.ReadOnly, "opened on %+v", opened)
	assert.Equal(t, opened.VHost, "")
}

// No broker is named, and none runs on this machine; the test pretends that, because another RabbitMQ may run on it.
func TestNothingConfigured(t *testing.T) {
	amqpAddress := dial.Unused(t)
	apiAddress := dial.Unused(t)
	runChanged(t.Context(), func(p *cli.Program) {
		newSource, newBroker := p.Source, p.Broker
		p.Source = func(c config.Connection) (cli.Source, error) {
			assert.That(t, c.Guessed, "the connection was not guessed")
			c.API = "http://" + apiAddress
			return newSource(c)
		}

		p.Broker = func(c config.Connection, j cli.Journal, reads cli.Rereads) (cli.Broker, error) {
			c.AMQP = "amqp://guest:guest@" + amqpAddress
			return newBroker(c, j, reads)
		}
	}, "flows").refuses(t, cli.ExitConnect, "--url", "DLXTOP_URL", "config.toml", "`dlxtop demo`")
}

// From the dashboard the user switches to another context; the command line's caution still applies. If a context
// cannot be opened the dashboard stays where it was, on connections that still work.
func TestGoingToContexts(t *testing.T) {
	first := newNamedVHost(t, "contexts-1")
	second := newNamedVHost(t, "contexts-2")
	env := configured(t, fmt.Sprintf(`
		[contexts.one]
		url = %q
		api = %q
		[contexts.two]
		url = %q
		api = %[2]q
		[contexts.away]
		url = %[4]q`, first.url(), node.API(), second.url(), "amqp://"+dial.Unused(t)))

	master, tty := openPTY(t)
	p := program(tty, tty, tty)
	p.Env = func(name string) string { return env[name] }

	visits := []struct{ goes, vhost, trouble string }{
		{"away", "contexts-1", ""},
		{"no such", "contexts-1", "still one, not away: "},
		{"two", "contexts-1", "there is no context no such"},
		{"", "contexts-2", ""},
	}

	at := 0

	p.Dashboard = func(ctx context.Context, d cli.Dashboard) (string, error) {
		if at == len(visits) {
			t.Error("the dashboard came back after it was left")
			return "", nil
		}

		visit := visits[at]
		at++
		assert.Equal(t, d.Connection.VHost, visit.vhost, "dashboard %d is on vhost %q, read only %v, without a journal %v",
			at, d.Connection.VHost, d.Connection.ReadOnly, d.Connection.NoJournal)
		assert.That(t, d.Connection.ReadOnly, "dashboard %d is on vhost %q, read only %v, without a journal %v", at,
			d.Connection.VHost, d.Connection.ReadOnly, d.Connection.NoJournal)
		assert.That(t, d.Connection.NoJournal, "dashboard %d is on vhost %q, read only %v, without a journal %v", at,
			d.Connection.VHost, d.Connection.ReadOnly, d.Connection.NoJournal)
		assert.Contains(t, d.Trouble, visit.trouble)
		assert.That(t, visit.trouble != "" || d.Trouble == "", "dashboard %d has the trouble %q, want %q", at, d.Trouble,
			visit.trouble)
		assert.List(t, d.Contexts, []string{"away", "one", "two"}, "the contexts")
		_, err := d.Source.Snapshot(ctx)
		assert.That(t, err == nil, "dashboard %d cannot read the broker: %v", at, err)
		assert.Succeeds(t, d.Broker.Check(ctx, visit.vhost))
		return visit.goes, nil
	}

	args := []string{"--context", "one", "--read-only", "--no-journal"}
	status := p.Run(t.Context(), args)
	assert.Equal(t, status, cli.ExitDone, "exit status %d after %d dashboards", status, at)
	assert.Equal(t, at, len(visits))
	tty.Close()
	said, _ := io.ReadAll(master)
	taken := regexp.MustCompile("[^\\r\\n]*\\r\x1b\\[K")
	left := taken.ReplaceAllString(string(said), "")
	assert.Equal(t, left, "", "%q is left on the terminal of %q", left, said)
	assert.Contains(t, string(said), "connecting to two")
}

// secretLetters are the letters of the passwords here: no sentence of dlxtop has two different ones of them in a row,
// so that the smallest leaked part of a password is found.
const secretLetters = "QXZJKV"

// secret returns a password: letters, with characters between them that are special in a URL, a shell or a terminal.
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

// leak returns a part of a password that a text repeats, "" when there is none.
func leak(text, password string) string {
	for i := 0; i+2 <= len(password); i++ {
		part := password[i : i+2]
		if strings.Trim(part, secretLetters) == "" && part[0] != part[1] && strings.Contains(text, part) {
			return part
		}
	}

	return ""
}

// urlWith returns a URL with a password: correctly written, or with one of the usual mistakes.
func urlWith(r *rand.Rand, password string) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	written := pick(password, url.QueryEscape(password), url.PathEscape(password),
		strings.ToLower(url.QueryEscape(password)), strings.TrimPrefix(url.UserPassword("", password).String(), ":"))
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

// named matches the beginning of a URL with a password.
var named = regexp.MustCompile(`^[^:]*://([^:/@]*:|.*password=)`)

// Whatever URL a user gives, dlxtop never repeats its password, in part or as a whole.
func TestNothingRepeatsAPassword(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	dir := configured(t, "")["XDG_CONFIG_HOME"]
	path := filepath.Join(dir, "dlxtop", "config.toml")

	// Few of the URLs name a broker's port correctly: it goes on until enough of them did.
	connected := 0
	for tried := 0; tried < 2000 || connected < 40 && tried < 20_000; tried++ {
		password := secret(r)
		text := urlWith(r, password)
		if u, err := url.Parse(text); err == nil && leak(strings.ToUpper(u.Host), password) != "" {
			continue // "amqp://u:a@b/c@h" is a valid URL with the host b: a@b/c cannot be recognized as a password
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
			must.Do(t, os.WriteFile(path, []byte(content), 0o600))
		default:
			args = []string{"flows", "--url", text}
		}

		ctx, cancel := context.WithTimeout(t.Context(), patience)
		got := runWords(ctx, func(p *cli.Program) { p.Env = func(name string) string { return env[name] } }, args)
		cancel()
		if got.status == cli.ExitConnect {
			connected++
		}

		check(fmt.Sprintf("%q", args[0]), got.out+got.stderr)
	}

	assert.That(t, connected >= 40,
		"only %d of the URLs could be used: nothing was seen of what a connection says", connected)
}

// The error of a broker that refuses the password does not repeat it.
func TestARefusedPasswordIsNotRepeated(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	for range 3 {
		password := secret(r)
		user := url.UserPassword("guest", password).String()
		address := strings.Replace(node.AMQP(), "guest:guest", user, 1)
		api := strings.Replace(node.API(), "guest:guest", user, 1)
		for _, args := range [][]string{
			{"--url", address, "--api", api},
			{"--url", address, "--api", node.API()},
			{"--url", node.AMQP(), "--api", api},
		} {
			got := run(t, append([]string{"flows"}, args...)...)
			part := leak(strings.ToUpper(got.out+got.stderr), password)
			assert.That(t, part == "", "%q of the password %q in %s", part, password, got.stderr)
		}
	}
}
