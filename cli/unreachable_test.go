package cli_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"

	"dlxtop/cli"
)

// nobody is an address on which nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestCannotConnect: every way in which a broker keeps us out is one sentence and exit status 3, for scripts and for the
// dashboard alike, whose terminal is not touched.
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
		{"no management plugin", as(user, "s3cr3t", amqpHost, v.name), "http://" + nobody(t), []string{"rabbitmq_management", "--api"}},
		{"no management tag", as(plain, "s3cr3t", amqpHost, v.name), "http://" + apiHost, []string{"management"}},
		{"no permission", as(user, "s3cr3t", amqpHost, foreign.name), "http://" + apiHost, []string{foreign.name, user}},
		{"no such vhost", as(user, "s3cr3t", amqpHost, "missing"), "http://" + apiHost, []string{"missing"}},
		{"no such vhost for an administrator", as("guest", "guest", amqpHost, "missing"), "http://" + apiHost, []string{"missing"}},
		{"TLS to a plain port", "amqps://" + user + ":s3cr3t@" + amqpHost, "https://" + nobody(t), []string{"TLS"}},
		{"TLS to a plain API", as(user, "s3cr3t", amqpHost, v.name), "https://" + apiHost, []string{"TLS"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, command := range [][]string{{"flows"}, {"peek", "q"}, {"drop", "q", "--yes"}, {"findings"}} {
				r := run(t, append(command, "--url", test.url, "--api", test.api)...)
				if r.status != cli.ExitConnect || r.out != "" {
					t.Errorf("%v: exit status %d, %q", command, r.status, r.out)
				}
				checkSentence(t, r.stderr, test.want...)
			}
			status, shown := dashboardAt(t, test.url, test.api)
			if status != cli.ExitConnect {
				t.Errorf("the dashboard: exit status %d", status)
			}
			checkSentence(t, strings.ReplaceAll(shown, "\r\n", "\n"), test.want...)
		})
	}
}

// TestTwoBrokers: what one broker tells is never done on another. What AMQP is not needed for says nothing of it.
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
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(clusterName.ReplaceAll(body, []byte(`"cluster_name":"another@one"`)))
	}))
	defer other.Close()
	file := filepath.Join(t.TempDir(), "messages")
	for _, command := range [][]string{
		{"peek", "q"}, {"drop", "q", "--yes"}, {"drop", "q", "--dry-run"}, {"replay", "q", "--to", "queue:q", "--yes"}, {"export", "q", file},
	} {
		r := run(t, append(command, "--url", v.url(), "--api", other.URL)...)
		if r.status != cli.ExitConnect || r.out != "" {
			t.Errorf("%v: exit status %d, %q", command, r.status, r.out)
		}
		checkSentence(t, r.stderr, "another@one", "--api")
	}
	status, shown := dashboardAt(t, v.url(), other.URL)
	if status != cli.ExitConnect {
		t.Errorf("the dashboard: exit status %d", status)
	}
	checkSentence(t, strings.ReplaceAll(shown, "\r\n", "\n"), "another@one", "--api")
	if r := run(t, "flows", "--url", v.url(), "--api", other.URL); r.status != cli.ExitDone || r.stderr != "" {
		t.Errorf("flows: %d %s", r.status, r.stderr)
	}
	if v.count("q") != 1 {
		t.Error("the message is gone")
	}
}

var clusterName = regexp.MustCompile(`"cluster_name":"[^"]*"`)

// newUser makes a user with a password that no output may show.
func newUser(t *testing.T, name, tags string, vhosts ...string) string {
	t.Helper()
	manage(t, http.MethodPut, "users/"+name, `{"password":"s3cr3t","tags":"`+tags+`"}`)
	t.Cleanup(func() { manage(t, http.MethodDelete, "users/"+name, "") })
	for _, vhost := range vhosts {
		manage(t, http.MethodPut, "permissions/"+url.PathEscape(vhost)+"/"+name, `{"configure":".*","write":".*","read":".*"}`)
	}
	return name
}

// dashboardAt starts the dashboard on a terminal, and returns what it said instead of running.
func dashboardAt(t *testing.T, amqpURL, api string) (status int, stderr string) {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	var errs bytes.Buffer
	p := program(tty, tty, &errs)
	p.Dashboard = func(context.Context, cli.Dashboard) error {
		t.Error("the dashboard was opened")
		return nil
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
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	var errs bytes.Buffer
	p := program(tty, tty, &errs)
	var opened cli.Connection
	p.Dashboard = func(_ context.Context, d cli.Dashboard) error {
		opened = d.Connection
		return nil
	}
	amqpURL := strings.Replace(node.AMQP(), "guest:guest", user+":s3cr3t", 1)
	api := strings.Replace(node.API(), "guest:guest@", "", 1)
	if status := p.Run(t.Context(), []string{"--url", amqpURL, "--api", api, "--read-only"}); status != cli.ExitDone {
		t.Errorf("exit status %d: %s", status, errs.String())
	}
	if opened.User != user || !opened.ReadOnly || opened.VHost != "" {
		t.Errorf("opened on %+v", opened)
	}
}

// TestNothingConfigured: nothing is named, and nothing runs on this machine; which the test pretends, for another RabbitMQ
// may well run on it.
func TestNothingConfigured(t *testing.T) {
	var out, errs bytes.Buffer
	p := program(strings.NewReader(""), &out, &errs)
	newSource, newBroker := p.Source, p.Broker
	amqpAddress, apiAddress := nobody(t), nobody(t)
	p.Source = func(c cli.Connection) (cli.Source, error) {
		if !c.Guessed {
			t.Error("the connection was not guessed")
		}
		c.API = "http://" + apiAddress
		return newSource(c)
	}
	p.Broker = func(c cli.Connection, j cli.Journal) (cli.Broker, error) {
		c.AMQP = "amqp://guest:guest@" + amqpAddress
		return newBroker(c, j)
	}
	if status := p.Run(t.Context(), []string{"flows"}); status != cli.ExitConnect || out.Len() > 0 {
		t.Errorf("exit status %d: %s", status, out.String())
	}
	checkSentence(t, errs.String(), "--url", "DLXTOP_URL", "config.toml", "`dlxtop demo`")
}
