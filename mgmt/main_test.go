package mgmt

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/shared"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// patience bounds every wait for what the broker does on its own: statistics come after 5 s, those of quorum queues
// after 10 s.
const patience = 2 * time.Minute

// plugins come with the server: exchanges that choose among their bindings by a rule of their own, and shovels.
var plugins = []string{
	"rabbitmq_consistent_hash_exchange", "rabbitmq_random_exchange", "rabbitmq_sharding", "rabbitmq_shovel",
	"rabbitmq_shovel_management", "rabbitmq_recent_history_exchange", "rabbitmq_federation",
	"rabbitmq_federation_management",
}

// testNode is the only node of this package's tests.
var testNode = shared.Node{Options: demo.Options{Plugins: plugins}}

func TestMain(m *testing.M) { os.Exit(testNode.Run(m)) }

// broker is the real node for a test.
type broker struct {
	*demo.Node
	t *testing.T
}

func realBroker(t *testing.T) broker {
	t.Helper()
	return broker{testNode.Get(t), t}
}

// api returns the node's management API.
func (b broker) api() manage.Node { return manage.Of(b.t, b.API()) }

// queue declares a durable queue.
func (b broker) queue(vhost, name string, arguments amqp.Table) {
	b.t.Helper()
	n := b.api()
	n.Done(n.DeclareQueue(vhost, name, rabbithole.QueueSettings{Durable: true, Arguments: arguments}))
}

// vhost creates a vhost for the duration of the test.
func (b broker) vhost(name string) string {
	b.t.Helper()
	return manage.VHost(b.t, b.API(), name)
}

// as returns the API's URL with another user.
func (b broker) as(user, password string) string {
	u := must.Get(url.Parse(b.API()))(b.t)
	u.User = url.UserPassword(user, password)
	return u.String()
}

// client makes a client that is closed with the test.
func client(t *testing.T, o Options) *Client {
	t.Helper()
	o.Timeout = cmp.Or(o.Timeout, patience)
	c := must.Get(New(o))(t)
	t.Cleanup(c.Close)
	return c
}

// before returns the URL of a proxy in front of the real node that may change its answers to some paths: for answers
// that no RabbitMQ can be made to give.
func (b broker) before(change func(path string, body []byte) []byte) string {
	b.t.Helper()
	return served(b.t, b.proxy(change).ServeHTTP)
}

// served returns the URL of a server, with the node's credentials.
func served(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return through(server.URL)
}

// connectError returns an error as the explanation that it must be.
func connectError(t *testing.T, err error) *trouble.Error {
	t.Helper()
	connect, ok := errors.AsType[*trouble.Error](err)
	must.That(t, ok, "%v is no trouble.Error", err)
	return connect
}

func (b broker) proxy(change func(path string, body []byte) []byte) *httputil.ReverseProxy {
	target := must.Get(url.Parse(b.API()))(b.t)
	return &httputil.ReverseProxy{
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		// The node hung up, and so does this, instead of answering 502 itself.
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

// through returns the URL of a proxy with the node's credentials.
func through(address string) string {
	return strings.Replace(address, "://", "://guest:guest@", 1)
}

// damage replaces the element of a list with this name; replace gets its object.
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

// stage is a vhost in which a test makes the broker misbehave.
type stage struct {
	t       *testing.T
	b       broker
	vhost   string
	channel *amqp.Channel
	poll    *Client
	seen    *model.Topology // by the polls for findings: some need several
}

func newStage(t *testing.T) *stage {
	t.Helper()
	t.Parallel() // they mostly wait for the broker's statistics
	b := realBroker(t)
	name := strings.NewReplacer("/", "-", " ", "-", ",", "").Replace(t.Name())
	s := &stage{t: t, b: b, vhost: b.vhost(name)}
	s.channel = dial.Channel(s.t, b.AMQP()+name)
	s.poll = client(t, Options{URL: b.API(), VHost: name})
	return s
}

// ref returns the queue of a name in the vhost of the stage.
func (s *stage) ref(name string) model.QueueRef { return model.QueueRef{VHost: s.vhost, Name: name} }

func (s *stage) queue(name string, arguments amqp.Table) {
	s.t.Helper()
	must.Get(s.channel.QueueDeclare(name, true, false, false, false, arguments))(s.t)
}

func (s *stage) exchange(kind, name string, arguments amqp.Table) {
	s.t.Helper()
	must.Do(s.t, s.channel.ExchangeDeclare(name, kind, true, false, false, false, arguments))
}

func (s *stage) bind(queue, key, exchange string) {
	s.t.Helper()
	must.Do(s.t, s.channel.QueueBind(queue, key, exchange, false, nil))
}

// publish puts a message into a queue and reports whether the broker accepted it.
func (s *stage) publish(queue string, headers amqp.Table) bool {
	s.t.Helper()
	return s.confirmed("", queue, amqp.Publishing{Headers: headers, Body: []byte("m")})
}

func (s *stage) confirmed(exchange, key string, p amqp.Publishing) bool {
	s.t.Helper()
	return dial.Send(s.t, s.channel, exchange, key, p)
}

func (s *stage) depth(queue string) int {
	s.t.Helper()
	return depth.Of(s.t, s.channel, queue)
}

func (s *stage) awaitDepth(queue string, want int) {
	s.t.Helper()
	must.Await(s.t, fmt.Sprintf("%d messages in %s", want, queue), func() bool { return s.depth(queue) == want })
}

// take waits for a message of a queue and takes it.
func (s *stage) take(queue string) amqp.Delivery {
	s.t.Helper()
	var got amqp.Delivery
	must.Await(s.t, "a message in "+queue, func() bool {
		d, ok, err := s.channel.Get(queue, false)
		must.Do(s.t, err)
		got = d
		return ok
	})

	return got
}

// finds waits for a finding about a queue, and returns it.
func (s *stage) finds(code, queue string) findings.Finding {
	s.t.Helper()
	var found findings.Finding
	pollUntil(s.t, s.poll, "the finding "+code+" about "+queue, func(snapshot *model.Snapshot) bool {
		s.seen = s.seen.Next(snapshot)
		for _, f := range findings.Of(s.seen) {
			if f.Code == code && f.Queue == queue {
				found = f
				return true
			}
		}
		return false
	})

	return found
}

// known returns the topology once it is known who consumes some queues.
func (s *stage) known(queues ...string) *model.Topology {
	s.t.Helper()
	return model.NewTopology(pollUntil(s.t, s.poll, fmt.Sprintf("%q are known", queues), func(now *model.Snapshot) bool {
		return !slices.ContainsFunc(queues, func(q string) bool { return !find(s.t, now, q).Consumers.Known() })
	}))
}

// silent checks that there is no finding of a code, about these queues or any, once everything is known about every
// queue. What was just fixed may still be in the statistics: it has to disappear.
func (s *stage) silent(code string, queues ...string) {
	s.t.Helper()
	pollUntil(s.t, s.poll, "all queues are known, and no finding "+code, func(snapshot *model.Snapshot) bool {
		for i := range snapshot.Queues {
			if q := &snapshot.Queues[i]; q.PolicyDefinition == nil || !q.Consumers.Known() || !q.Ready.Known() {
				return false
			}
		}

		return !slices.ContainsFunc(findings.Of(model.NewTopology(snapshot)),
			func(f findings.Finding) bool {
				return f.Code == code && (len(queues) == 0 || slices.Contains(queues, f.Queue))
			})
	})
}
