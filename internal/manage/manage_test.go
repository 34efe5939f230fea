package manage_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dlxtop/dlxtop/internal/manage"
)

func TestSend(t *testing.T) {
	for name, test := range map[string]struct {
		method   string
		hangsUp  int64 // number of connections that end without an answer
		status   int
		says     string
		requests int64
	}{
		"answered":              {http.MethodPut, 0, http.StatusCreated, "", 1},
		"hung up":               {http.MethodPut, 2, http.StatusCreated, "", 3},
		"not done twice":        {http.MethodPost, 1, http.StatusOK, "EOF", 1},
		"refused":               {http.MethodPut, 0, http.StatusForbidden, "PUT: 403 Forbidden: words", 1},
		"nothing to delete":     {http.MethodDelete, 0, http.StatusNotFound, "DELETE: 404 Not Found: words", 1},
		"deleted by the first":  {http.MethodDelete, 1, http.StatusNotFound, "", 2},
		"no such thing to read": {http.MethodGet, 1, http.StatusNotFound, "GET: 404 Not Found: words", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if requests.Add(1) <= test.hangsUp {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte("words"))
			}))
			t.Cleanup(server.Close)
			answer, err := manage.Send(t.Context(), test.method, server.URL, "{}")
			switch {
			case requests.Load() != test.requests:
				t.Errorf("%d requests", requests.Load())
			case test.says == "" && (err != nil || string(answer) != "words"):
				t.Errorf("%q, %v", answer, err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("it says %v", err)
			}
		})
	}
}
