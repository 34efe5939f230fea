package mgmt

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Metrics that cannot be read, or that are not those of the node, are no counts. The API's password is not sent there.
func TestMetricsThatCannotBeRead(t *testing.T) {
	b := realBroker(t)
	sample := `rabbitmq_global_messages_dead_lettered_expired_total{queue_type="rabbit_classic_queue",` +
		`dead_letter_strategy="disabled"} `
	own := "# x\nrabbitmq_identity_info{rabbitmq_node=\"" + b.Name() + "\",rabbitmq_cluster=\"c\"} 1\n"

	for _, test := range []struct{ name, metrics, says string }{
		{"the node's", own + sample + "1.0e7\n", ""},
		{
			"another node's", strings.Replace(own, b.Name(), "other@"+b.Name(), 1) + sample + "3\n",
			"are not those of " + b.Name(),
		},
		{"no number", own + sample + "some\n", "invalid syntax"},
		{"a login", "401", "401 Unauthorized"},
		{"a redirect", "302", "302 Found"},
		{"nothing listens", "", "connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := dial.Unused(t)

			if test.metrics != "" {
				address = strings.TrimPrefix(served(t, func(w http.ResponseWriter, r *http.Request) {
					_, _, login := r.BasicAuth()
					assert.That(t, !login, "a password was sent for %s", r.URL)
					switch test.metrics {
					case "401":
						w.WriteHeader(http.StatusUnauthorized)
					case "302":
						http.Redirect(w, r, "/elsewhere", http.StatusFound)
					default:
						_, _ = w.Write([]byte(test.metrics))
					}
				}), "http://guest:guest@")
			}

			_, port, err := net.SplitHostPort(address)
			must.Do(t, err)
			c := client(t, Options{URL: b.before(func(path string, body []byte) []byte {
				if !strings.HasSuffix(path, "/api/overview") {
					return body
				}
				listener := `"listeners":[{"node":"` + b.Name() + `","protocol":"http/prometheus","port":` + port + `},`
				return []byte(strings.Replace(string(body), `"listeners":[`, listener, 1))
			})})

			poll(t, c)

			counts := c.Destroyed(t.Context())
			must.Equal(t, len(counts), 1)
			assert.Equal(t, counts[0].Node, b.Name())
			if test.says == "" {
				assert.Equal(t, counts[0].Messages.Or(0), 10_000_000)
			}
			assert.Contains(t, counts[0].Unknown, test.says)
			assert.Lacks(t, counts[0].Unknown, "guest")
		})
	}
}
