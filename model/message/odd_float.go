package message

import (
	"maps"
	"math"
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// MaxDepth is how deep headers are read: a hostile client can nest tens of thousands of tables in a frame.
const MaxDepth = 64

// OddFloat returns the printable name of a header that contains a NaN or an infinity, "" when there is none. RabbitMQ
// cannot read such a float and closes the connection.
func (m *Message) OddFloat() string {
	for name, v := range m.Headers {
		if hasOddFloat(v, 0) {
			return Excerpt(name)
		}
	}

	return ""
}

func hasOddFloat(v any, depth int) bool {
	if depth > MaxDepth {
		return false
	}
	switch v := v.(type) {
	case float32:
		return hasOddFloat(float64(v), depth)
	case float64:
		return math.IsNaN(v) || math.IsInf(v, 0)
	case model.Table:
		return hasOddFloat(slices.Collect(maps.Values(v)), depth)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return hasOddFloat(e, depth+1) })
	}

	return false
}
