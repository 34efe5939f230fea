// Package seed gives tests random numbers that can be had again.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

const variable = "DLXTOP_SEED"

// Rand is a source of random numbers for one test, safe for concurrent use. The test's log, which is shown when it
// fails, tells its seed: the same numbers come with DLXTOP_SEED set to it.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(&shared{source: rand.NewPCG(Number(t), 0)})
}

// Number is the seed itself, for a test that makes several sources of it.
func Number(t testing.TB) uint64 {
	t.Helper()
	number := rand.Uint64()
	if text := os.Getenv(variable); text != "" {
		var err error
		if number, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	t.Logf("%s=%d repeats this", variable, number)
	return number
}

// Within is a duration of at least 0 and less than d.
func Within(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// shared is a source that several goroutines use.
type shared struct {
	mu     sync.Mutex
	source rand.Source
}

// Uint64 implements rand.Source.
func (s *shared) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}
