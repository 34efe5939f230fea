package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// openSpools returns the files of looks that this process has open.
func openSpools(t *testing.T) (open []string) {
	t.Helper()
	entries := must.Get(os.ReadDir("/proc/self/fd"))(t)
	for _, e := range entries {
		if path, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); strings.Contains(path, "dlxtop-peek-") {
			open = append(open, path)
		}
	}

	return open
}

// No other process can open what was read, and nothing of it stays.
func TestPeekFileHasNoNameAndGoes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	a, c := newApp(t), client(t)
	q := a.filled("q", model.Classic, sized(100, 100_000)...)
	before := openSpools(t)
	few := must.Get(c.Peek(t.Context(), planPeek(q, peek.Want{Limit: 10})))(t)
	assert.Equal(t, few.Messages.Len(), 10, "messages")
	assert.List(t, openSpools(t), before, "a short look made a file")
	peeked := must.Get(c.Peek(t.Context(), planPeek(q, peek.Want{Limit: 100})))(t)
	open, named := openSpools(t), namedSpools(t)
	must.Equal(t, len(open), len(before)+1, "open: %v, with a name: %v", open, named)
	assert.That(t, strings.HasSuffix(open[len(open)-1], "(deleted)"), "open: %v, with a name: %v", open, named)
	assert.Equal(t, len(named), 0)
	assert.Equal(t, len(must.Get(peeked.Messages.At(99, 0))(t).Body), 100_000, "bytes")
	assert.Succeeds(t, peeked.Messages.Close())
	assert.List(t, openSpools(t), before, "it stays open")
	_, err := peeked.Messages.At(0, 0)
	assert.That(t, err != nil, "it can be read after its end")
}
