package mgmt

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

// TestDownIsAskedAgain: a queue that one list has as down is believed to be when the next one says so, too, or when its
// node is known not to run.
func TestDownIsAskedAgain(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("down")
	b.put("queues/"+vhost+"/q", `{"durable":true}`)
	for _, test := range []struct {
		name  string
		lists int // that have it as down
		stops bool
		want  model.Outage
	}{
		{"listed while it is declared", 1, false, model.NoOutage},
		{"down in each list", 10, false, model.NodeDown},
		{"its node does not run", 1, true, model.NodeDown},
	} {
		t.Run(test.name, func(t *testing.T) {
			lists := 0
			server := b.before(func(path string, body []byte) []byte {
				switch {
				case test.stops && strings.Contains(path, "/api/nodes"):
					return []byte(strings.ReplaceAll(string(body), `"running":true`, `"running":false`))
				case !strings.Contains(path, "/api/queues"):
					return body
				}
				if lists++; lists > test.lists {
					return body
				}
				return damage(t, body, "q", func(q map[string]any) any { q["state"] = "down"; return q })
			})
			c := client(t, Options{URL: through(server.URL), VHost: vhost})
			s := poll(t, c)
			assert.Equal(t, s.Queues[0].Outage(), test.want)
		})
	}
}
