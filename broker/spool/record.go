package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// A record is a message as a spool keeps it: everything but its position and fingerprint, header values with their AMQP
// types. Numbers are varints, texts and tables have their length in front. The body comes last, without a length: it
// ends where the record ends.

// appendHead appends all of a record but the body.
func appendHead(b []byte, m *message.Message) []byte {
	redelivered := byte(0)
	if m.Redelivered {
		redelivered = 1
	}
	b = appendText(appendText(append(b, redelivered), m.Exchange), m.RoutingKey)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Properties.Zeros))
	for _, f := range m.Properties.Fields() {
		switch {
		case f.Text != nil:
			b = appendText(b, *f.Text)
		case f.Number != nil:
			b = append(b, *f.Number)
		default:
			b = binary.AppendVarint(b, f.Time.Unix()) // of a zero time, too
		}
	}
	return appendTable(b, m.Headers)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTable(b []byte, t model.Table) []byte {
	b = binary.AppendUvarint(b, uint64(len(t)))
	for key, v := range t {
		b = appendValue(appendText(b, key), v)
	}
	return b
}

// appendValue appends a header's value behind the letter that AMQP has for its type; R is a Repeated, ? a RawValue.
func appendValue(b []byte, v any) []byte {
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
		return binary.AppendVarint(append(b, 's'), int64(v))
	case uint16:
		return binary.AppendUvarint(append(b, 'u'), uint64(v))
	case int32:
		return binary.AppendVarint(append(b, 'I'), int64(v))
	case uint32:
		return binary.AppendUvarint(append(b, 'i'), uint64(v))
	case int64:
		return binary.AppendVarint(append(b, 'l'), v)
	case uint64:
		return binary.AppendUvarint(append(b, 'L'), v)
	case float32:
		return binary.AppendUvarint(append(b, 'f'), uint64(math.Float32bits(v)))
	case float64:
		return binary.AppendUvarint(append(b, 'd'), math.Float64bits(v))
	case model.Decimal:
		return binary.AppendVarint(append(b, 'D', v.Scale), int64(v.Value))
	case string:
		return appendText(append(b, 'S'), v)
	case []byte:
		return appendText(append(b, 'x'), string(v))
	case time.Time:
		return binary.AppendVarint(append(b, 'T'), v.Unix())
	case model.Table:
		return appendTable(append(b, 'F'), v)
	case []any:
		return appendList(append(b, 'A'), v)
	case model.Repeated:
		return appendList(append(b, 'R'), v)
	case model.RawValue:
		return appendText(append(b, '?', v.Type), string(v.Bytes))
	}
	panic(fmt.Sprintf("AMQP delivered a header of type %T", v)) // there are no others
}

func appendList(b []byte, values []any) []byte {
	b = binary.AppendUvarint(b, uint64(len(values)))
	for _, v := range values {
		b = appendValue(b, v)
	}
	return b
}

// errRecord: a record does not read as it was written.
var errRecord = errors.New("the stored copy of it is damaged")

// parseHead reads what appendHead wrote, which must be all of text.
func parseHead(text string) (m message.Message, err error) {
	defer func() {
		if recover() != nil { // an index out of range: no other program can write to a spool, so this is the disk
			m, err = message.Message{}, errRecord
		}
	}()
	r := recordReader{text}
	m.Redelivered, m.Exchange, m.RoutingKey = r.byte() != 0, r.text(), r.text()
	m.Properties.Zeros = message.PropertySet(binary.BigEndian.Uint16([]byte(r.bytes(2))))
	for _, f := range m.Properties.Fields() {
		switch {
		case f.Text != nil:
			*f.Text = r.text()
		case f.Number != nil:
			*f.Number = r.byte()
		default:
			if seconds := r.signed(); seconds != (time.Time{}).Unix() {
				*f.Time = time.Unix(seconds, 0)
			}
		}
	}
	if m.Headers = r.table(); len(m.Headers) == 0 {
		m.Headers = nil
	}
	if r.rest != "" {
		return message.Message{}, errRecord
	}
	return m, nil
}

// recordReader reads a record from its start. It panics where the record is damaged.
type recordReader struct{ rest string }

func (r *recordReader) bytes(n uint64) string {
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *recordReader) byte() byte { return r.bytes(1)[0] }

func (r *recordReader) unsigned() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (r *recordReader) signed() int64 {
	n := r.unsigned()
	return int64(n>>1) ^ -int64(n&1) // as binary.AppendVarint folds it
}

func (r *recordReader) text() string { return r.bytes(r.unsigned()) }

func (r *recordReader) table() model.Table {
	n := r.unsigned()
	t := make(model.Table, min(n, 32)) // a damaged record may say that it has more than there are bytes
	for range n {
		key := r.text()
		t[key] = r.value()
	}
	return t
}

func (r *recordReader) value() any {
	switch kind := r.byte(); kind {
	case 'V':
		return nil
	case 't':
		return r.byte() != 0
	case 'b':
		return int8(r.byte())
	case 'B':
		return r.byte()
	case 's':
		return int16(r.signed())
	case 'u':
		return uint16(r.unsigned())
	case 'I':
		return int32(r.signed())
	case 'i':
		return uint32(r.unsigned())
	case 'l':
		return r.signed()
	case 'L':
		return r.unsigned()
	case 'f':
		return math.Float32frombits(uint32(r.unsigned()))
	case 'd':
		return math.Float64frombits(r.unsigned())
	case 'D':
		scale := r.byte()
		return model.Decimal{Scale: scale, Value: int32(r.signed())}
	case 'S':
		return r.text()
	case 'x':
		return []byte(r.text())
	case 'T':
		return time.Unix(r.signed(), 0)
	case 'F':
		return r.table()
	case 'A':
		return r.list()
	case 'R':
		return model.Repeated(r.list())
	case '?':
		return model.RawValue{Type: r.byte(), Bytes: []byte(r.text())}
	default:
		panic(kind)
	}
}

// list is nil when there is nothing in it, as amqp091-go has it.
func (r *recordReader) list() []any {
	var list []any
	for range r.unsigned() {
		list = append(list, r.value())
	}
	return list
}
