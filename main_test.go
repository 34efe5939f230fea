package main

import (
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/preferences"
)

// The index is in the user's cache; never in the current directory, and there is none when nothing may be kept.
func TestIndexOf(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	cache := filepath.Join(home, "cache")
	for _, c := range []struct {
		cache string
		of    config.Connection
		kept  bool
	}{
		{"", config.Connection{}, true},
		{cache, config.Connection{}, true},
		{"relative", config.Connection{}, true},
		{cache, config.Connection{NoJournal: true}, false},
		{cache, config.Connection{JournalDir: home}, false}, // the demo
	} {
		t.Setenv("XDG_CACHE_HOME", c.cache)
		index, ok := indexOf(c.of).(preferences.CauseIndex)
		assert.That(t, ok == c.kept, "%+v: it is kept in %q", c, index.Dir)
		rel, err := filepath.Rel(home, index.Dir)
		assert.That(t, !ok || err == nil && filepath.IsLocal(rel), "%+v: it is kept in %q", c, index.Dir)
	}
}

// The limit follows what is in use.
func TestKeepRoom(t *testing.T) {
	before := debug.SetMemoryLimit(memoryLimit)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	live := make([]byte, 2*memoryLimit)
	runtime.GC() // from now on it counts
	t.Cleanup(keepRoom())
	must.Await(t, "the limit is above it", func() bool { return debug.SetMemoryLimit(-1) > 2*memoryLimit })
	runtime.KeepAlive(live)
}

func TestRoomFor(t *testing.T) {
	for live, want := range map[int64]int64{
		0: memoryLimit, 64 << 20: memoryLimit, 66 << 20: memoryLimit, 67 << 20: 104 << 20, 97 << 20: 136 << 20,
	} {
		got := roomFor(live)
		assert.That(t, got == want, "%d MiB in use: a limit of %d MiB, not %d", live>>20, got>>20, want>>20)
	}
}
