package broker

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"dlxtop/model"
)

// What amqp091-go 1.16 reads: see its read.go. Beyond that it closes the connection, with everything that is held
// on it, and the message is delivered again. RabbitMQ takes all of it (3.10.8, 4.0.5, 4.3.6).
const (
	clientNesting = 32   // tables and arrays in each other, in the table of the headers
	clientEntries = 8192 // of one table or array
)

// walker goes through the bytes of tables without making anything of them. It is for one goroutine.
type walker struct {
	levels []walkLevel
	names  []uint64 // digests, those of the innermost table last
}

// walkLevel is a table or an array that the walk is in.
type walkLevel struct {
	end     int
	entries int
	names   int // of the tables around it
	table   bool
}

// readable reports whether amqp091-go reads the entries of a table, and nothing gets lost by it: of values with the
// same name it keeps the last one.
func (w *walker) readable(b []byte) bool { return w.walk(b, true, true) }

// walk goes through the entries of a table, or of an array, and reports whether they are what AMQP allows. client
// asks for what amqp091-go reads.
func (w *walker) walk(b []byte, table, client bool) bool {
	w.names, w.levels = w.names[:0], w.levels[:0]
	in := walkLevel{end: len(b), table: table}
	for at := 0; ; {
		if at == in.end {
			if client && in.table && w.repeats(in.names) {
				return false
			}
			if len(w.levels) == 0 {
				return true
			}
			w.names = w.names[:in.names]
			in, w.levels = w.levels[len(w.levels)-1], w.levels[:len(w.levels)-1]
			continue
		}
		if in.entries++; client && in.entries > clientEntries {
			return false
		}
		if in.table {
			name := at + 1
			if at = name + int(b[at]); at >= in.end {
				return false
			}
			if client {
				w.names = append(w.names, digest(b[name:at]))
			}
		}
		letter := b[at]
		begin, end, ok := valueEnd(b[at:in.end])
		if !ok || client && letter == 'L' {
			return false
		}
		if letter != 'A' && letter != 'F' {
			at += end
			continue
		}
		w.levels = append(w.levels, in)
		if client && len(w.levels) > clientNesting {
			return false
		}
		in = walkLevel{end: at + end, names: len(w.names), table: letter == 'F'}
		at += begin
	}
}

// digest tells names apart: as good as surely up to 16 bytes, and by their ends beyond.
func digest(name []byte) uint64 {
	order, n := binary.LittleEndian, len(name)
	var first, last uint64
	switch {
	case n >= 8:
		first, last = order.Uint64(name), order.Uint64(name[n-8:])
	case n >= 4:
		first, last = uint64(order.Uint32(name)), uint64(order.Uint32(name[n-4:]))
	default:
		for _, c := range name {
			first = first<<8 | uint64(c)
		}
	}
	const mix, mixLength = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93 // odd, with their ones spread
	return (first^bits.RotateLeft64(last, 29)*mix)*mix + uint64(n)*mixLength
}

// repeats reports whether two names of the innermost table are the same, which begin at first. It may say so of two
// that are not: the table is then read by decodeTable without need.
func (w *walker) repeats(first int) bool {
	const few = 16
	names := w.names[first:]
	if len(names) > few {
		slices.Sort(names)
		for i := 1; i < len(names); i++ {
			if names[i] == names[i-1] {
				return true
			}
		}
		return false
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return true
		}
	}
	return false
}

// wellFormed reports whether a raw value is what AMQP allows, whatever its depth.
func wellFormed(raw model.RawValue) bool {
	value := append([]byte{raw.Type}, raw.Bytes...)
	_, end, ok := valueEnd(value)
	return ok && end == len(value) && new(walker).walk(value, false, false)
}
