// Package manage lets tests change a node by its management API: rabbit-hole, whose requests are sent again when a busy
// node hangs up, and whose refusals end the test.
package manage

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/internal/must"
)

// Node is a node's management API, for a test.
type Node struct {
	*rabbithole.Client
	t testing.TB
}

// Of returns the node with this API, whose URL has the user.
func Of(t testing.TB, api string) Node {
	t.Helper()
	u := must.Get(url.Parse(api))(t)
	user := u.User
	u.User = nil
	password, _ := user.Password()
	client := must.Get(rabbithole.NewTLSClient(u.String(), user.Username(), password, patient{}))(t)
	client.SetTimeout(must.Patience)
	return Node{client, t}
}

// Done ends the test when a change was refused, or when there was nothing to delete.
func (n Node) Done(response *http.Response, err error) {
	n.t.Helper()
	must.Do(n.t, refusal(response, err))
}

// refusal returns why a change was not made; rabbit-hole calls it a success when there was nothing to delete.
func refusal(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		return errors.New(response.Status)
	}

	return nil
}

// SetPolicy sets a policy or an operator policy.
func (n Node) SetPolicy(operator bool, p rabbithole.Policy) {
	n.t.Helper()
	if operator {
		n.Done(n.PutOperatorPolicy(p.Vhost, p.Name, rabbithole.OperatorPolicy(p)))
	} else {
		n.Done(n.PutPolicy(p.Vhost, p.Name, p))
	}
}

// Policy sets a policy for queues.
func (n Node) Policy(vhost, name, pattern string, definition map[string]any) {
	n.t.Helper()
	n.SetPolicy(false, rabbithole.Policy{
		Vhost: vhost, Name: name, Pattern: pattern, ApplyTo: "queues", Definition: definition,
	})
}

// VHost creates a vhost that lives as long as the test, and returns its name.
func VHost(t testing.TB, api, name string) string {
	t.Helper()
	n := Of(t, api)
	n.Done(n.PutVhost(name, rabbithole.VhostSettings{}))
	t.Cleanup(func() { n.Done(n.DeleteVhost(name)) })
	return name
}

// Password is the password of all users that tests create: no output may show it.
const Password = "s3cr3t"

// EveryRight is what a user needs who may do all in a vhost.
var EveryRight = rabbithole.Permissions{Configure: ".*", Write: ".*", Read: ".*"}

// User creates a user with all permissions on some vhosts, who lives as long as the test, and returns the name.
func User(t testing.TB, api, name, tags string, vhosts ...string) string {
	t.Helper()
	n := Of(t, api)
	n.Done(n.PutUser(name, rabbithole.UserSettings{Tags: rabbithole.UserTags{tags}, Password: Password}))
	t.Cleanup(func() { n.Done(n.DeleteUser(name)) })
	for _, vhost := range vhosts {
		n.Done(n.UpdatePermissionsIn(vhost, name, EveryRight))
	}

	return name
}

// patient sends a request without an answer again for up to ten seconds, except a POST, which might be executed twice:
// a busy node may close a connection that it has just accepted (3.10.8, 4.3.6).
type patient struct{}

func (patient) RoundTrip(request *http.Request) (*http.Response, error) {
	const pause, limit = 100 * time.Millisecond, 10 * time.Second
	for began, again := time.Now(), false; ; again = true {
		once := request.Clone(request.Context())
		if request.GetBody != nil {
			once.Body, _ = request.GetBody() // of bytes in memory
		}

		response, err := http.DefaultTransport.RoundTrip(once)
		if err != nil && request.Method != http.MethodPost && time.Since(began) < limit {
			time.Sleep(pause)
			continue
		}
		deletedBefore := again && request.Method == http.MethodDelete
		if err == nil && deletedBefore && response.StatusCode == http.StatusNotFound {
			response.StatusCode = http.StatusNoContent // the first one has deleted it
		}

		return response, err
	}
}
