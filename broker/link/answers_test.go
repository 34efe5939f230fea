package link

import (
	"net"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
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
		asked, trips := 0, roundTrips{}
		got, err := trips.inTime(test.took, func() (time.Duration, error) {
			asked++
			return test.alone[asked-1], nil
		})
		assert.That(t, got == test.want && asked == len(test.alone) && err == nil,
			"%s: %v after %d round trips, %v; want %v after %d", test.name, got, asked, err, test.want, len(test.alone))
	}
	before := roundTrips{}
	before.add(4 * ms) // in a quieter moment
	if got, err := before.inTime(260*ms, func() (time.Duration, error) { return 200 * ms, nil }); got || err != nil {
		t.Errorf("the limit, while each round trip takes as long: %v, %v", got, err)
	}
	believed := false
	for range before.last {
		believed, _ = before.inTime(310*ms, func() (time.Duration, error) { return 305 * ms, nil })
	}
	assert.That(t, believed, "a way that has become slow is never believed")
	var none roundTrips
	fails := func() (time.Duration, error) { return 0, net.ErrClosed }
	if _, err := none.inTime(time.Second, fails); err != net.ErrClosed {
		t.Errorf("a channel that closed: %v", err)
	}
}
