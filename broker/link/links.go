package link

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/wire"
)

// links are the connections to one vhost: one, and further ones while it holds messages and something else opens a
// channel. RabbitMQ closes the connection whose channel exceeds a limit (530; 3.10.8, 4.0.5, 4.3.6), and requeues what
// it holds: so no channel is opened where messages are held.
type links struct {
	sync.Mutex // held while one is made, so that two calls do not make two
	all        []*Link
}

// Link is one connection, and its wire, whose Cut closes it at once, whatever it waits for.
type Link struct {
	*amqp.Connection
	Wire    *wire.Conn
	holding bool // it holds messages
	opening int  // channels are being opened on it
	kept    bool // it has channels that stay open
}

// Version returns what the broker says that it is.
func (l *Link) Version() string {
	version, _ := l.Properties["version"].(string)
	return version
}

// HangUp closes the connection, and waits briefly for the broker's answer. Cut on its wire does not wait.
func (l *Link) HangUp() { _ = l.CloseDeadline(time.Now().Add(wire.CloseLimit)) }

// Connection returns a connection to the vhost, and makes one when none works.
func (p *Pool) Connection(ctx context.Context, vhost string) (*amqp.Connection, error) {
	_, found, err := p.find(ctx, vhost, func(*Link) bool { return true }, func(*Link) {})
	if err != nil {
		return nil, err
	}
	return found.Connection, nil
}

// Hold returns a connection that can hold messages: until release, only the caller opens channels on it.
func (p *Pool) Hold(ctx context.Context, vhost string) (held *Link, release func(), err error) {
	l, held, err := p.find(ctx, vhost, func(l *Link) bool { return !l.holding && l.opening == 0 },
		func(l *Link) { l.holding = true })
	return held, func() { l.release(held) }, err
}

// KeptChannel opens a channel that stays open, on a connection that holds no messages.
func (p *Pool) KeptChannel(ctx context.Context, vhost string) (*amqp.Channel, error) {
	l, found, err := p.find(ctx, vhost, func(l *Link) bool { return !l.holding }, func(l *Link) {
		l.opening++
		l.kept = true
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		l.Lock()
		found.opening--
		l.Unlock()
	}()

	return p.Open(found.Connection)
}

// linksTo returns the connections to a vhost; "" is the one in the URL.
func (p *Pool) linksTo(vhost string) (*links, error) {
	if vhost == "" {
		vhost = p.uri.Vhost
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("the connection to the broker was closed")
	}
	if p.links[vhost] == nil {
		p.links[vhost] = &links{}
	}

	return p.links[vhost], nil
}

// find returns the first working connection to a vhost that fits, and makes one if there is none. use records its
// purpose, before another call can find it.
func (p *Pool) find(
	ctx context.Context, vhost string, fits func(*Link) bool, use func(*Link),
) (l *links, found *Link, err error) {
	if l, err = p.linksTo(vhost); err != nil {
		return nil, nil, err
	}
	l.Lock()
	defer l.Unlock()
	l.all = slices.DeleteFunc(l.all, func(l *Link) bool { return l.IsClosed() })
	if i := slices.IndexFunc(l.all, fits); i >= 0 {
		found = l.all[i]
	} else {
		if found, err = p.Dial(ctx, vhost, "dlxtop "+p.Session); err != nil {
			return nil, nil, err
		}
		l.all = append(l.all, found)
		p.watch(found)
	}

	use(found)
	return l, found, nil
}

// release ends the holding, and closes a surplus connection.
func (l *links) release(held *Link) {
	l.Lock()
	defer l.Unlock()
	held.holding = false
	held.Wire.Forget()
	if len(l.all) > 1 && l.all[0] != held && !held.kept {
		l.all = slices.DeleteFunc(l.all, func(l *Link) bool { return l == held })
		held.HangUp() // it holds nothing
	}
}

// remake is how often a lost connection is remade while a call waits for the next loss.
const remake = 5 * time.Second

// watch passes the loss of a connection on to Lost, until it is closed.
func (p *Pool) watch(l *Link) {
	closed := l.NotifyClose(make(chan *amqp.Error, 1)) // it closes once
	p.watching.Go(func() {
		why := <-closed
		if why == nil || limitReached(why, "", "", 0) != nil {
			return // we closed it, or a channel exceeded a limit: the call that opened it returns that
		}
		select {
		case p.losses <- Loss(why):
		default: // Lost has not returned the last one yet
		}
	})
}

// Lost waits until a working connection is lost, and says why; nil when ctx ends first. A loss before the call counts,
// unless an earlier call returned it. Meanwhile lost connections are remade, so that the next loss is noticed, too. One
// call at a time.
func (p *Pool) Lost(ctx context.Context) error {
	ticker := time.NewTicker(remake)
	defer ticker.Stop()
	for {
		select {
		case why := <-p.losses:
			return why
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			p.mu.Lock()
			vhosts := slices.Collect(maps.Keys(p.links))
			p.mu.Unlock()
			for _, vhost := range vhosts {
				_, _ = p.Connection(ctx, vhost) // the call that needs it reports why it cannot be made
			}
		}
	}
}
