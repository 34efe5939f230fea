package cli_test

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestImportOfALargeFile: the memory that reading a file takes does not grow with it.
func TestImportOfALargeFile(t *testing.T) {
	v := newVHost(t, "to")
	path := filepath.Join(t.TempDir(), "large.jsonl")
	file := must.Get(os.Create(path))(t)
	lines := bufio.NewWriter(file)
	line := `{"properties":{"message_id":"m"},"body_bytes":100000,"headers":{"n":1},"body_encoding":"utf-8","body":"` +
		strings.Repeat("x", 100_000) + "\"}\n"
	const n = 350 // 35 MB: more than it may take
	for range n {
		must.Get(lines.WriteString(line))(t)
	}
	must.Do(t, lines.Flush())
	file.Close()
	var r result
	peak := heapDuring(func() { r = v.run("import", path, "--to", "queue:to", "--dry-run") })
	assert.That(t, peak <= 32<<20, "%d MB", peak>>20)
	assert.That(t, *decode[accountContract](t, r).Planned == n, "%+v", r)
}

// heapDuring is how many bytes of heap were in use at most beyond what was before.
func heapDuring(what func()) uint64 {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	runtime.GC()
	before, peak := heap(), uint64(0)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				peak = max(peak, heap())
			}
		}
	})
	what()
	close(done)
	watching.Wait()
	return max(peak, before) - before
}
