package e2e

import (
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// cut cuts the third node off from the others, as a broken network does, until mend is called. RabbitMQ (3.10.8, 4.0.5)
// may cut off the second one, too, as it saw both sides for a moment.
func (c *cluster) cut() (mend func()) {
	c.t.Helper()
	between := func(cookie, then string) {
		for _, pair := range [][2]int{{0, 2}, {2, 0}, {1, 2}, {2, 1}} {
			c.eval(pair[0], fmt.Sprintf("erlang:set_cookie('%[1]s', %[2]s), %[3]s('%[1]s').",
				c.nodes[pair[1]].Name(), cookie, then))
		}
	}
	between("nobody_knows_this", "erlang:disconnect_node")
	return func() { between("erlang:get_cookie()", "net_adm:ping") }
}

// eval evaluates an Erlang expression on a node.
func (c *cluster) eval(node int, expression string) {
	c.t.Helper()
	out, err := c.nodes[node].Control(c.t.Context(), "eval", expression)
	must.That(c.t, err == nil, "%v %v", out, err)
}

// breakNetwork: a network that was broken and is whole again leaves a partition where the metadata are in Mnesia
// (3.10.8, 4.0.5): each side goes on alone until it is restarted, and that is told. With Khepri (4.3) there is none.
func (c *cluster) breakNetwork() {
	t := c.t
	well := c.poll("guest:guest", "all nodes run", func(t *model.Topology) bool { return running(t) == 3 })
	must.Equal(t, about(well, "partition"), "", "%v", "told where there is none: ")
	if well.Snapshot.Overview.Version.AtLeast(4, 3) {
		return
	}
	mend := c.cut()
	c.poll("guest:guest", "nodes are out of sight", func(t *model.Topology) bool { return running(t) < 3 })
	mend()
	c.poll("guest:guest", "the partition is told", func(t *model.Topology) bool {
		return strings.Contains(about(t, "partition"), "error "+c.nodes[0].Name())
	})
}
