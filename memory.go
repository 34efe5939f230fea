package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const roomEvery = 2 * time.Second

// keepRoom raises the memory limit while the dashboard needs more, until it is stopped, unless GOMEMLIMIT is set.
//
// Without it a processor collects garbage all the time on brokers whose topology takes nearly as much as the limit, and
// a flow waits for it. Without any limit (debug.SetGCPercent alone), the program takes three times what is in use.
func keepRoom() (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	over := make(chan struct{})
	var keeping sync.WaitGroup
	keeping.Go(func() {
		ticker := time.NewTicker(roomEvery)
		defer ticker.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for limit := int64(memoryLimit); ; {
			select {
			case <-over:
				return
			case <-ticker.C:
			}

			metrics.Read(live)
			if wanted := roomFor(int64(live[0].Value.Uint64())); wanted != limit {
				limit = wanted
				debug.SetMemoryLimit(limit)
			}
		}
	})

	return func() {
		close(over)
		keeping.Wait()
	}
}

// roomFor returns the limit for this many bytes in use: a fifth more, plus what Go itself needs.
func roomFor(live int64) int64 {
	const own, step = 16 << 20, 8 << 20
	needed := (live*6/5 + own + step - 1) / step * step // in steps, so that it does not change all the time
	return max(memoryLimit, needed)
}
