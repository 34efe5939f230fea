package broker

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// tableSize is how many bytes a table has on the wire, without the length in front. An error says why AMQP, or
// RabbitMQ, does not take it.
func tableSize(t model.Table) (n int, err error) {
	for name, v := range t {
		if len(name) > math.MaxUint8 {
			return 0, fmt.Errorf("a name has %d bytes, and 255 is the most", len(name))
		}
		size, times := 0, 1
		if values, several := v.(model.Repeated); several {
			times = len(values)
			size, err = listSize(values)
		} else {
			size, err = valueSize(v)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", model.Printable(name), err)
		}
		n += times*(1+len(name)) + size
	}
	return n, nil
}

func valueSize(v any) (int, error) {
	switch v := v.(type) {
	case nil:
		return 1, nil
	case bool, int8, uint8:
		return 2, nil
	case int16, uint16:
		return 3, nil
	case int32, uint32, float32:
		return 5, nil
	case model.Decimal:
		return 6, nil
	case int, int64, uint64, float64, time.Time:
		return 9, nil
	case string:
		return 5 + len(v), nil
	case []byte:
		return 5 + len(v), nil
	case []any:
		n, err := listSize(v)
		return 5 + n, err
	case model.Table:
		n, err := tableSize(v)
		return 5 + n, err
	case model.RawValue:
		if !wellFormed(v) {
			return 0, errors.New("it is damaged, and RabbitMQ takes no such header")
		}
		return 1 + len(v.Bytes), nil
	}
	return 0, fmt.Errorf("%T is not an AMQP type", v)
}

func listSize(values []any) (n int, err error) {
	for _, v := range values {
		size, err := valueSize(v)
		if err != nil {
			return 0, err
		}
		n += size
	}
	return n, nil
}

// wellFormed reports whether a raw value is what AMQP allows, whatever its depth.
func wellFormed(raw model.RawValue) bool {
	value := append([]byte{raw.Type}, raw.Bytes...)
	_, end, ok := valueEnd(value)
	return ok && end == len(value) && walk(value)
}

// walk goes through the values of an array, and reports whether they are what AMQP allows. It makes nothing of them: a
// hostile client nests tens of thousands of tables.
func walk(values []byte) bool {
	type level struct {
		end   int
		table bool
	}
	in, around := level{end: len(values)}, []level(nil)
	for at := 0; ; {
		if at == in.end {
			if len(around) == 0 {
				return true
			}
			in, around = around[len(around)-1], around[:len(around)-1]
			continue
		}
		if in.table {
			if at += 1 + int(values[at]); at >= in.end {
				return false
			}
		}
		letter := values[at]
		begin, end, ok := valueEnd(values[at:in.end])
		switch {
		case !ok:
			return false
		case letter == 'A' || letter == 'F':
			around = append(around, in)
			in = level{at + end, letter == 'F'}
			at += begin
		default:
			at += end
		}
	}
}
