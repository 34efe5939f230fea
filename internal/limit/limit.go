// Package limit keeps what tests call within a time and a memory: random input finds what a parser does too often.
package limit

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

const (
	longest = 20 * time.Second // wall time, on a machine that is busy with other tests
	fixed   = 64 << 20         // bytes that may be allocated whatever the input is
	perByte = 4 << 10          // and for each byte of it
)

// Keep calls do, which works on an input of that many bytes. When do takes longer than 20 s the program ends with its
// stack and the input, as go test's fuzzer keeps it: a loop without end would go unnoticed. Allocating more
// than 64 MiB and 4 KiB for each byte of input is an error; what goroutines of other tests allocate meanwhile counts,
// so it is not for parallel tests.
func Keep(t testing.TB, input int, do func()) {
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

// allocated is how many bytes this process has allocated since its start.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
