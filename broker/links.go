package broker

import (
	"context"
	"errors"
	"slices"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/wire"
)

// links are the connections to one vhost: one, and further ones while messages are held on it and something else opens
// a channel. RabbitMQ ends the connection whose channel goes beyond a limit (530; 3.10.8, 4.0.5, 4.3.6), and gives back
// what is held on it: so no channel is opened where messages are held.
type links struct {
	mu  sync.Mutex // held while one is made, so that two calls do not make two
	all []*link
}

// link is one connection.
type link struct {
	*amqp.Connection
	wire    *wire.Conn
	holding bool // messages are held on it
	opening int  // channels are being opened on it
	kept    bool // channels stay open on it
}

// connection returns a connection to the vhost, and makes it when there is none that works.
func (c *Client) connection(ctx context.Context, vhost string) (*amqp.Connection, error) {
	l, err := c.linksTo(vhost)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found, err := l.find(ctx, c, vhost, func(*link) bool { return true })
	if err != nil {
		return nil, err
	}
	return found.Connection, nil
}

// toHold returns a connection on which messages can be held: until release no channel is opened on it but by the
// caller.
func (c *Client) toHold(ctx context.Context, vhost string) (held *link, release func(), err error) {
	l, err := c.linksTo(vhost)
	if err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found, err := l.find(ctx, c, vhost, func(l *link) bool { return !l.holding && l.opening == 0 })
	if err != nil {
		return nil, nil, err
	}
	found.holding = true
	return found, func() { l.release(found) }, nil
}

// toOpen opens a channel that is kept, on a connection on which no messages are held.
func (c *Client) toOpen(ctx context.Context, vhost string) (*amqp.Channel, error) {
	l, err := c.linksTo(vhost)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	found, err := l.find(ctx, c, vhost, func(l *link) bool { return !l.holding })
	if err != nil {
		l.mu.Unlock()
		return nil, err
	}
	found.opening++
	found.kept = true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		found.opening--
		l.mu.Unlock()
	}()
	return c.open(found.Connection)
}

// linksTo are the connections to a vhost; "" is the one that the URL names.
func (c *Client) linksTo(vhost string) (*links, error) {
	if vhost == "" {
		vhost = c.uri.Vhost
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errors.New("the connection to the broker was closed")
	}
	if c.links[vhost] == nil {
		c.links[vhost] = &links{}
	}
	return c.links[vhost], nil
}

// find returns the first connection that works and will do, and makes one when there is none. The caller holds the
// lock.
func (l *links) find(ctx context.Context, c *Client, vhost string, does func(*link) bool) (*link, error) {
	l.all = slices.DeleteFunc(l.all, func(l *link) bool { return l.IsClosed() })
	if i := slices.IndexFunc(l.all, does); i >= 0 {
		return l.all[i], nil
	}
	connection, conn, err := c.dial(ctx, vhost, "dlxtop "+c.session)
	if err != nil {
		return nil, err
	}
	made := &link{Connection: connection, wire: conn}
	l.all = append(l.all, made)
	c.watch(connection)
	return made, nil
}

// release ends the holding. A further connection that nobody needs any more is closed.
func (l *links) release(held *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held.holding = false
	held.wire.Forget()
	if len(l.all) > 1 && l.all[0] != held && !held.kept {
		l.all = slices.DeleteFunc(l.all, func(l *link) bool { return l == held })
		wire.HangUp(held.Connection) // it holds nothing
	}
}

// close closes them all.
func (l *links) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.all {
		wire.HangUp(one.Connection)
	}
}
