package broker_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// connectionsOf are the names of a user's connections, "address:port -> address:port". The broker adds and removes them
// at once (3.10.8, 4.0.5, 4.3.6); the list of all connections is up to 1 s late. But a connection that ends as soon as
// it is open may stay in the user's list until the node stops (32 of 12,000 on 3.10.8, 7 on 4.0.5, 3 on 4.3.6): what is
// there for long, and not in the other list, is none.
func connectionsOf(t testing.TB, n *demo.Node, user string) ([]string, error) {
	t.Helper()
	names, status, err := connections(n, "/api/connections/username/"+url.PathEscape(user))
	if status == http.StatusNotFound { // the user was deleted
		names, _, err = connections(n, "/api/connections")
		return names, err
	}
	const long = 10 * time.Second // ten times as late as the other list is
	var suspects []string
	for _, name := range names {
		if since, _ := listedSince.LoadOrStore(name, time.Now()); time.Since(since.(time.Time)) > long {
			suspects = append(suspects, name)
		}
	}
	if err != nil || len(suspects) == 0 {
		return names, err
	}
	all, _, err := connections(n, "/api/connections")
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(suspects, name) && !slices.Contains(all, name)
	}), err
}

// listedSince is when tests first saw a connection's name in a list.
var listedSince sync.Map

func connections(n *demo.Node, path string) (names []string, status int, err error) {
	request, err := http.NewRequest(http.MethodGet, n.API()+path, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Close = true // leaves no goroutine
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, response.StatusCode, errors.New(response.Status)
	}
	var all []struct{ Name string }
	err = json.NewDecoder(response.Body).Decode(&all)
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names, response.StatusCode, err
}

// allGone reports whether the broker has noticed that all connections of a user ended. What they held is back then for
// who consumes from now on, and what they sent is in its queue: a queue hears of the end of a channel after what came
// by it.
func allGone(t testing.TB, n *demo.Node, user string) error {
	t.Helper()
	names, err := connectionsOf(t, n, user)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%s still has connections: %s", user, names)
	}
	return err
}

// gone reports the same of what went through a cable.
func (c *cable) gone(t testing.TB, n *demo.Node, user string) error {
	t.Helper()
	names, err := connectionsOf(t, n, user)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		from, _, _ := strings.Cut(name, " -> ")
		if slices.Contains(c.ends, from) {
			return fmt.Errorf("the connection %s is still there", name)
		}
	}
	return nil
}

// hold takes all messages that a queue has, and leaves them with the channel. Whoever held some before has to be gone.
// What basic.get answers comes after what the queue has heard until then, which a passive declare may overtake, and
// counts the rest. The channel of a connection that is gone may still route what it had read: this comes, too.
func (a *app) hold(channel *amqp.Channel, queue model.QueueRef) (got []amqp.Delivery) {
	a.Helper()
	for {
		first, any, err := channel.Get(queue.Name, false)
		must.Do(a, err)
		if !any {
			return got
		}
		got = append(got, first)
		if n := int(first.MessageCount); n > 0 {
			got = append(got, a.consume(channel, queue, n)...)
		}
	}
}

// empty takes all messages out of a queue. Whoever held some before has to be gone.
func (a *app) empty(queue model.QueueRef) []amqp.Delivery {
	a.Helper()
	channel := a.open()
	defer channel.Close()
	got := a.hold(channel, queue)
	if len(got) > 0 {
		must.Do(a, channel.Ack(0, true))
	}
	a.await(queue, 0)
	return got
}
