package message

import (
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// CountsLate is the maximum age of the statistics' counts, plus the longest duration of a look.
const CountsLate = 10 * time.Second

// LeftSince reports whether messages have left a queue since it was read, by its count: which ones is unknown. A count
// that may be older than the reading proves nothing.
func LeftSince(readAt time.Time, depth int64, ready model.Opt[int64], countedAt time.Time) bool {
	now, known := ready.Get()
	return known && countedAt.Sub(readAt) >= CountsLate && now < depth
}
