package mgmt

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
)

func TestClockOfOneAnswer(t *testing.T) {
	const header = "Fri, 20 Nov 2026 08:52:38 GMT"
	at := time.Date(2026, 11, 20, 8, 52, 38, 0, time.UTC)
	for _, test := range []struct {
		header string
		now    time.Time
		want   model.Opt[time.Duration]
		within time.Duration
	}{
		{header, at.Add(900 * time.Millisecond), model.Some(time.Duration(0)), 0},
		// the server's date is up to two seconds old
		{header, at.Add(1900 * time.Millisecond), model.Some(time.Duration(0)), 0},
		{header, at.Add(-5 * time.Second), model.Some(6 * time.Second), time.Second},
		{header, at.Add(time.Hour + 500*time.Millisecond), model.Some(-time.Hour + 500*time.Millisecond), time.Second},
		{"", at, model.Unknown[time.Duration](), 0},
		{"yesterday", at, model.Unknown[time.Duration](), 0},
	} {
		var c clock
		c.measure(test.header, test.now, test.now)
		if got, within := c.ahead(); got != test.want || within != test.within {
			t.Errorf("%q at %s: %s ± %s, want %s ± %s", test.header, test.now, got, within, test.want, test.within)
		}
	}
}

// Many answers tell better than one: the truth is within what is told, and that is half a second either way. A clock
// that is set is followed at once.
func TestClockOfManyAnswers(t *testing.T) {
	random := seed.Rand(t)
	for _, ahead := range []time.Duration{0, 400 * time.Millisecond, 3*time.Minute + 12*time.Second +
		345*time.Millisecond, -time.Hour, 26 * time.Hour} {
		phase := time.Duration(random.Int64N(int64(time.Second)))
		now := time.Date(2026, 11, 20, 8, 52, 38, 0, time.UTC)
		var c clock
		answers := func(ahead time.Duration, n int) {
			for range n {
				now = now.Add(time.Duration(random.Int64N(int64(3 * time.Second))))
				took := time.Duration(random.Int64N(int64(80 * time.Millisecond)))
				theirs := now.Add(took / 2).Add(ahead)
				written := theirs.Add(-phase).Truncate(time.Second).Add(phase) // when the server's timer last ran
				c.measure(written.UTC().Format(http.TimeFormat), now, now.Add(took))
			}
		}
		check := func(ahead time.Duration, most time.Duration) {
			t.Helper()
			got, within := c.ahead()
			skew := got.Or(1 << 62)
			assert.That(t, ((skew-ahead).Abs() <= within || skew == 0 && ahead.Abs() <= time.Second) && within <= most,
				"%s: %s ± %s", ahead, skew, within)
		}
		answers(ahead, 1)
		check(ahead, 1100*time.Millisecond)
		answers(ahead, 100)
		check(ahead, 600*time.Millisecond)
		answers(ahead+time.Minute, 1)
		check(ahead+time.Minute, 1100*time.Millisecond)
		answers(ahead+time.Minute, 1000)
		check(ahead+time.Minute, 600*time.Millisecond)
	}
}

// A real broker whose answers are dated 3 minutes and 12 seconds back, as if its clock were behind.
func TestClockOfARealBroker(t *testing.T) {
	const behind = 3*time.Minute + 12*time.Second
	proxy := realBroker(t).proxy(nil)
	same := proxy.ModifyResponse
	proxy.ModifyResponse = func(r *http.Response) error {
		date, err := http.ParseTime(r.Header.Get("Date"))
		if err != nil {
			return err
		}
		r.Header.Set("Date", date.Add(-behind).UTC().Format(http.TimeFormat))
		return same(r)
	}
	server := httptest.NewServer(proxy)
	defer server.Close()
	began := time.Now()
	s := poll(t, client(t, Options{URL: through(server.URL)}))
	most := time.Second + time.Since(began) // the header's precision, and how long the answers took
	got := s.Overview.ClockSkew.Or(0)
	assert.That(t, (got+behind).Abs() <= s.Overview.ClockWithin && s.Overview.ClockWithin <= most,
		"the broker's clock is %s ± %s ahead, want -%s", got, s.Overview.ClockWithin, behind)
	var said []string
	for _, f := range findings.Of(model.NewTopology(s)) {
		said = append(said, f.Code)
	}
	assert.That(t, slices.Contains(said, "clock-skew"), "findings: %q", said)
}
