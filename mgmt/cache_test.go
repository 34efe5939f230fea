package mgmt

import (
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// forgetCaches brings the API's caches to where they are in a node that was just started: the first request for a list
// starts one.
const forgetCaches = `[begin supervisor:terminate_child(rabbit_mgmt_db_cache_sup, Id),` +
	` supervisor:delete_child(rabbit_mgmt_db_cache_sup, Id) end` +
	` || {Id, _, _, _} <- supervisor:which_children(rabbit_mgmt_db_cache_sup)].`

// A node that was just started answers 500 to some of the first requests that come at once (3.10.8: 14 of 48); a client
// gets its list all the same.
func TestFirstRequestsAtOnce(t *testing.T) {
	b := realBroker(t)
	var clients []*Client
	for range 8 {
		clients = append(clients, client(t, Options{URL: b.API()}))
	}
	for range 2 {
		must.Get(b.Control(t.Context(), "eval", forgetCaches))(t)
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Go(func() {
				_, _, err := c.queues(t.Context(), false)
				assert.That(t, err == nil, "%v", err)
			})
		}
		wg.Wait()
	}
}
