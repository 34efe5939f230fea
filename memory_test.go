package main

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestRoomFor(t *testing.T) {
	for live, want := range map[int64]int64{
		0: memoryLimit, 64 << 20: memoryLimit, 66 << 20: memoryLimit, 67 << 20: 104 << 20, 97 << 20: 136 << 20,
	} {
		got := roomFor(live)
		assert.That(t, got == want, "%d MiB in use: a limit of %d MiB, not %d", live>>20, got>>20, want>>20)
	}
}
