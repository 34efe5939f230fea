// Package seed gives tests reproducible random numbers.
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

// Rand returns a source of random numbers for one test, safe for concurrent use. The log of a failed test shows its
// seed; set DLXTOP_SEED to it to get the same numbers again.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(&shared{source: rand.NewPCG(Number(t), 0)})
}

// Number returns the seed itself, for a test that makes several sources from it.
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

// Within returns a duration of at least 0 and less than d.
func Within(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// shared is a source that several goroutines use.
type shared struct {
	sync.Mutex
	source rand.Source
}

// Uint64 implements rand.Source.
func (s *shared) Uint64() uint64 {
	s.Lock()
	defer s.Unlock()
	return s.source.Uint64()
}
