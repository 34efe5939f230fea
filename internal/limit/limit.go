// Package limit limits the time and memory of code under test: random input finds work that a parser repeats.
package limit

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

const (
	longest = 20 * time.Second // wall time, on a machine that is busy with other tests
	fixed   = 64 << 20         // bytes that any input may allocate
	perByte = 4 << 10          // more bytes for each byte of input
)

// Check calls do, which works on an input of that many bytes. When do takes longer than 20 s the program ends with its
// stack, and go test's fuzzer keeps the input: an endless loop would go unnoticed. Allocating more than 64 MiB plus 4
// KiB per byte of input is an error. Allocations of other goroutines count too, so parallel tests cannot use Check.
func Check(t testing.TB, input int, do func()) {
	t.Helper()
	timer := time.AfterFunc(longest, func() {
		panic(fmt.Sprintf("%s: %d bytes of input take longer than %s", t.Name(), input, longest))
	})
	defer timer.Stop()
	before := allocated()
	do()

	if took := allocated() - before; took > fixed+perByte*uint64(input) {
		t.Errorf("%d bytes of input make it allocate %d MiB", input, took>>20)
	}
}

// allocated returns how many bytes this process has allocated since its start.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
