package cli_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model/plan"
)

// nobody is an address on which nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	defer listener.Close()
	return listener.Addr().String()
}

// TestCannotConnect: every way in which a broker keeps us out is one sentence and exit status 3, for scripts and for
// the dashboard alike, whose terminal is not touched.
func TestCannotConnect(t *testing.T) {
	v, foreign := newVHost(t), newNamedVHost(t, "foreign")
	user := newUser(t, "looker", "management", v.name)
	plain := newUser(t, "no-tag", "", v.name)
	amqpHost := strings.TrimSuffix(strings.TrimPrefix(node.AMQP(), "amqp://guest:guest@"), "/")
	apiHost := strings.TrimPrefix(node.API(), "http://guest:guest@")
	as := func(user, password, host, vhost string) string {
		return "amqp://" + user + ":" + password + "@" + host + "/" + vhost
	}
	for _, test := range []struct {
		name     string
		url, api string
		want     []string
	}{
		{"no broker", as(user, "s3cr3t", nobody(t), ""), "http://" + nobody(t), []string{"127.0.0.1"}},
		{"wrong password", as(user, "s3cr3t-wrong", amqpHost, ""), "http://" + apiHost, []string{"password"}},
		{"wrong password, one vhost", as(user, "s3cr3t-wrong", amqpHost, v.name), "http://" + apiHost, []string{"password"}},
		{
			"no management plugin", as(user, "s3cr3t", amqpHost, v.name), "http://" + nobody(t),
			[]string{"rabbitmq_management", "--api"},
		},
		{
			"an API whose host does not exist", as(user, "s3cr3t", amqpHost, v.name), "http://no-such-host.invalid:15672",
			[]string{"RabbitMQ answers at", "no-such-host.invalid", "--api"},
		},
		{"no management tag", as(plain, "s3cr3t", amqpHost, v.name), "http://" + apiHost, []string{"management"}},
		{"no permission", as(user, "s3cr3t", amqpHost, foreign.name), "http://" + apiHost, []string{foreign.name, user}},
		{"no such vhost", as(user, "s3cr3t", amqpHost, "missing"), "http://" + apiHost, []string{"missing"}},
		{
			"no such vhost for an administrator", as("guest", "guest", amqpHost, "missing"), "http://" + apiHost,
			[]string{"missing"},
		},
		{"TLS to a plain port", "amqps://" + user + ":s3cr3t@" + amqpHost, "https://" + nobody(t), []string{"TLS"}},
		{"TLS to a plain API", as(user, "s3cr3t", amqpHost, v.name), "https://" + apiHost, []string{"TLS"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, command := range [][]string{{"flows"}, {"peek", "q"}, {"drop", "q", "--yes"}, {"findings"}} {
				r := run(t, append(command, "--url", test.url, "--api", test.api)...)
				assert.That(t, r.status == cli.ExitConnect && r.out == "", "%v: exit status %d, %q", command, r.status, r.out)
				checkSentence(t, r.stderr, test.want...)
			}
			status, shown := dashboardAt(t, test.url, test.api)
			assert.Equal(t, status, cli.ExitConnect, "the dashboard: exit status")
			checkSentence(t, strings.ReplaceAll(shown, "\r\n", "\n"), test.want...)
		})
	}
}

// TestTwoBrokers: what one broker tells is never done on another, and not told as if it were of that one.
func TestTwoBrokers(t *testing.T) {
	v := newVHost(t)
	v.declare("q", nil)
	v.fill("q", 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), r.Method, node.API()+r.URL.RequestURI(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		assert.Succeeds(t, err)
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(clusterName.ReplaceAll(body, []byte(`"cluster_name":"another@one"`)))
	}))
	defer other.Close()
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
		await(t, "the cluster is checked", func() bool { // on a busy machine the broker may not answer in time: that is said
			r = run(t, append(command, "--url", v.url(), "--api", other.URL)...)
			return !strings.Contains(r.stderr, "not checked that AMQP leads to the same cluster")
		})
		assert.That(t, r.status == cli.ExitConnect && r.out == "", "%v: exit status %d, %q", command, r.status, r.out)
		checkSentence(t, r.stderr, "another@one", "--api")
	}
	status, shown := dashboardAt(t, v.url(), other.URL)
	assert.Equal(t, status, cli.ExitConnect, "the dashboard: exit status")
	checkSentence(t, strings.ReplaceAll(shown, "\r\n", "\n"), "another@one", "--api")
	assert.That(t, v.count("q") == 1, "the message is gone")
}

// TestSilentAPI: a management API that accepts and never answers is there, and RabbitMQ runs: nothing has to be
// enabled.
func TestSilentAPI(t *testing.T) {
	v := newVHost(t)
	var out, errs bytes.Buffer
	status := impatient(&out, &errs).Run(t.Context(), []string{"flows", "--url", v.url(), "--api", "http://" +
		silent(t)})
	assert.That(t, status == cli.ExitConnect && out.Len() <= 0, "exit status %d: %s", status, out.String())
	said := strings.SplitAfter(errs.String(), "\n")
	assert.That(t, len(said) == 4 && strings.Contains(said[0], "within 500ms: dlxtop asks again") &&
		strings.Contains(said[1], "within 1s: dlxtop asks again"), "it is asked three times: %q", said)
	checkSentence(t, said[2], "RabbitMQ answers at", "accepted the connection and gave no answer within 2s")
	assert.That(t, !strings.Contains(errs.String(), "enable"), "it is to be enabled: %s", errs.String())
}

// impatient is a program that waits half a second for a first answer of the management API.
func impatient(out, errs io.Writer) *cli.Program {
	p := program(strings.NewReader(""), out, errs)
	p.Source = func(c config.Connection) (cli.Source, error) {
		return mgmt.New(mgmt.Options{
			URL: c.API, User: c.User, Password: c.Password, VHost: c.VHost,
			Timeout: 500 * time.Millisecond,
		})
	}
	return p
}

// TestSlowAPI: a large broker that is busy may take longer for its lists than a first poll waits.
func TestSlowAPI(t *testing.T) {
	v := newVHost(t)
	v.declare("orders.failed", nil)
	v.declare("orders", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.failed"})
	api := must.Get(url.Parse(node.API()))(t)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: api.Scheme, Host: api.Host})
	var asked atomic.Int64
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/queues") && asked.Add(1) == 1 {
			<-r.Context().Done() // the client gave up
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer slow.Close()
	var out, errs bytes.Buffer
	status := impatient(&out, &errs).Run(t.Context(), []string{"flows", "--url", v.url(), "--api", slow.URL})
	if status != cli.ExitDone || !strings.Contains(out.String(), "orders.failed") ||
		strings.Count(errs.String(), "gave no answer within 500ms: dlxtop asks again and waits longer") != 1 {
		t.Errorf("exit status %d, %q, %q", status, out.String(), errs.String())
	}
}

// TestUncheckedCluster: a command that needs the management API only works without AMQP, and says that nobody compared
// the two.
func TestUncheckedCluster(t *testing.T) {
	v := newVHost(t)
	v.declare("q", nil)
	api := strings.Replace(node.API(), "guest:guest@", "", 1)
	for name, c := range map[string]struct {
		args []string
		says string // "" nothing
	}{
		"both are named": {
			[]string{"--url", "amqp://guest:guest@" + nobody(t) + "/" + v.name, "--api", api},
			"not checked that AMQP leads to the same cluster",
		},
		"silence": {
			[]string{"--url", "amqp://guest:guest@" + silent(t) + "/" + v.name, "--api", api},
			"not checked that AMQP leads to the same cluster",
		},
		"only the API is":      {[]string{"--api", node.API(), "--vhost", v.name}, ""},
		"both lead to the one": {[]string{"--url", v.url(), "--api", api}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, append([]string{"flows", "-o", "json"}, c.args...)...)
			assert.That(t, r.status == cli.ExitDone && strings.HasPrefix(r.out, "{"),
				"exit status %d: %s%s", r.status, r.out, r.stderr)
			assert.That(t, c.says != "" || r.stderr == "" || c.args[0] != "--api" && r.quiet(), "it says %s", r.stderr)
			if c.says != "" {
				assert.That(t, strings.HasPrefix(r.stderr, c.says) && strings.Count(r.stderr, "\n") == 1, "it says %q", r.stderr)
			}
		})
	}
}

// silent is an address that accepts connections and never says a word.
func silent(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	var open []net.Conn
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open = append(open, conn)
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-ended
		for _, conn := range open {
			conn.Close()
		}
	})
	return listener.Addr().String()
}

var clusterName = regexp.MustCompile(`"cluster_name":"[^"]*"`)

// newUser makes a user with a password that no output may show.
func newUser(t *testing.T, name, tags string, vhosts ...string) string {
	t.Helper()
	configure(t, http.MethodPut, "users/"+name, `{"password":"s3cr3t","tags":"`+tags+`"}`)
	t.Cleanup(func() { configure(t, http.MethodDelete, "users/"+name, "") })
	for _, vhost := range vhosts {
		configure(t, http.MethodPut, "permissions/"+url.PathEscape(vhost)+"/"+name,
			`{"configure":".*","write":".*","read":".*"}`)
	}
	return name
}

// dashboardAt starts the dashboard on a terminal, and returns what it said instead of running.
func dashboardAt(t *testing.T, amqpURL, api string) (status int, stderr string) {
	t.Helper()
	master, tty, err := pty.Open()
	must.Do(t, err)
	defer master.Close()
	defer tty.Close()
	var errs bytes.Buffer
	p := program(tty, tty, &errs)
	p.Dashboard = func(context.Context, cli.Dashboard) (string, error) {
		t.Error("the dashboard was opened")
		return "", nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return p.Run(ctx, []string{"--url", amqpURL, "--api", api}), errs.String()
}

// TestDashboardOpens: a user who has one vhost only, and not the default one, gets in.
func TestDashboardOpens(t *testing.T) {
	v := newVHost(t)
	user := newUser(t, "narrow", "management", v.name)
	master, tty, err := pty.Open()
	must.Do(t, err)
	defer master.Close()
	defer tty.Close()
	var errs bytes.Buffer
	p := program(tty, tty, &errs)
	var opened config.Connection
	p.Dashboard = func(_ context.Context, d cli.Dashboard) (string, error) {
		opened = d.Connection
		return "", nil
	}
	amqpURL := strings.Replace(node.AMQP(), "guest:guest", user+":s3cr3t", 1)
	api := strings.Replace(node.API(), "guest:guest@", "", 1)
	status := p.Run(t.Context(), []string{"--url", amqpURL, "--api", api, "--read-only"})
	assert.That(t, status == cli.ExitDone, "exit status %d: %s", status, errs.String())
	assert.That(t, opened.User == user && opened.ReadOnly && opened.VHost == "", "opened on %+v", opened)
}

// TestNothingConfigured: nothing is named, and nothing runs on this machine; which the test pretends, for another
// RabbitMQ may well run on it.
func TestNothingConfigured(t *testing.T) {
	var out, errs bytes.Buffer
	p := program(strings.NewReader(""), &out, &errs)
	newSource, newBroker := p.Source, p.Broker
	amqpAddress, apiAddress := nobody(t), nobody(t)
	p.Source = func(c config.Connection) (cli.Source, error) {
		assert.That(t, c.Guessed, "the connection was not guessed")
		c.API = "http://" + apiAddress
		return newSource(c)
	}
	p.Broker = func(c config.Connection, j cli.Journal, reread plan.Reread) (cli.Broker, error) {
		c.AMQP = "amqp://guest:guest@" + amqpAddress
		return newBroker(c, j, reread)
	}
	status := p.Run(t.Context(), []string{"flows"})
	assert.That(t, status == cli.ExitConnect && out.Len() <= 0, "exit status %d: %s", status, out.String())
	checkSentence(t, errs.String(), "--url", "DLXTOP_URL", "config.toml", "`dlxtop demo`")
}
