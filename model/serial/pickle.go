package serial

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// The bounds of decoding a pickle.
const (
	maxPickleSteps = 100_000
	maxPickleLong  = 512 // bytes of an integer
)

// made is how a pickle created an object.
type made int

const (
	aCall made = iota // mostly of a class
	aDict
	aClass // it is the class itself
)

// pickleReader interprets the opcodes of a pickle of protocols 0 to 5.
type pickleReader struct {
	Reader
	stack []*Value
	marks []int // indexes in the stack
	memo  map[int]*Value
	made  map[*Value]made // by object: how it was created
}

// Pickle decodes what Python pickled, to its end: a class is an object of that class, and a call has its arguments and
// further contents as "args", "state" and "items".
func Pickle(body []byte) (*Value, error) {
	r := pickleReader{Reader: Reader{Rest: body}, memo: map[int]*Value{}, made: map[*Value]made{}}
	return Try(func() *Value {
		for range maxPickleSteps {
			op := r.Take(1)[0]
			if op == '.' {
				Check(len(r.Rest) == 0 && len(r.stack) == 1)
				return r.stack[0]
			}
			r.step(op)
		}
		panic(ErrTooMuch)
	})
}

func (r *pickleReader) line() string {
	end := bytes.IndexByte(r.Rest, '\n')
	Check(end >= 0)
	return string(r.Take(uint64(end + 1))[:end])
}

// number reads a little-endian number of size bytes.
func (r *pickleReader) number(size uint64) int {
	var b [8]byte
	copy(b[:], r.Take(size))
	n := binary.LittleEndian.Uint64(b[:])
	Check(n <= math.MaxInt)
	return int(n)
}

func (r *pickleReader) push(v *Value) { r.stack = append(r.stack, v) }

func (r *pickleReader) pop() *Value {
	v := r.top()
	r.stack = r.stack[:len(r.stack)-1]
	return v
}

// top is the value on top of the stack, above the last mark.
func (r *pickleReader) top() *Value {
	Check(len(r.stack) > 0 && (len(r.marks) == 0 || len(r.stack) > r.marks[len(r.marks)-1]))
	return r.stack[len(r.stack)-1]
}

// last pops n values, marked those above the last mark.
func (r *pickleReader) last(n int) []*Value {
	at := len(r.stack) - n
	Check(at >= 0 && (len(r.marks) == 0 || at >= r.marks[len(r.marks)-1]))
	values := append([]*Value(nil), r.stack[at:]...)
	r.stack = r.stack[:at]
	return values
}

func (r *pickleReader) marked() []*Value {
	Check(len(r.marks) > 0)
	at := r.marks[len(r.marks)-1]
	values := r.last(len(r.stack) - at)
	r.marks = r.marks[:len(r.marks)-1]
	return values
}

func listOf(items []*Value) *Value {
	v := &Value{Kind: List}
	for _, item := range items {
		v.Add("", item)
	}
	return v
}

// fill adds to a list, a set, a dict, or an object that is one of them.
func (r *pickleReader) fill(items []*Value) {
	into := r.top()
	Check(r.made[into] != aClass)
	if into.Kind == Object && r.made[into] == aCall {
		list := into.Member("items")
		if list == nil {
			list = listOf(nil)
			into.Add("items", list)
		}
		into = list
	}
	if into.Kind == List {
		into.Members = append(into.Members, listOf(items).Members...)
		return
	}
	Check(into.Kind == Object && len(items)%2 == 0)
	for i := 0; i < len(items); i += 2 {
		into.Put(items[i], items[i+1])
	}
}

func (r *pickleReader) dict() {
	v := &Value{Kind: Object}
	r.made[v] = aDict
	r.push(v)
}

func (r *pickleReader) class(names ...string) *Value {
	v := &Value{Kind: Object, Text: strings.Join(names, ".")}
	r.made[v] = aClass
	return v
}

// call creates an object of the called class or function, with its arguments.
func (r *pickleReader) call(callee, args *Value) {
	v := &Value{Kind: Object, Text: callee.Text}
	if r.made[callee] != aClass {
		v.Text = ""
		v.Add("$class", callee)
	}
	v.Add("args", args)
	r.push(v)
}

// give sets an object's state after its creation.
func (r *pickleReader) give(state *Value) {
	into := r.top()
	if into.Kind != Object || r.made[into] != aCall {
		return
	}
	members := slices.DeleteFunc(into.Members, func(m Member) bool { return m.Name == "state" })
	at := slices.IndexFunc(members, func(m Member) bool { return m.Name == "items" })
	if at < 0 {
		at = len(members)
	}
	into.Members = slices.Insert(members, at, Member{Name: "state", Of: state})
}

func (r *pickleReader) keep(key int) { r.memo[key] = r.top() }

func (r *pickleReader) get(key int) {
	v, ok := r.memo[key]
	Check(ok)
	r.push(v)
}

// step interprets one opcode: first those of values, then those that build on them.
func (r *pickleReader) step(op byte) {
	if size, ok := pickleSized[op]; ok {
		b := r.Take(uint64(r.number(size.bytes)))
		switch size.kind {
		case Text:
			r.push(OfText(string(b)))
		case Bytes:
			r.push(OfBytes(b))
		default:
			r.push(Of(long(b)))
		}
		return
	}
	if r.scalar(op) {
		return
	}
	switch op {
	case '(':
		r.marks = append(r.marks, len(r.stack))
	case '0': // removes a mark, too
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
		r.push(listOf(nil))
	case 0x85, 0x86, 0x87: // a tuple of one, two, three
		r.push(listOf(r.last(int(op - 0x84))))
	case 't', 'l', 0x91: // a tuple, a list, a frozen set of the marked values
		r.push(listOf(r.marked()))
	case '}':
		r.dict()
	case 'd':
		items := r.marked()
		r.dict()
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

// object interprets an opcode that names or creates an object, or memoizes a value.
func (r *pickleReader) object(op byte) {
	switch op {
	case 'c':
		r.push(r.class(r.line(), r.line()))
	case 0x93: // a class whose names are on the stack
		names := r.last(2)
		Check(names[0].Kind == Text && names[1].Kind == Text)
		r.push(r.class(names[0].Text, names[1].Text))
	case 'P', 'Q': // a persistent reference
		if op == 'P' {
			r.push(OfText(r.line()))
		}
		r.call(r.class("persistent"), listOf(r.last(1)))
	case 0x82, 0x83, 0x84: // a class by its number in a registry
		r.push(r.class("extension " + strconv.Itoa(r.number(1<<(op-0x82)))))
	case 'R', 0x81:
		values := r.last(2)
		r.call(values[0], values[1])
	case 0x92:
		values := r.last(3)
		r.call(values[0], listOf(values[1:]))
	case 'i':
		class := r.class(r.line(), r.line())
		r.call(class, listOf(r.marked()))
	case 'o':
		values := r.marked()
		Check(len(values) > 0)
		r.call(values[0], listOf(values[1:]))
	case 'b':
		r.give(r.pop())
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
		Check(r.number(1) <= 5)
	case 0x95: // a frame
		r.Take(8)
	case 0x98: // a buffer becomes read-only
	default: // an out-of-band buffer (0x97), or an invalid opcode
		Check(false)
	}
}

// pickleSized are the opcodes of values with a length, and the size of that length in bytes.
var pickleSized = map[byte]struct {
	kind  Kind // a Literal is an integer
	bytes uint64
}{
	'U': {Text, 1}, 'T': {Text, 4}, 'X': {Text, 4}, 0x8c: {Text, 1}, 0x8d: {Text, 8},
	'C': {Bytes, 1}, 'B': {Bytes, 4}, 0x8e: {Bytes, 8}, 0x96: {Bytes, 8},
	0x8a: {Literal, 1}, 0x8b: {Literal, 4},
}

// scalar interprets the opcode of a number, a boolean or a text on a line; it is false for any other.
func (r *pickleReader) scalar(op byte) bool {
	switch op {
	case 'N':
		r.push(Of("null"))
	case 0x88, 0x89:
		r.push(Of(strconv.FormatBool(op == 0x88)))
	case 'K':
		r.push(Of(strconv.Itoa(r.number(1))))
	case 'M':
		r.push(Of(strconv.Itoa(r.number(2))))
	case 'J':
		r.push(Of(strconv.Itoa(int(int32(binary.LittleEndian.Uint32(r.Take(4)))))))
	case 'G':
		r.push(OfFloat(math.Float64frombits(binary.BigEndian.Uint64(r.Take(8))), 64))
	case 'F':
		f, err := strconv.ParseFloat(r.line(), 64)
		Check(err == nil)
		r.push(OfFloat(f, 64))
	case 'I', 'L':
		r.decimal(strings.TrimSuffix(r.line(), "L"))
	case 'S':
		text := r.line()
		Check(len(text) >= 2 && text[0] == text[len(text)-1] && strings.IndexByte(`'"`, text[0]) >= 0)
		r.push(OfText(unescaped(text[1 : len(text)-1])))
	case 'V':
		var text []rune // bytes are Latin-1
		for _, b := range []byte(r.line()) {
			text = append(text, rune(b))
		}
		r.push(OfText(unescaped(string(text))))
	default:
		return false
	}
	return true
}

// unescaped decodes a text of protocol 0, if its escapes are those of Go.
func unescaped(s string) string {
	if plain, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`); err == nil {
		return plain
	}
	return s
}

func (r *pickleReader) decimal(text string) {
	switch text {
	case "00", "01": // booleans before protocol 2
		r.push(Of(strconv.FormatBool(text == "01")))
		return
	}
	Check(len(text) <= 2*maxPickleLong && json.Valid([]byte(text)) && strings.Trim(text, "-0123456789") == "")
	r.push(Of(text))
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	Check(err == nil)
	return n
}

// long converts a little-endian two's complement to decimal.
func long(text []byte) string {
	if len(text) > maxPickleLong {
		return `"a number of ` + strconv.Itoa(len(text)) + ` bytes"`
	}
	b := slices.Clone(text)
	slices.Reverse(b)
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n.String()
}
