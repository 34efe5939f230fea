// Package shared starts the RabbitMQ that the tests of a package share.
package shared

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Node is a node that starts when the first test asks for it. A package's TestMain calls Run.
type Node struct {
	demo.Options
	begin sync.Once
	node  *demo.Node
	err   error
}

// Get returns the node and starts it the first time.
func (n *Node) Get(t testing.TB) *demo.Node {
	t.Helper()
	n.begin.Do(func() { n.node, n.err = demo.Start(context.Background(), n.Options) })
	return must.Get(n.node, n.err)(t)
}

// Run runs the tests of a package, and stops the node if it was started.
func (n *Node) Run(m *testing.M) (status int) {
	status = m.Run()
	if n.node == nil {
		return status
	}
	if err := n.node.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	return status
}
