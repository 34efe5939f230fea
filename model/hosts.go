package model

import (
	"net"
	"slices"
	"strings"
	"sync/atomic"
)

// Hosts are the nodes of one cluster, each as host:port. Calls use the current one, and go on with the next when it
// does not answer. It is safe for concurrent use.
type Hosts struct {
	all     []string
	current atomic.Int64
}

// NewHosts returns the hosts in the order in which they are tried.
func NewHosts(first string, others ...string) *Hosts {
	return &Hosts{all: append([]string{first}, others...)}
}

// First returns the address by which the broker is known, whichever node answers.
func (h *Hosts) First() string { return h.all[0] }

// Current returns the address that answered last.
func (h *Hosts) Current() string { return h.all[h.current.Load()%int64(len(h.all))] }

// String lists the addresses.
func (h *Hosts) String() string { return strings.Join(h.all, ", ") }

// Several reports whether there is more than one.
func (h *Hosts) Several() bool { return len(h.all) > 1 }

// Next gives up the current host.
func (h *Hosts) Next() { h.current.Add(1) }

// Try calls a function with one address after the other, beginning with the current one, while elsewhere holds for its
// error: last is the last of them. What answered is the current one from then on.
func (h *Hosts) Try(call func(address string, last bool) error, elsewhere func(error) bool) (err error) {
	start := h.current.Load()
	for i := range int64(len(h.all)) {
		address := h.all[(start+i)%int64(len(h.all))]
		if err = call(address, i == int64(len(h.all))-1); err == nil || !elsewhere(err) {
			h.current.CompareAndSwap(start, start+i)
			return err
		}
	}

	return err
}

// HostOf returns an address without its port.
func HostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// ClusterName returns the one name for a cluster of these nodes, each as id@host, by which one of them calls it. Where
// no operator gave it a name, each node calls the cluster by its own id at the full name of its machine (3.10.8, 4.0.5,
// 4.3.6): all of these are the first node then. Nodes have to be sorted.
func ClusterName(said string, nodes []string) string {
	isName := func(node string) bool {
		id, host, _ := strings.Cut(node, "@")
		saidID, saidHost, _ := strings.Cut(said, "@")
		return id == saidID && (firstLabel(host) == firstLabel(saidHost) || host == "localhost")
	}
	if len(nodes) > 1 && slices.ContainsFunc(nodes, isName) {
		return nodes[0]
	}

	return said
}

func firstLabel(host string) string {
	label, _, _ := strings.Cut(host, ".")
	return label
}
