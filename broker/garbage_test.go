package broker

import (
	"runtime/debug"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestHowMuchGarbageMayWait(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 32 << 20: 200, 64 << 20: 100, 1 << 40: 100} {
		assert.Equal(t, percentOf(live), want, "%d bytes in use", live)
	}
}

// Two executions at once: the setting of before comes back when the last one is over.
func TestGarbageIsCollectedAsBefore(t *testing.T) {
	const before = 77
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	first, second := collectSeldom(), collectSeldom()
	first()
	now := debug.SetGCPercent(before)
	assert.That(t, now >= 100, "%d percent while one still runs", now)
	second()
	collectAsNeeded() // too late: nothing runs any more
	assert.Equal(t, debug.SetGCPercent(before), before, "percent afterwards")
}
