package message

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// typedJSON is a header value that plain JSON would change: `{"$type":"int32","value":5}`.
type typedJSON struct {
	Type  string `json:"$type"`
	Value any    `json:"value"`
}

// HeadersJSON returns a table as JSON. Texts, booleans, null, 64-bit integers, floats with a fraction, arrays and
// tables are plain: reading them restores their AMQP type. Every other value is typed, because AMQP distinguishes what
// JSON does not. Names are texts as TextJSON writes them.
func HeadersJSON(t model.Table) map[string]any {
	out := make(map[string]any, len(t))
	for key, v := range t {
		out[TextJSON(key)] = HeaderJSON(v)
	}
	return out
}

// HeaderJSON returns a header's value as JSON: a type that JSON lacks becomes {"$type": …, "value": …}.
func HeaderJSON(v any) any {
	switch v := v.(type) {
	case nil, bool, int64:
		return v
	case string:
		if utf8.ValidString(v) {
			return v
		}
		return typedJSON{"string", base64.StdEncoding.EncodeToString([]byte(v))}
	case []byte:
		return typedJSON{"bytes", base64.StdEncoding.EncodeToString(v)}
	case time.Time:
		return typedJSON{"timestamp", JSONTime(v)}
	case model.Decimal:
		return typedJSON{"decimal", map[string]any{"scale": v.Scale, "value": v.Value}}
	case float64:
		text, odd := oddFloat(v, 64, math.Float64bits(v), math.Float64bits(math.NaN()))
		if odd {
			return typedJSON{"float64", text}
		} else if v == math.Trunc(v) { // its JSON does not show that it is a float
			return typedJSON{"float64", v}
		}

		return v
	case float32:
		usual := uint64(math.Float32bits(float32(math.NaN())))
		if text, odd := oddFloat(float64(v), 32, uint64(math.Float32bits(v)), usual); odd {
			return typedJSON{"float32", text}
		}
		return typedJSON{"float32", v}
	case int8, uint8, int16, uint16, int32, uint32, uint64:
		return typedJSON{fmt.Sprintf("%T", v), v}
	case int:
		return int64(v) // as it would be published
	case []any:
		return listJSON(v)
	case model.Repeated:
		return typedJSON{"repeated", listJSON(v)}
	case model.RawValue:
		return typedJSON{"raw", rawJSON{string(rune(v.Type)), base64.StdEncoding.EncodeToString(v.Bytes)}}
	case model.Table:
		if _, odd := v["$type"]; odd { // otherwise it would be read as a typed value
			return typedJSON{"table", HeadersJSON(v)}
		}
		return HeadersJSON(v)
	}

	return nil
}

func listJSON(values []any) []any {
	list := make([]any, len(values))
	for i := range values {
		list[i] = HeaderJSON(values[i])
	}
	return list
}

// rawJSON is a RawValue: AMQP's letter for its type, U+0000 without one, and the bytes in base64.
type rawJSON struct {
	Letter string `json:"letter"`
	Bytes  string `json:"bytes"`
}

// oddFloat returns a text for a float that JSON cannot write as a number: "NaN", "+Inf", "-Inf", "-0", and "NaN:" with
// the bits of an unusual NaN.
func oddFloat(v float64, size int, bits, usual uint64) (text string, odd bool) {
	switch {
	case math.IsNaN(v) && bits != usual:
		return nanPrefix + strconv.FormatUint(bits, 16), true
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, size), true
	case v == 0 && math.Signbit(v):
		return "-0", true
	}

	return "", false
}

// nanPrefix marks a NaN that is written as its bits.
const nanPrefix = "NaN:"
