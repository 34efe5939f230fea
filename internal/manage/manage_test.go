package manage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestPatience(t *testing.T) {
	put := func(n Node) error { return refusal(n.PutVhost("v", rabbithole.VhostSettings{})) }
	post := func(n Node) error { return refusal(n.DeclareBinding("v", rabbithole.BindingInfo{})) }
	remove := func(n Node) error { return refusal(n.DeleteVhost("v")) }
	get := func(n Node) error { _, err := n.GetVhost("v"); return err }
	for name, test := range map[string]struct {
		change   func(Node) error
		hangsUp  int64 // number of connections that end without an answer
		status   int
		says     string
		requests int64
	}{
		"answered":              {put, 0, http.StatusCreated, "<nil>", 1},
		"hung up":               {put, 2, http.StatusCreated, "<nil>", 3},
		"not done twice":        {post, 1, http.StatusOK, "EOF", 1},
		"refused":               {put, 0, http.StatusForbidden, "Error 403 (): words", 1},
		"nothing to delete":     {remove, 0, http.StatusNotFound, "404 Not Found", 1},
		"deleted by the first":  {remove, 1, http.StatusNotFound, "<nil>", 2},
		"no such thing to read": {get, 1, http.StatusNotFound, "Error 404 (): words", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64

			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if requests.Add(1) <= test.hangsUp {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(`{"reason":"words"}`))
			}))

			t.Cleanup(server.Close)
			err := test.change(Of(t, server.URL))
			assert.Equal(t, requests.Load(), test.requests, "requests")
			assert.Contains(t, fmt.Sprint(err), test.says)
		})
	}
}
