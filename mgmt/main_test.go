package mgmt

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
)

// patience bounds every wait for what the broker does on its own: statistics come after 5 s, those of quorum queues
// after 10 s.
const patience = 2 * time.Minute

// choosingExchanges are the plugins whose exchanges choose among their bindings by a rule of their own; they come with
// the server.
var choosingExchanges = []string{"rabbitmq_consistent_hash_exchange", "rabbitmq_random_exchange", "rabbitmq_sharding"}

// startNode starts the one node of this package's tests when the first test asks for it.
var startNode = sync.OnceValues(func() (*demo.Node, error) {
	return demo.Start(context.Background(), demo.Options{Plugins: choosingExchanges})
})

var started atomic.Bool

// SharedNode is the node for tests outside the package: a folder has only one TestMain.
func SharedNode() *demo.Node {
	started.Store(true)
	node, err := startNode()
	if err != nil {
		panic(err)
	}
	return node
}

func TestMain(m *testing.M) {
	code := m.Run()
	if started.Load() {
		if node, err := startNode(); err == nil {
			if err := node.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// broker is the real node as a test sees it.
type broker struct {
	*demo.Node
	t *testing.T
}

func realBroker(t *testing.T) broker {
	t.Helper()
	started.Store(true)
	node := must.Get(startNode())(t)
	return broker{node, t}
}

// put creates an object through the management API; the path begins after /api/.
func (b broker) put(path, body string) { b.t.Helper(); b.send(http.MethodPut, path, body) }

// post posts to the management API; the path begins after /api/.
func (b broker) post(path, body string) { b.t.Helper(); b.send(http.MethodPost, path, body) }

func (b broker) send(method, path, body string) {
	b.t.Helper()
	_, err := manage.Send(context.WithoutCancel(b.t.Context()), method, b.API()+"/api/"+path, body)
	must.That(b.t, err == nil, "%s: %v", path, err)
}

// vhost creates a vhost that lives as long as the test.
func (b broker) vhost(name string) string {
	b.t.Helper()
	b.put("vhosts/"+name, "{}")
	b.t.Cleanup(func() { b.send(http.MethodDelete, "vhosts/"+name, "") })
	return name
}

// user creates a user with permissions on some vhosts; its password is "secret".
func (b broker) user(name, tags string, vhosts ...string) {
	b.t.Helper()
	b.put("users/"+name, fmt.Sprintf(`{"password":"secret","tags":%q}`, tags))
	b.t.Cleanup(func() { b.send(http.MethodDelete, "users/"+name, "") })
	for _, vhost := range vhosts {
		b.put("permissions/"+vhost+"/"+name, `{"configure":".*","write":".*","read":".*"}`)
	}
}

// as is the API's URL with another user in it.
func (b broker) as(user, password string) string {
	u := must.Get(url.Parse(b.API()))(b.t)
	u.User = url.UserPassword(user, password)
	return u.String()
}

// client makes a client that is closed with the test.
func client(t *testing.T, o Options) *Client {
	t.Helper()
	c := must.Get(New(o))(t)
	t.Cleanup(c.Close)
	return c
}

// before puts a proxy before the real node that may change its answers to some paths: for what no RabbitMQ can be made
// to say.
func (b broker) before(change func(path string, body []byte) []byte) *httptest.Server {
	b.t.Helper()
	server := httptest.NewServer(b.proxy(change))
	b.t.Cleanup(server.Close)
	return server
}

func (b broker) proxy(change func(path string, body []byte) []byte) *httputil.ReverseProxy {
	target := must.Get(url.Parse(b.API()))(b.t)
	return &httputil.ReverseProxy{
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		// The node hung up, and so does this: not an answer 502 of its own.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ModifyResponse: func(resp *http.Response) error {
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				return err
			}
			if change != nil {
				body = change(resp.Request.URL.Path, body)
			}
			resp.Body = io.NopCloser(strings.NewReader(string(body)))
			resp.ContentLength = int64(len(body))
			resp.Header.Set("Content-Length", fmt.Sprint(len(body)))
			return nil
		},
	}
}

// through is the URL of a proxy with the node's credentials.
func through(address string) string {
	return strings.Replace(address, "://", "://guest:guest@", 1)
}

// damage replaces the element of a list that has the name; replace gets its object.
func damage(t *testing.T, list []byte, name string, replace func(map[string]any) any) []byte {
	t.Helper()
	var elements []any
	if err := json.Unmarshal(list, &elements); err != nil {
		t.Error(err)
		return list
	}
	for i, element := range elements {
		if object := element.(map[string]any); object["name"] == name {
			elements[i] = replace(object)
		}
	}
	damaged, err := json.Marshal(elements)
	assert.Succeeds(t, err)
	return damaged
}

// await polls until the condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if holds() {
			return
		}
		must.That(t, !time.Now().After(deadline), "after %s still not: %s", patience, what)
	}
}
