package mgmt

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// TestAnswersWithoutEnd: whatever comes for ever is read to a limit and no further, and the error says so and what to
// do. It was a program with 2.65 GB after 13 s.
func TestAnswersWithoutEnd(t *testing.T) {
	most := sizes{object: 1 << 20, list: 8 << 20, whole: 4 << 20, element: 1 << 20, elements: 30_000}
	queue := `{"name":"` + strings.Repeat("q", 3000) + `","vhost":"/","arguments":{}},`
	for _, test := range []struct {
		name, begin, forever string
		zipped               bool
		most                 int64 // bytes that may be read
	}{
		{"elements", "[", queue, false, most.list},
		{"elements, compressed", "[", queue, true, 1 << 30}, // sockets hold much of it
		{"small elements", "[", "{},", false, int64(most.elements) * 4},
		{"elements of another kind", "[", "1,", false, int64(most.elements) * 4},
		{"one text", `[{"name":"`, "aaaaaaaaaaaaaaaa", false, most.element * 2},
		{"one object", `[{"a":1`, `,"b":{"c":[1,2,3]}`, false, most.element * 2},
		{"deeper and deeper", "[", `{"a":[`, false, most.list},
		{"blanks", "", "        ", false, most.list},
	} {
		t.Run(test.name, func(t *testing.T) {
			var written atomic.Int64
			ended := make(chan struct{}, 10) // requests of a test
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() { ended <- struct{}{} }()
				var out io.Writer = w
				if test.zipped {
					w.Header().Set("Content-Encoding", "gzip")
					zipped, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
					out = zipped
				}
				_, err := io.WriteString(out, test.begin)
				block := []byte(strings.Repeat(test.forever, 1+64<<10/len(test.forever))) // the server must not allocate
				for err == nil {
					var n int
					n, err = out.Write(block)
					written.Add(int64(n))
				}
			}))
			defer server.Close()
			c, err := New(Options{URL: server.URL, Timeout: time.Minute})
			must.Do(t, err)
			defer c.Close()
			c.most = most
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err = c.Counts(context.Background())
			runtime.ReadMemStats(&after)
			<-ended
			var connect *model.ConnectError
			must.That(t, errors.As(err, &connect) && strings.Contains(connect.Cause, "reading stopped after") &&
				strings.Contains(connect.Next, "--vhost"), "the error is %v", err)
			const buffered = 16 << 20 // by sockets, and by the compression
			if n := written.Load(); n > test.most+buffered {
				t.Errorf("%d bytes were taken, of %d", n, test.most)
			}
			// All that was ever allocated, garbage included: what is kept at a time is less.
			if n := after.TotalAlloc - before.TotalAlloc; n > 6*uint64(most.list)+buffered {
				t.Errorf("%d MiB were allocated", n>>20)
			}
		})
	}
}

// TestOtherAnswersWithoutEnd: the answers that are read as a whole have limits of their own.
func TestOtherAnswersWithoutEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := `{"rabbit":"`
		if strings.Contains(r.URL.Path, "bindings") || strings.Contains(r.URL.Path, "policies") {
			begin = `[{"source":"`
		}
		_, err := io.WriteString(w, begin)
		for block := strings.Repeat("a", 64<<10); err == nil; {
			_, err = io.WriteString(w, block)
		}
	}))
	defer server.Close()
	c := must.Get(New(Options{URL: server.URL, Timeout: time.Minute}))(t)
	defer c.Close()
	c.most = sizes{object: 1 << 20, list: 8 << 20, whole: 4 << 20, element: 1 << 20, elements: 30_000}
	for name, ask := range map[string]func() error{
		"Check":    func() error { _, err := c.Check(context.Background()); return err },
		"Snapshot": func() error { _, err := c.Snapshot(context.Background()); return err },
		"policies": func() error { _, err := c.rabbit(context.Background()).ListPolicies(); return err },
	} {
		var endless endlessError
		err := ask()
		said := strings.Contains(err.Error(), "reading stopped after")
		assert.That(t, (name != "policies" || errors.As(err, &endless)) && (name == "policies" || said), "%s: %v", name, err)
	}
}
