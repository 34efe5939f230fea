package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ShortDuration writes a duration for people, rounded only below a microsecond: "500ms", "1.5s", "30s", "1h30m", "7d".
func ShortDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 0 {
		return "-" + ShortDuration(-max(d, -math.MaxInt64)) // the smallest Duration has no positive counterpart
	}

	if d < time.Second {
		switch {
		case d == 0:
			return "0s"
		case d < time.Millisecond:
			return strconv.FormatInt(d.Microseconds(), 10) + "µs"
		}
		return decimal(d, time.Millisecond, "ms")
	}

	var b strings.Builder
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d -= n * u.unit
		}
	}

	if d.Truncate(time.Microsecond) > 0 {
		b.WriteString(decimal(d, time.Second, "s"))
	}

	return b.String()
}

// decimal writes d in a unit with up to three decimals: "1.5s".
func decimal(d, unit time.Duration, name string) string {
	s := strconv.FormatFloat(float64(d.Truncate(unit/1000))/float64(unit), 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".") + name
}
