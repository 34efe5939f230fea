package message

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

// Bounds of what is read of Python's pickle. Nothing of it is executed and no object is made: a class stays its name,
// and a call of it is its name with its arguments.
const (
	maxPickleSteps = 100_000
	pickleType     = "application/x-python-serialize"
)

// pickleKind is what a value of a pickle is.
type pickleKind int

const (
	pickleLiteral pickleKind = iota // text is as JSON has it
	pickleText
	pickleBytes
	pickleLong // text is a little-endian two's complement
	pickleList // a tuple or a set, too
	pickleDict
	pickleClass // text is its name
	pickleCall  // of callee with args
)

// pickleValue is a value of a pickle. One value can be in several others, and in itself.
type pickleValue struct {
	kind         pickleKind
	text         string
	items        []*pickleValue // of a list; keys and values in turn of a dict, and of an object that is filled like one
	callee, args *pickleValue
	state        *pickleValue // what an object was given after it was made
}

var errPickle = errors.New("no pickle")

// pickleReader goes through the opcodes of a pickle of the protocols 0 to 5.
type pickleReader struct {
	rest  []byte
	stack []*pickleValue
	marks []int // places in the stack
	memo  map[int]*pickleValue
}

// parsePickle reads a pickle to its end.
func parsePickle(body []byte) (v *pickleValue, err error) {
	r := pickleReader{rest: body, memo: map[int]*pickleValue{}}
	defer func() {
		if bad := recover(); bad == any(errPickle) {
			v, err = nil, errPickle
		} else if bad != nil {
			panic(bad)
		}
	}()
	for range maxPickleSteps {
		op := r.take(1)[0]
		if op == '.' {
			if len(r.rest) > 0 || len(r.stack) != 1 {
				return nil, errPickle
			}
			return r.stack[0], nil
		}
		r.step(op)
	}
	return nil, errPickle
}

// check ends the reading of what is no pickle; parsePickle tells.
func check(ok bool) {
	if !ok {
		panic(errPickle)
	}
}

func (r *pickleReader) take(n int) []byte {
	check(n >= 0 && n <= len(r.rest))
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *pickleReader) line() string {
	end := bytes.IndexByte(r.rest, '\n')
	check(end >= 0)
	return string(r.take(end + 1)[:end])
}

// number is a little-endian number of size bytes.
func (r *pickleReader) number(size int) int {
	var b [8]byte
	copy(b[:], r.take(size))
	n := binary.LittleEndian.Uint64(b[:])
	check(n <= math.MaxInt)
	return int(n)
}

func (r *pickleReader) push(v *pickleValue) { r.stack = append(r.stack, v) }
func (r *pickleReader) literal(text string) { r.push(&pickleValue{text: text}) }
func (r *pickleReader) add(kind pickleKind, text []byte) {
	r.push(&pickleValue{kind: kind, text: string(text)})
}

func (r *pickleReader) pop() *pickleValue {
	v := r.top()
	r.stack = r.stack[:len(r.stack)-1]
	return v
}

// top is the last value, which is above the last mark.
func (r *pickleReader) top() *pickleValue {
	check(len(r.stack) > 0 && (len(r.marks) == 0 || len(r.stack) > r.marks[len(r.marks)-1]))
	return r.stack[len(r.stack)-1]
}

// last takes the last n values, marked those above the last mark.
func (r *pickleReader) last(n int) []*pickleValue {
	at := len(r.stack) - n
	check(at >= 0 && (len(r.marks) == 0 || at >= r.marks[len(r.marks)-1]))
	values := append([]*pickleValue(nil), r.stack[at:]...)
	r.stack = r.stack[:at]
	return values
}

func (r *pickleReader) marked() []*pickleValue {
	check(len(r.marks) > 0)
	at := r.marks[len(r.marks)-1]
	values := r.last(len(r.stack) - at)
	r.marks = r.marks[:len(r.marks)-1]
	return values
}

func (r *pickleReader) list(items []*pickleValue) {
	r.push(&pickleValue{kind: pickleList, items: items})
}

// fill adds to a list, a set, a dict, or an object that is one of them.
func (r *pickleReader) fill(items []*pickleValue) {
	into := r.top()
	check(into.kind == pickleList || into.kind == pickleDict || into.kind == pickleCall)
	check(into.kind != pickleDict || len(items)%2 == 0)
	into.items = append(into.items, items...)
}

func (r *pickleReader) call(callee *pickleValue, args *pickleValue) {
	r.push(&pickleValue{kind: pickleCall, callee: callee, args: args})
}

func (r *pickleReader) class(parts ...string) {
	r.push(&pickleValue{kind: pickleClass, text: strings.Join(parts, ".")})
}

func (r *pickleReader) keep(key int) { r.memo[key] = r.top() }

func (r *pickleReader) get(key int) {
	v, ok := r.memo[key]
	check(ok)
	r.push(v)
}

// step does one opcode: values first, then what is made of them.
func (r *pickleReader) step(op byte) {
	if size, ok := pickleSized[op]; ok {
		r.add(size.kind, r.take(r.number(size.bytes)))
		return
	}
	if r.scalar(op) {
		return
	}
	switch op {
	case '(':
		r.marks = append(r.marks, len(r.stack))
	case '0': // a mark, too
		if last := len(r.marks) - 1; last >= 0 && r.marks[last] == len(r.stack) {
			r.marks = r.marks[:last]
		} else {
			r.pop()
		}
	case '1':
		r.marked()
	case '2':
		r.push(r.top())
	case ')', ']', 0x8f: // an empty tuple, list, set
		r.list(nil)
	case 0x85, 0x86, 0x87: // a tuple of one, two, three
		r.list(r.last(int(op - 0x84)))
	case 't', 'l', 0x91: // a tuple, a list, a frozen set of what is marked
		r.list(r.marked())
	case '}':
		r.push(&pickleValue{kind: pickleDict})
	case 'd':
		items := r.marked()
		r.push(&pickleValue{kind: pickleDict})
		r.fill(items)
	case 'a':
		r.fill(r.last(1))
	case 's':
		r.fill(r.last(2))
	case 'e', 'u', 0x90:
		r.fill(r.marked())
	default:
		r.object(op)
	}
}

// object does an opcode that names or makes an object, or remembers a value.
func (r *pickleReader) object(op byte) {
	switch op {
	case 'c':
		r.class(r.line(), r.line())
	case 0x93: // a class whose names are values
		names := r.last(2)
		check(names[0].kind == pickleText && names[1].kind == pickleText)
		r.class(names[0].text, names[1].text)
	case 'P', 'Q': // a reference outside
		if op == 'P' {
			r.add(pickleText, []byte(r.line()))
		}
		r.call(&pickleValue{kind: pickleClass, text: "persistent"}, &pickleValue{kind: pickleList, items: r.last(1)})
	case 0x82, 0x83, 0x84: // a class by its number in a registry
		r.add(pickleClass, []byte("extension "+itoa(r.number(1<<(op-0x82)))))
	case 'R', 0x81:
		values := r.last(2)
		r.call(values[0], values[1])
	case 0x92:
		values := r.last(3)
		r.call(values[0], &pickleValue{kind: pickleList, items: values[1:]})
	case 'i':
		class := &pickleValue{kind: pickleClass, text: r.line() + "." + r.line()}
		r.call(class, &pickleValue{kind: pickleList, items: r.marked()})
	case 'o':
		values := r.marked()
		check(len(values) > 0)
		r.call(values[0], &pickleValue{kind: pickleList, items: values[1:]})
	case 'b':
		state := r.pop()
		r.top().state = state
	case 'p':
		r.keep(atoi(r.line()))
	case 'q':
		r.keep(r.number(1))
	case 'r':
		r.keep(r.number(4))
	case 0x94:
		r.keep(len(r.memo))
	case 'g':
		r.get(atoi(r.line()))
	case 'h':
		r.get(r.number(1))
	case 'j':
		r.get(r.number(4))
	case 0x80: // the protocol
		check(r.number(1) <= 5)
	case 0x95: // a frame
		r.take(8)
	case 0x98: // a buffer becomes read-only
	default: // a buffer that was sent apart (0x97), or no opcode
		check(false)
	}
}
