// Package demo starts throwaway RabbitMQ nodes and runs scenarios with live traffic on them: for `dlxtop demo`, and for
// every test that needs a real broker.
package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// bootLimit is how long a node may take from its start to its first answers. Usually it takes 3 to 6 s, and longer on a
// busy machine.
const bootLimit = 3 * time.Minute

// Options are how Start starts a node. The zero value is valid.
type Options struct {
	// path of a rabbitmq-server script; empty: $DLXTOP_RABBITMQ_SERVER, then the installed one, then Docker
	Server string
	Log    io.Writer // progress lines for a person; nil: silent

	Plugins  []string // enabled besides rabbitmq_management; not with Docker
	Settings string   // further lines of rabbitmq.conf; not with Docker
}

// Node is a throwaway RabbitMQ node on 127.0.0.1, with the management plugin and the user guest. It leaves nothing
// behind: it ends with Stop, and when the process that started it ends in any way. It is safe for concurrent use.
type Node struct {
	layout  layout
	backend backend
	log     io.Writer
	version string

	mu      sync.Mutex // held by Stop, Halt, Resume
	stopped bool
	halted  bool
}

// backend is what runs a node's broker: a server script on this machine, or Docker.
type backend interface {
	// runs it, for the first time or again, on the same ports and data, without waiting until it is ready
	start(ctx context.Context) error
	halt(ctx context.Context) error                          // shuts it down and keeps ports and data
	ended() error                                            // nil while it runs, otherwise why it does not
	control(ctx context.Context, command []string) *exec.Cmd // rabbitmqctl with a command, not run yet
	remove() error                                           // ends it for good, with everything that it left
}

var nodes atomic.Int64 // counts this process's nodes, for their names

// Start starts a node and returns when it accepts AMQP connections and its management API answers. ctx (and a limit of
// 3 min) only bounds the start: the node runs until Stop. Without RabbitMQ or Docker on this machine the error says
// what to install; if the server ends while booting, the error has the last lines of its log.
func Start(ctx context.Context, o Options) (*Node, error) {
	server, err := findServer(o.Server)
	if err != nil && (!errors.Is(err, errNoServer) || !dockerWorks(ctx)) {
		return nil, err
	}
	return onFreePorts(4, func(ports []int) (*Node, error) {
		return startNode(ctx, server, newLayout(o, ports[0], ports[1], ports[2], ports[3]), o)
	})
}

// onFreePorts starts something on free ports. If one is taken between finding it and the boot, it tries others.
func onFreePorts[T any](n int, start func(ports []int) (T, error)) (started T, err error) {
	for attempt := 1; ; attempt++ {
		ports, err := freePorts(n)
		if err != nil {
			return started, err
		}
		started, err = start(ports)
		if err == nil || attempt == 3 || !errors.Is(err, errPortTaken) {
			return started, err
		}
	}
}

func newLayout(o Options, amqp, api, dist, epmd int) layout {
	return layout{
		plugins:  append([]string{"rabbitmq_management"}, o.Plugins...),
		settings: o.Settings,
		name:     fmt.Sprintf("dlxtop-%d-%d", os.Getpid(), nodes.Add(1)),
		amqp:     amqp,
		api:      api,
		dist:     dist,
		epmdP:    epmd,
		cookie:   rand.Text(),
	}
}

// startNode starts the node of a layout; server is "" for Docker.
func startNode(ctx context.Context, server string, l layout, o Options) (node *Node, err error) {
	n := &Node{log: o.Log, layout: l}
	if server == "" {
		n.backend, err = newContainer(n.layout)
	} else {
		n.layout.dir, err = os.MkdirTemp("", n.layout.name+"-")
		if err == nil {
			n.backend, err = newInstalled(server, n.layout)
		}
	}

	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.backend.remove())
			node = nil
		}
	}()

	n.logf("starting a throwaway RabbitMQ (%s)", n.backend)
	begin := time.Now()

	if err := n.boot(ctx); err != nil {
		return nil, err
	}
	n.logf("RabbitMQ %s is up after %.1f s: %s", n.version, time.Since(begin).Seconds(), n.AMQP())
	return n, nil
}

// boot runs the broker and waits until it answers on both ports.
func (n *Node) boot(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, bootLimit, fmt.Errorf("it was not ready after %s", bootLimit))
	defer cancel()
	if err := n.backend.start(ctx); err != nil {
		return fmt.Errorf("start a RabbitMQ node: %w", err)
	}
	err := until(ctx, 100*time.Millisecond, func(ctx context.Context) error {
		if err := n.backend.ended(); err != nil {
			return giveUp{err}
		}

		// The management listener comes last: before it, a handshake would only add lines to the log.
		version, err := overview(ctx, n.API())
		if err != nil {
			return err
		}
		n.version = version
		return handshake(ctx, n.AMQP())
	})
	if err != nil {
		return fmt.Errorf("start a RabbitMQ node: %w", err)
	}

	return nil
}

// AMQP returns the URL of the node's AMQP port with its credentials and the vhost "/":
// amqp://guest:guest@127.0.0.1:PORT/
func (n *Node) AMQP() string {
	return fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", n.layout.amqp)
}

// API returns the base URL of the node's management API with its credentials and without a trailing slash:
// http://guest:guest@127.0.0.1:PORT
func (n *Node) API() string {
	return fmt.Sprintf("http://guest:guest@127.0.0.1:%d", n.layout.api)
}

// Version returns the version that the broker reports, for example "3.10.8".
func (n *Node) Version() string { return n.version }

// Stop ends the node at once and removes everything that it left: processes, port mapper, data. It may be called again;
// later calls wait for the first and return nil.
func (n *Node) Stop() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		return nil
	}
	n.stopped = true
	if err := n.backend.remove(); err != nil {
		return fmt.Errorf("stop the RabbitMQ node %s: %w", n.layout.name, err)
	}

	return nil
}

// Halt shuts the broker down as an administrator would. Its ports and data stay: Resume starts it again.
func (n *Node) Halt() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped || n.halted {
		return fmt.Errorf("halt the RabbitMQ node %s: it does not run", n.layout.name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := n.backend.halt(ctx); err != nil {
		return fmt.Errorf("halt the RabbitMQ node %s: %w", n.layout.name, err)
	}
	n.halted = true
	return nil
}

// Resume starts a halted broker again on the same ports and data, and returns when it is ready. ctx and a limit of
// 3 min bound it.
func (n *Node) Resume(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped || !n.halted {
		return fmt.Errorf("resume the RabbitMQ node %s: it is not halted", n.layout.name)
	}
	if err := n.boot(ctx); err != nil {
		return err
	}
	n.halted = false
	return nil
}

// Replace makes the next Resume run another server script, on the same data, and returns the one before; not with
// Docker.
func (n *Node) Replace(server string) (before string) {
	script := n.backend.(*installed)
	before, script.server = script.server, server
	return before
}

// Control runs rabbitmqctl with a command for this node, for example "eval" and an Erlang expression, and returns its
// output without surrounding spaces. It takes a second or two: rabbitmqctl is a separate Erlang system.
func (n *Node) Control(ctx context.Context, command ...string) (string, error) {
	out, err := n.backend.control(ctx, append([]string{"--quiet"}, command...)).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("rabbitmqctl %s on %s: %w: %s", strings.Join(command, " "), n.layout.name, err, text)
	}
	return text, nil
}

func (n *Node) logf(format string, values ...any) {
	if n.log != nil {
		fmt.Fprintf(n.log, format+"\n", values...)
	}
}
