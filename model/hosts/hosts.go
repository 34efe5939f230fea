// Package hosts knows where a cluster is reached: at the addresses that the user named, and at those that it named.
package hosts

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model/trouble"
)

// Protocol is how RabbitMQ calls what a node listens for.
type Protocol string

const (
	AMQP  Protocol = "amqp"
	AMQPS Protocol = "amqp/ssl"
	HTTP  Protocol = "http"
	HTTPS Protocol = "https"
)

// hostTimeout is how long one of several hosts may take.
const hostTimeout = 2 * time.Second

// List has the nodes of one cluster, each as host:port: those that the user named, then those that the cluster did.
// Calls use the current one, and go on with others when it does not answer. It is safe for concurrent use.
type List struct {
	given    []string
	cluster  *Cluster
	protocol Protocol

	sync.Mutex
	current string
}

// New returns the hosts that the user named, in the order in which they are tried, and with them the nodes that a
// cluster names; nil: none.
func New(cluster *Cluster, protocol Protocol, first string, others ...string) *List {
	return &List{
		given:    append([]string{first}, others...),
		cluster:  cluster,
		protocol: protocol,
		current:  first,
	}
}

// First returns the address by which the broker is known, whichever node answers.
func (h *List) First() string { return h.given[0] }

// Current returns the address that is tried, or that answered last.
func (h *List) Current() string {
	h.Lock()
	defer h.Unlock()
	return h.current
}

// Several reports whether there is more than one.
func (h *List) Several() bool { return len(h.all()) > 1 }

// all returns the given ones and then the others.
func (h *List) all() []string {
	all := slices.Clone(h.given)
	for _, address := range h.cluster.addresses(h.protocol, h.given[0]) {
		if !slices.Contains(all, address) {
			all = append(all, address)
		}
	}

	return all
}

// Try calls a function with one address after the other, beginning with the current one, while its error is a
// *trouble.Error that another node may not have. limit is how long it may take: whole for the last host that the
// user named. Of several errors, the one that the user can mend counts.
func (h *List) Try(whole time.Duration, call func(address string, limit time.Duration) error) error {
	order, patient := h.all(), len(h.given)-1
	if i := slices.Index(order, h.Current()); i > 0 {
		if i > patient {
			patient++
		}
		order = slices.Insert(slices.Delete(order, i, i+1), 0, h.Current())
	}

	var worst *trouble.Error
	for i, address := range order {
		limit := min(whole, hostTimeout)
		if i == patient {
			limit = whole
		}

		h.use(address)
		err := call(address, limit)
		var told *trouble.Error
		if !errors.As(err, &told) || !slices.Contains(elsewhere, told.Kind) {
			return err
		}
		if worst == nil || !slices.Contains(mendable, worst.Kind) {
			worst = told
		}
	}

	h.use(order[0])
	if len(order) == 1 || worst.Kind == trouble.TooSlow || slices.Contains(mendable, worst.Kind) {
		return worst
	}

	none := trouble.AMQPNoHostAnswers
	if h.protocol == HTTP || h.protocol == HTTPS {
		none = trouble.APINoHostAnswers
	}

	return none.With(trouble.Values{At: strings.Join(order, ", "), Detail: worst.Cause})
}

func (h *List) use(address string) {
	h.Lock()
	defer h.Unlock()
	h.current = address
}

// What another node may not have, and what of that the user can mend: a host that does not belong into the list.
var (
	mendable  = []trouble.Kind{trouble.TwoBrokers, trouble.TLSMismatch}
	elsewhere = append([]trouble.Kind{
		trouble.Unreachable, trouble.NoSuchHost, trouble.NoAnswer, trouble.TooSlow,
	}, mendable...)
)
