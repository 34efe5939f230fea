package hosts

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Cluster is what the management API told of the nodes of a cluster. It is safe for concurrent use; nil knows nothing.
type Cluster struct {
	sync.Mutex
	nodes     []string // sorted, each as id@host
	listeners []Listener
}

// Listener is where a node listens for a protocol.
type Listener struct {
	Node     string
	Protocol Protocol
	Port     int
}

// Learn notes what a poll told: the nodes, sorted, whether they run or not, and where those that run listen (nil where
// the user may not see that).
func (c *Cluster) Learn(nodes []string, listeners []Listener) {
	c.Lock()
	defer c.Unlock()
	c.nodes, c.listeners = nodes, listeners
}

// Name returns the one name for the cluster by which one of its nodes calls it. Where no operator gave it a name, each
// node calls the cluster by its own id at the full name of its machine (3.10.8, 4.0.5, 4.3.6): all of these are the
// first node then.
func (c *Cluster) Name(said string) string {
	if c == nil {
		return said
	}
	c.Lock()
	defer c.Unlock()
	isName := func(node string) bool {
		id, host, _ := strings.Cut(node, "@")
		saidID, saidHost, _ := strings.Cut(said, "@")
		return id == saidID && (firstLabel(host) == firstLabel(saidHost) || host == "localhost")
	}
	if len(c.nodes) > 1 && slices.ContainsFunc(c.nodes, isName) {
		return c.nodes[0]
	}

	return said
}

// addresses returns where the nodes listen: at the port of the first given address, where nobody told. A node that
// calls its machine localhost is on the given one.
func (c *Cluster) addresses(protocol Protocol, first string) (all []string) {
	if c == nil {
		return nil
	}
	c.Lock()
	defer c.Unlock()
	if len(c.nodes) < 2 {
		return nil
	}
	given, text, _ := net.SplitHostPort(first)
	port, _ := strconv.Atoi(text)
	listeners := c.listeners
	for _, node := range c.nodes {
		if c.listeners == nil {
			listeners = append(listeners, Listener{node, protocol, port})
		}
	}

	for _, l := range listeners {
		if l.Protocol == protocol {
			all = append(all, c.at(l, given))
		}
	}

	return all
}

// at returns the address of a listener. A node that calls its machine localhost, or is the only one, is on the given
// host.
func (c *Cluster) at(l Listener, given string) string {
	_, host, _ := strings.Cut(l.Node, "@")
	if len(c.nodes) < 2 || host == "" || host == "localhost" || net.ParseIP(host).IsLoopback() {
		host = given
	}
	return net.JoinHostPort(host, strconv.Itoa(l.Port))
}

// Metrics returns where each running node tells its metrics, as scheme://host:port; "" where it does not. address is
// that of the API.
func (c *Cluster) Metrics(address string) map[string]string {
	c.Lock()
	defer c.Unlock()
	given, _, _ := net.SplitHostPort(address)
	at := map[string]string{}
	for _, l := range c.listeners {
		at[l.Node] += ""
		if scheme, tells := strings.CutSuffix(string(l.Protocol), "/prometheus"); tells {
			at[l.Node] = scheme + "://" + c.at(l, given)
		}
	}

	return at
}

func firstLabel(host string) string {
	label, _, _ := strings.Cut(host, ".")
	return label
}
