package broker

import (
	"testing"
	"time"
)

// An answer after the limit is believed only where each round trip takes about as long: one that is slow by chance, on
// a busy machine, proves nothing.
func TestAnswersInTime(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name  string
		took  time.Duration
		alone []time.Duration
		want  bool
	}{
		{"at once", 3 * ms, nil, true},
		{"the limit", 251 * ms, []time.Duration{1 * ms}, false},
		{"the limit of a clock that catches up", 248 * ms, []time.Duration{1 * ms}, false},
		{"the limit, on a busy machine", 255 * ms, []time.Duration{60 * ms}, false},
		{"the limit, on a machine that stands still for a moment", 255 * ms, []time.Duration{180 * ms, 2 * ms}, false},
		{"the limit behind a slow way", 400 * ms, []time.Duration{150 * ms}, false},
		{"a slow way", 310 * ms, []time.Duration{305 * ms, 290 * ms, 330 * ms}, true},
	} {
		asked := 0
		got, err := inTime(test.took, func() (time.Duration, error) {
			asked++
			return test.alone[asked-1], nil
		})
		if got != test.want || asked != len(test.alone) || err != nil {
			t.Errorf("%s: %v after %d round trips, %v; want %v after %d", test.name, got, asked, err, test.want, len(test.alone))
		}
	}
	if _, err := inTime(time.Second, func() (time.Duration, error) { return 0, errNothingComes }); err != errNothingComes {
		t.Errorf("a channel that closed: %v", err)
	}
}
