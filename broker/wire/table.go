package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/model"
)

// maxNesting is how many nested tables and arrays are decoded; deeper ones are kept raw.
const maxNesting = 1000

// decodeTable decodes the entries of a field table, without its length: everything that RabbitMQ accepts (3.10.8,
// 4.0.5, 4.3.6). It keeps undecodable parts as raw bytes. The values have the types that amqp091-go 1.16 gives them.
func decodeTable(b []byte, depth int) model.Table {
	t := model.Table{}
	for len(b) > 0 {
		n := 1 + int(b[0])
		if len(b) <= n { // the name is not followed by a type letter
			addValue(t, "", model.RawValue{Bytes: slices.Clone(b)})
			break
		}

		name := string(b[1:n])
		var v any
		v, b = decodeValue(b[n:], depth)
		addValue(t, name, v)
	}

	return t
}

func addValue(t model.Table, name string, v any) {
	switch former, there := t[name]; former := former.(type) {
	case model.Repeated:
		t[name] = append(former, v)
	default:
		if there {
			v = model.Repeated{former, v}
		}
		t[name] = v
	}
}

// withLength marks types whose values begin with their length, in four bytes.
const withLength = -1

// sizes are the sizes in bytes of values without the letter, by type letter; noType for other letters.
var sizes = func() (all [256]int8) {
	for i := range all {
		all[i] = noType
	}
	for letters, size := range map[string]int8{
		"V": 0, "tbB": 1, "su": 2, "Iif": 4, "D": 5, "lLdT": 8, "SxAF": withLength,
	} {
		for _, letter := range letters {
			all[letter] = size
		}
	}
	return all
}()

const noType = -2

// valueEnd finds the end of a value that begins with its letter, and the start of its content, after a length. ok is
// false when that is not within b.
func valueEnd(b []byte) (content, end int, ok bool) {
	size := sizes[b[0]]
	switch size {
	case noType:
		return 0, 0, false
	case withLength:
		if len(b) < 5 {
			return 0, 0, false
		}
		n := binary.BigEndian.Uint32(b[1:])
		return 5, 5 + int(n), uint64(n) <= uint64(len(b)-5)
	default:
		return 1, 1 + int(size), 1+int(size) <= len(b)
	}
}

// decodeValue decodes a value after its letter. An undecodable one takes all of b: its end is unknown.
func decodeValue(b []byte, depth int) (v any, rest []byte) {
	letter := b[0]
	nested := letter == 'A' || letter == 'F'
	begin, end, ok := valueEnd(b)
	if !ok {
		end = len(b)
	}
	if !ok || nested && depth >= maxNesting {
		return model.RawValue{Type: letter, Bytes: slices.Clone(b[1:end])}, b[end:]
	}
	content, rest := b[begin:end], b[end:]
	switch letter {
	case 'A':
		var list []any // nil when empty, like amqp091-go's
		for len(content) > 0 {
			var e any
			e, content = decodeValue(content, depth+1)
			list = append(list, e)
		}
		return list, rest
	case 'F':
		return decodeTable(content, depth+1), rest
	}

	return decodeSimple(letter, content), rest
}

func decodeSimple(letter byte, b []byte) any {
	order := binary.BigEndian
	switch letter {
	case 't':
		return b[0] != 0
	case 'b':
		return int8(b[0])
	case 'B':
		return b[0]
	case 's':
		return int16(order.Uint16(b))
	case 'u':
		return order.Uint16(b)
	case 'I':
		return int32(order.Uint32(b))
	case 'i':
		return order.Uint32(b)

	case 'l':
		return int64(order.Uint64(b))
	case 'L':
		return order.Uint64(b)
	case 'f':
		return math.Float32frombits(order.Uint32(b))
	case 'd':
		return math.Float64frombits(order.Uint64(b))
	case 'D':
		return model.Decimal{Scale: b[0], Value: int32(order.Uint32(b[1:]))}
	case 'T':
		return time.Unix(int64(order.Uint64(b)), 0)
	case 'S':
		return string(b)
	case 'x':
		return slices.Clone(b)
	}

	return nil
}

// encodeTable writes the entries of a table sorted by name, without its length: the inverse of decodeTable. A damaged
// value goes last, as it has no end. The table must come from decodeTable, or not be refused.
func encodeTable(b []byte, t model.Table) []byte {
	var room [16]string
	names := slices.AppendSeq(room[:0], maps.Keys(t))
	slices.Sort(names)
	var damaged []byte
	for _, name := range names {
		values, several := t[name].(model.Repeated)
		if !several {
			values = []any{t[name]}
		}
		for _, v := range values {
			if raw, ok := v.(model.RawValue); ok && !wellFormed(raw) {
				damaged = encodeNamed(damaged, name, v)
			} else {
				b = encodeNamed(b, name, v)
			}
		}
	}

	return append(b, damaged...)
}

func encodeNamed(b []byte, name string, v any) []byte {
	return encodeValue(append(append(b, byte(len(name))), name...), v)
}

// encodeValue writes a value after its type letter.
func encodeValue(b []byte, v any) []byte {
	order := binary.BigEndian
	switch v := v.(type) {
	case nil:
		return append(b, 'V')
	case bool:
		if v {
			return append(b, 't', 1)
		}

		return append(b, 't', 0)
	case int8:
		return append(b, 'b', byte(v))
	case uint8:
		return append(b, 'B', v)
	case int16:
		return order.AppendUint16(append(b, 's'), uint16(v))
	case uint16:
		return order.AppendUint16(append(b, 'u'), v)
	case int32:
		return order.AppendUint32(append(b, 'I'), uint32(v))
	case uint32:
		return order.AppendUint32(append(b, 'i'), v)
	case int:
		return order.AppendUint64(append(b, 'l'), uint64(v))
	case int64:
		return order.AppendUint64(append(b, 'l'), uint64(v))

	case uint64:
		return order.AppendUint64(append(b, 'L'), v)
	case float32:
		return order.AppendUint32(append(b, 'f'), math.Float32bits(v))
	case float64:
		return order.AppendUint64(append(b, 'd'), math.Float64bits(v))
	case model.Decimal:
		return order.AppendUint32(append(b, 'D', v.Scale), uint32(v.Value))
	case time.Time:
		return order.AppendUint64(append(b, 'T'), uint64(v.Unix()))
	case string:
		return append(order.AppendUint32(append(b, 'S'), uint32(len(v))), v...)
	case []byte:
		return append(order.AppendUint32(append(b, 'x'), uint32(len(v))), v...)
	case []any:
		return counted(append(b, 'A'), func(b []byte) []byte {
			for _, e := range v {
				b = encodeValue(b, e)
			}

			return b
		})
	case model.Table:
		return counted(append(b, 'F'), func(b []byte) []byte { return encodeTable(b, v) })
	case model.RawValue:
		return append(append(b, v.Type), v.Bytes...)
	}

	panic(fmt.Sprintf("a header of type %T was not refused", v))
}

// counted appends what write appends, with its length in front.
func counted(b []byte, write func([]byte) []byte) []byte {
	start := len(b)
	b = write(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// refused returns why AMQP, or RabbitMQ, does not accept a value; nil when it does.
func refused(v any) error {
	switch v := v.(type) {
	case nil, bool, int8, uint8, int16, uint16, int32, uint32, int, int64, uint64, float32, float64, model.Decimal,
		time.Time, string, []byte:
		return nil
	case []any:
		for _, e := range v {
			if err := refused(e); err != nil {
				return err
			}
		}
		return nil
	case model.Table:
		for name, v := range v {
			if len(name) > math.MaxUint8 {
				return fmt.Errorf("a name has %d bytes, and 255 is the most", len(name))
			}
			if values, several := v.(model.Repeated); several {
				v = []any(values)
			}
			if err := refused(v); err != nil {
				return fmt.Errorf("%s: %w", model.Printable(name), err)
			}
		}

		return nil
	case model.RawValue:
		if !wellFormed(v) {
			return errors.New("it is damaged, and RabbitMQ takes no such header")
		}
		return nil
	}

	return fmt.Errorf("%T is not an AMQP type", v)
}

// wellFormed reports whether a raw value is valid AMQP, whatever its depth.
func wellFormed(raw model.RawValue) bool {
	value := append([]byte{raw.Type}, raw.Bytes...)
	_, end, ok := valueEnd(value)
	return ok && end == len(value) && walk(value)
}

// walk reports whether the values of an array are valid AMQP. It builds nothing and does not recurse: a hostile client
// nests tens of thousands of tables.
func walk(values []byte) bool {
	type level struct {
		end   int
		table bool
	}

	in := level{end: len(values)}

	around := []level(nil)
	for at := 0; ; {
		if at == in.end {
			if len(around) == 0 {
				return true
			}
			in = around[len(around)-1]
			around = around[:len(around)-1]
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

// Table converts a table for amqp091-go, for the arguments of bindings.
func Table(t model.Table) amqp.Table {
	out := make(amqp.Table, len(t))
	for key, v := range t {
		out[key] = libraryValue(v)
	}
	return out
}

func libraryValue(v any) any {
	switch v := v.(type) {
	case model.Table:
		return Table(v)
	case model.Decimal:
		return amqp.Decimal(v)
	case int:
		return int64(v) // amqp091-go would truncate it to 32 bits
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = libraryValue(v[i])
		}
		return out
	}

	return v
}
