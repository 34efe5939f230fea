package broker

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// maxNesting is how many tables and arrays in each other are read as such; what is deeper is kept as it came.
const maxNesting = 1000

// decodeTable reads the entries of a field table, without the length in front of them: everything that RabbitMQ takes
// (3.10.8, 4.0.5, 4.3.6). What cannot be read it keeps as raw bytes. The values have the types that amqp091-go 1.16
// gives them.
func decodeTable(b []byte, depth int) model.Table {
	t := model.Table{}
	for len(b) > 0 {
		name, rest, ok := cutName(b)
		if !ok {
			addValue(t, "", model.RawValue{Bytes: slices.Clone(b)})
			break
		}
		var v any
		v, b = decodeValue(rest, depth)
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

// cutName cuts the name of a value off, when there is a letter of a type behind it.
func cutName(b []byte) (name string, rest []byte, ok bool) {
	if n := int(b[0]); len(b) > 1+n {
		return string(b[1 : 1+n]), b[1+n:], true
	}
	return "", b, false
}

// withLength marks types whose values begin with their length, in four bytes.
const withLength = -1

// sizes are the bytes of values by the letters of their types, without the letter; noType for what is no letter of
// a type.
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

// valueEnd is where a value ends that begins with its letter, and where its content begins, behind a length. ok is
// false when that is not within b.
func valueEnd(b []byte) (content, end int, ok bool) {
	switch size := sizes[b[0]]; size {
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

// decodeValue reads a value behind its letter. What cannot be read reaches to the end, as nothing tells where it ends.
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
		var list []any // nil when there is nothing in it, as amqp091-go has it
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

// encodeTable writes the entries of a table in the order of their names, without the length in front of them: what
// decodeTable read, it writes. The table must be one that tableSize has measured.
func encodeTable(b []byte, t model.Table) []byte {
	names := slices.AppendSeq(make([]string, 0, len(t)), maps.Keys(t))
	slices.Sort(names)
	for _, name := range names {
		values, several := t[name].(model.Repeated)
		if !several {
			values = []any{t[name]}
		}
		for _, v := range values {
			b = encodeValue(append(append(b, byte(len(name))), name...), v)
		}
	}
	return b
}

// encodeValue writes a value behind the letter of its type.
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

// counted writes what write appends, with its length in front.
func counted(b []byte, write func([]byte) []byte) []byte {
	start := len(b)
	b = write(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}
