package broker_test

import (
	"errors"
	"net/url"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// TestReasonsOfTheBroker lets the broker refuse things, and reads why out of what it says.
func TestReasonsOfTheBroker(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	q, single := a.queue("q", model.Classic), a.queue("single", model.Quorum, "x-single-active-consumer", true)
	dial := func(u string) (*amqp.Connection, error) {
		connection, err := amqp.Dial(u)
		if err == nil {
			t.Cleanup(func() { connection.Close() })
		}
		return connection, err
	}
	channel := func(u string) *amqp.Channel {
		t.Helper()
		connection := must.Get(dial(u))(t)
		c := must.Get(connection.Channel())(t)
		return c
	}
	at := func(user *url.Userinfo, vhost string) string {
		u := must.Get(url.Parse(node.AMQP()))(t)
		if user != nil {
			u.User = user
		}
		u.Path = "/" + vhost
		return u.String()
	}
	poor, stranger := user(t, "poor", `{"configure":"","write":"","read":""}`), user(t, "stranger", "")
	owned := must.Get(channel(node.AMQP()).QueueDeclare("", false, false, true, false, nil))(t)
	must.Get(channel(node.AMQP()).Consume(q.Name, "", false, true, false, false, nil))(t)
	consume := func(u, queue string) error {
		_, err := channel(u).Consume(queue, "", false, false, false, false, nil)
		return err
	}
	get := func(queue string) error {
		_, _, err := channel(node.AMQP()).Get(queue, false)
		return err
	}
	login := func(u string) error {
		_, err := dial(u)
		return err
	}
	publish := func() error {
		c := channel(poor)
		closed := c.NotifyClose(make(chan *amqp.Error, 1))
		if err := c.PublishWithContext(t.Context(), "amq.fanout", "", false, false, amqp.Publishing{}); err != nil {
			return err
		}
		return <-closed
	}
	for _, test := range []struct {
		on   link.Attempt
		want link.Reason
		err  error
	}{
		{link.OnQueue, "no queue", get("no such queue")},
		{link.OnQueue, "other's queue", get(owned.Name)},
		{link.OnQueue, "exclusive consume", consume(node.AMQP(), q.Name)},
		{link.OnQueue, "active consumer", get(single.Name)},
		{link.OnQueue, "no read right", consume(poor, q.Name)},
		{link.OnPublish, "no write right", publish()},
		{link.OnLogin, "no vhost", login(at(nil, "no such vhost"))},
		{link.OnLogin, "no vhost right", login(stranger)},
		{link.OnLogin, "bad login", login(at(url.UserPassword("guest", "wrong"), ""))},
	} {
		got := link.ReasonOf(test.on, test.err)
		if errors.Is(test.err, amqp.ErrCredentials) { // the client says it in its own words
			got = "bad login"
		}
		assert.Equal(t, got, test.want, "%v", test.err)
	}
}
