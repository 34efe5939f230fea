package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
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

// simple are the Go types of values with a fixed size, by type letter: each has a value of it.
var simple = map[byte]any{
	't': false, 'b': int8(0), 'B': uint8(0), 's': int16(0), 'u': uint16(0), 'I': int32(0), 'i': uint32(0), 'l': int64(0),
	'L': uint64(0), 'f': float32(0), 'd': float64(0), 'D': model.Decimal{},
}

// sizes are the sizes in bytes of values without the letter, by type letter, and letters those of the Go types.
var sizes, letters = func() (all [256]int8, letters map[reflect.Type]byte) {
	for i := range all {
		all[i] = noType
	}
	for _, letter := range "SxAF" {
		all[letter] = withLength
	}

	all['V'], all['T'] = 0, 8
	letters = map[reflect.Type]byte{}
	for letter, v := range simple {
		all[letter], letters[reflect.TypeOf(v)] = int8(binary.Size(v)), letter
	}

	return all, letters
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
	switch letter {
	case 'T':
		return time.Unix(int64(binary.BigEndian.Uint64(b)), 0)
	case 'S':
		return string(b)
	case 'x':
		return slices.Clone(b)
	case 'V':
		return nil
	}

	v := reflect.New(reflect.TypeOf(simple[letter]))
	_, _ = binary.Decode(b, binary.BigEndian, v.Interface()) // b has its size
	return v.Elem().Interface()
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
	case int:
		return encodeValue(b, int64(v))
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

	letter, known := letters[reflect.TypeOf(v)]
	if !known {
		panic(fmt.Sprintf("a header of type %T was not refused", v))
	}
	b, _ = binary.Append(append(b, letter), order, v) // it has a fixed size
	return b
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
	if _, known := letters[reflect.TypeOf(v)]; known {
		return nil
	}
	switch v := v.(type) {
	case nil, int, time.Time, string, []byte:
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
				return model.Errorf("%v: %w", name, err)
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
