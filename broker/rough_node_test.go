package broker_test

import (
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/size"
)

// rough is a node for what would disturb other tests: it is stopped, alarmed, or configured otherwise.
var rough struct {
	sync.Mutex
	*demo.Node
}

// roughNode is the rough node, for one test at a time. It leaves it as it was.
func roughNode(t *testing.T) *demo.Node {
	t.Helper()
	rough.Lock()
	t.Cleanup(rough.Unlock)
	if rough.Node == nil {
		var err error
		if rough.Node, err = demo.Start(t.Context(), demo.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return rough.Node
}

// TestOnARoughNode runs what needs the rough node for a short time, one after the other: tests that wait for it take
// the places of others that could run.
func TestOnARoughNode(t *testing.T) {
	size.Long(t)
	t.Parallel()
	n := roughNode(t)
	for name, test := range map[string]func(*testing.T, *demo.Node){
		"a message that is too large":        messageThatIsTooLarge,
		"another broker at the same address": anotherBrokerAtTheSameAddress,
		"a connection that is lost is told":  lostIsTold,
		"no look in an alarm":                noLookInAnAlarm,
		"the count survives a lost broker":   countSurvivesALostBroker,
		"a tap of a broker that goes away":   tapOfABrokerThatGoesAway,
	} {
		t.Run(name, func(t *testing.T) { test(t, n) })
	}
}
