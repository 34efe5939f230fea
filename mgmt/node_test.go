package mgmt_test

import "github.com/dlxtop/dlxtop/mgmt"

// node is the real node of this folder's tests, also of those within the package; it starts when it is first needed.
var node sharedNode

type sharedNode struct{}

func (sharedNode) AMQP() string { return mgmt.SharedNode().AMQP() }
func (sharedNode) API() string  { return mgmt.SharedNode().API() }
