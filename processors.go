package main

import (
	"os"
	"runtime"
)

// spareProcessors are Go's processors beyond the cores.
const spareProcessors = 2

// spareProcessorsForKeys lets more goroutines run at once than there are cores, unless GOMAXPROCS is set.
//
// Without it a key waits while messages are read: each of Go's processors is busy with them, and Go takes one away only
// after 10 ms. With more processors than cores the system decides, which favours what has waited.
func spareProcessorsForKeys() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareProcessors)
	}
}
