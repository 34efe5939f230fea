package mgmt

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAnAnswerAfterAHangUp: a busy node may close a connection that it has just accepted (seen on 3.10.8).
func TestAnAnswerAfterAHangUp(t *testing.T) {
	b := realBroker(t)
	api := b.proxy(nil)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= 2 && strings.HasPrefix(r.URL.Path, "/api/queues") {
			panic(http.ErrAbortHandler) // closes the connection
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := client(t, Options{URL: through(server.URL)})
	if _, _, err := c.queues(t.Context(), false); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}
