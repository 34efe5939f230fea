package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/broker/link"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/trouble"
)

func TestCount(t *testing.T) {
	a, c := besideOthers(t)
	classic := a.filled("classic", model.Classic, numbered(3)...).QueueRef
	quorum := a.filled("quorum", model.Quorum, numbered(4)...).QueueRef
	refs := []model.QueueRef{classic, {VHost: "/", Name: "no such queue"}, quorum}
	for i := range 20 { // more than a lane's worth: the kept channels must survive a refusal
		refs = append(refs, a.queue(fmt.Sprint(i), model.Classic).QueueRef)
	}

	for range 3 {
		counts := must.Get(c.Count(t.Context(), refs))(t)
		must.Equal(t, len(counts), 22, "%+v", counts)
		assert.Equal(t, counts[classic].Ready.Or(-1), 3)
		assert.Equal(t, counts[quorum].Ready.Or(-1), 4)
		assert.Equal(t, counts[quorum].Consumers.Or(-1), 0)
		assert.That(t, !counts[classic].Held, "%+v", counts)
	}
}

// countOf returns what is counted of one queue.
func countOf(t testing.TB, c *broker.Client, queue *model.Queue) model.QueueCounts {
	t.Helper()
	return must.Get(c.Count(t.Context(), []model.QueueRef{queue.QueueRef}))(t)[queue.QueueRef]
}

// Messages that dlxtop itself holds are missing from the count, and the count says so.
func TestCountWhileMessagesAreHeld(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		queue := a.filled("q", kind, numbered(5)...)
		began := time.Now()
		count := func() model.QueueCounts { return countOf(t, c, queue) }
		got := count()
		assert.That(t, !got.Held, "it counts as held before anything was taken")
		assert.That(t, !c.Held(began)[queue.QueueRef], "it counts as held before anything was taken")
		var meanwhile model.QueueCounts
		must.Get(c.Read(t.Context(), planPeek(queue, peek.Want{}), func(*message.Message) error {
			meanwhile = count()
			return nil
		}))(t)

		assert.That(t, meanwhile.Held, "while five messages are held: %+v", meanwhile)
		assert.Equal(t, meanwhile.Ready.Or(-1), 0)
		assert.That(t, c.Held(began)[queue.QueueRef], "when it was held is not known")
		assert.That(t, !c.Held(time.Now())[queue.QueueRef], "when it was held is not known")

		a.until(func() error {
			if got := count(); got.Held || got.Ready.Or(-1) != 5 {
				return fmt.Errorf("afterwards: %+v", got)
			}
			return nil
		})
	})
}

// countSurvivesALostBroker: while a broker is away each count is an error, and counting works again when it is back.
func countSurvivesALostBroker(t *testing.T, n *demo.Node) {
	a, c := newAppOn(t, n), clientOf(t, n)
	queue := a.queue("q", model.Classic).QueueRef
	must.Get(c.Count(t.Context(), []model.QueueRef{queue}))(t)
	must.Do(t, n.Halt())

	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := c.Count(ctx, []model.QueueRef{queue})
		cancel()
		var connect *trouble.Error
		if err == nil || ctx.Err() == context.DeadlineExceeded {
			t.Errorf("counted without a broker: %v", err)
		} else if !errors.As(err, &connect) {
			t.Logf("%v", err) // the first one may find the kept channel just closing
		}
	}

	must.Do(t, n.Resume(t.Context()))
	a.until(func() error {
		counts, err := c.Count(t.Context(), []model.QueueRef{queue})
		if err == nil && counts[queue].Ready.Or(-1) != 0 {
			err = fmt.Errorf("%+v", counts)
		}
		return err
	})
}

// connectionsOf returns the names of a user's connections, "address:port -> address:port". The broker adds and removes
// them at once (3.10.8, 4.0.5, 4.3.6); the list of all connections is up to 1 s late. But a connection that ends as
// soon as it is open may stay in the user's list until the node stops (32 of 12,000 on 3.10.8, 7 on 4.0.5, 3 on 4.3.6):
// an entry that stays long without being in the other list does not count.
func connectionsOf(t testing.TB, n *demo.Node, user string) ([]string, error) {
	t.Helper()
	api := manage.Of(t, n.API())
	list, err := api.ListConnectionsOfUser(user)
	if refused, ok := errors.AsType[rabbithole.ErrorResponse](err); ok && refused.StatusCode == http.StatusNotFound {
		return allConnections(api) // the user was deleted
	}

	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}

	const long = 10 * time.Second // ten times the delay of the other list
	var suspects []string
	for _, name := range names {
		if since, _ := listedSince.LoadOrStore(name, time.Now()); time.Since(since.(time.Time)) > long {
			suspects = append(suspects, name)
		}
	}

	if err != nil || len(suspects) == 0 {
		return names, err
	}
	all, err := allConnections(api)
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(suspects, name) && !slices.Contains(all, name)
	}), err
}

// listedSince is when tests first saw a connection's name in a list.
var listedSince sync.Map

func allConnections(api manage.Node) ([]string, error) {
	list, err := api.ListConnections()
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}

	return names, err
}

// allGone reports whether the broker has noticed that all connections of a user ended. What they held is then available
// to new consumers, and what they sent is in its queue: a queue learns of a channel's end after the channel's messages.
func allGone(t testing.TB, n *demo.Node, user string) error {
	t.Helper()
	names, err := connectionsOf(t, n, user)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%s still has connections: %s", user, names)
	}
	return err
}

// gone reports the same for connections through a cable.
func (c *cable) gone(t testing.TB, n *demo.Node, user string) error {
	t.Helper()
	names, err := connectionsOf(t, n, user)
	if err != nil {
		return err
	}
	c.Lock()
	defer c.Unlock()
	for _, name := range names {
		from, _, _ := strings.Cut(name, " -> ")
		if slices.Contains(c.ends, from) {
			return fmt.Errorf("the connection %s is still there", name)
		}
	}

	return nil
}

// hold takes all messages of a queue, and leaves them with the channel. Earlier holders must be gone. The answers to
// basic.get follow everything that the queue has received until then, which a passive declare may overtake, and they
// count the rest. The channel of a connection that is gone may still route what it had read: these messages come, too.
func (a *app) hold(channel *amqp.Channel, queue *model.Queue) (got []amqp.Delivery) {
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

// empty takes all messages out of a queue, also what arrives meanwhile. Earlier holders must be gone.
func (a *app) empty(queue *model.Queue) (got []amqp.Delivery) {
	a.Helper()
	channel := a.open()
	defer channel.Close()
	for more := a.hold(channel, queue); len(more) > 0; more = a.hold(channel, queue) {
		must.Do(a, channel.Ack(0, true))
		got = append(got, more...)
	}

	return got
}

// TestReasonsOfTheBroker provokes refusals by the broker, and checks the reasons derived from them.
func TestReasonsOfTheBroker(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	q := a.queue("q", model.Classic)
	single := a.queue("single", model.Quorum, "x-single-active-consumer", true)

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
		return must.Get(connection.Channel())(t)
	}

	at := func(user *url.Userinfo, vhost string) string {
		u := must.Get(url.Parse(node.AMQP()))(t)
		if user != nil {
			u.User = user
		}
		u.Path = "/" + vhost
		return u.String()
	}

	poor := user(t, "poor", rabbithole.Permissions{})
	stranger := user(t, "stranger")
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
		if errors.Is(test.err, amqp.ErrCredentials) { // the client words it itself
			got = "bad login"
		}
		assert.Equal(t, got, test.want, "%v", test.err)
	}
}
