package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// StartCluster starts throwaway nodes that form one cluster, and returns when each of them accepts connections. The
// first one runs the port mapper for all: it must not be halted while another one starts. Otherwise it is like Start,
// except that it needs a RabbitMQ on this machine: Docker is not enough.
func StartCluster(ctx context.Context, size int, o Options) (nodes []*Node, err error) {
	server, err := findServer(o.Server)
	if err != nil {
		return nil, err
	}

	// The nodes know one another by their names, which a second attempt could not reuse: so free ports are found for all
	// of them first.
	return onFreePorts(3*size+1, func(ports []int) ([]*Node, error) { return startCluster(ctx, server, size, o, ports) })
}

func startCluster(ctx context.Context, server string, size int, o Options, ports []int) ([]*Node, error) {
	cookie := rand.Text()
	started := make([]*Node, size)
	failures := make([]error, size)
	boot := func(i int, first string) {
		own := ports[1+3*i:]
		l := newLayout(o, own[0], own[1], own[2], ports[0])
		l.cookie, l.joins = cookie, first
		started[i], failures[i] = startNode(ctx, server, l, o)
	}

	boot(0, "")

	if failures[0] == nil {
		var others sync.WaitGroup
		for i := 1; i < size; i++ {
			others.Go(func() { boot(i, started[0].layout.nodeName()) })
		}
		others.Wait()
	}

	if err := errors.Join(failures...); err != nil {
		return nil, errors.Join(err, StopCluster(started))
	}

	return started, nil
}

// StopCluster ends the nodes of a cluster, the first one last: it runs the port mapper for all.
func StopCluster(nodes []*Node) error {
	var failures []error
	for _, node := range slices.Backward(nodes) {
		if node != nil {
			failures = append(failures, node.Stop())
		}
	}

	return errors.Join(failures...)
}

// Nodes are one node, or several of a cluster. Traffic is on the first one.
type Nodes []*Node

// StartNodes starts one node, or a cluster of several, and names these in the log with their process ids: killing one
// is what they are for.
func StartNodes(ctx context.Context, size int, o Options) (nodes Nodes, err error) {
	if size > 1 {
		nodes, err = StartCluster(ctx, size, o)
		for _, n := range nodes {
			pid, err := n.Control(ctx, "eval", "list_to_integer(os:getpid()).")
			if err != nil {
				return nil, errors.Join(err, nodes.Stop())
			}
			n.logf("%s is the process %s", n.Name(), pid)
		}

		return nodes, err
	}

	node, err := Start(ctx, o)
	return Nodes{node}, err
}

// AMQP returns a URL with all nodes. The one with the traffic is the last, so that another one may be killed.
func (n Nodes) AMQP() string {
	return "amqp://guest:guest@" + n.hosts(func(l *layout) int { return l.amqp }) + "/"
}

// API returns the same of the management API.
func (n Nodes) API() string {
	return "http://guest:guest@" + n.hosts(func(l *layout) int { return l.api })
}

func (n Nodes) hosts(port func(*layout) int) string {
	var hosts []string
	for _, node := range slices.Backward(n) {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", port(&node.layout)))
	}

	return strings.Join(hosts, ",")
}

// Play plays on the first node what Node.Play does.
func (n Nodes) Play(ctx context.Context, scenario string, ready func()) error {
	return n[0].Play(ctx, scenario, ready)
}

func (n Nodes) Stop() error { return StopCluster(n) }

func (n *Node) Name() string { return n.layout.nodeName() }
