package message

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a pickle as text: values can be in each other, and in themselves.
const (
	maxPickleText  = 512 << 10 // bytes
	maxPickleDepth = 40        // levels
	maxPickleLong  = 512       // bytes of a whole number
)

// pickleSized are the opcodes of values that bring their length, and the size of that length in bytes.
var pickleSized = map[byte]struct {
	kind  pickleKind
	bytes int
}{
	'U': {pickleText, 1}, 'T': {pickleText, 4}, 'X': {pickleText, 4}, 0x8c: {pickleText, 1}, 0x8d: {pickleText, 8},
	'C': {pickleBytes, 1}, 'B': {pickleBytes, 4}, 0x8e: {pickleBytes, 8}, 0x96: {pickleBytes, 8},
	0x8a: {pickleLong, 1}, 0x8b: {pickleLong, 4},
}

// scalar does the opcode of a number, a truth value or a text on a line; it is false for another one.
func (r *pickleReader) scalar(op byte) bool {
	switch op {
	case 'N':
		r.literal("null")
	case 0x88, 0x89:
		r.literal(strconv.FormatBool(op == 0x88))
	case 'K':
		r.literal(itoa(r.number(1)))
	case 'M':
		r.literal(itoa(r.number(2)))
	case 'J':
		r.literal(itoa(int(int32(binary.LittleEndian.Uint32(r.take(4))))))
	case 'G':
		r.float(math.Float64frombits(binary.BigEndian.Uint64(r.take(8))))
	case 'F':
		f, err := strconv.ParseFloat(r.line(), 64)
		check(err == nil)
		r.float(f)
	case 'I', 'L':
		r.decimal(strings.TrimSuffix(r.line(), "L"))
	case 'S':
		text := r.line()
		check(len(text) >= 2 && text[0] == text[len(text)-1] && strings.IndexByte(`'"`, text[0]) >= 0)
		r.add(pickleText, []byte(unescaped(text[1:len(text)-1])))
	case 'V':
		var text []rune // bytes are Latin-1
		for _, b := range []byte(r.line()) {
			text = append(text, rune(b))
		}
		r.add(pickleText, []byte(unescaped(string(text))))
	default:
		return false
	}
	return true
}

// unescaped is a text of protocol 0 without its escapes, as far as it is written like one of Go.
func unescaped(s string) string {
	if plain, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`); err == nil {
		return plain
	}
	return s
}

func (r *pickleReader) decimal(text string) {
	switch text {
	case "00", "01": // truth values before protocol 2
		r.literal(strconv.FormatBool(text == "01"))
		return
	}
	check(len(text) <= 2*maxPickleLong && json.Valid([]byte(text)) && strings.Trim(text, "-0123456789") == "")
	r.literal(text)
}

func (r *pickleReader) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		r.add(pickleText, []byte(strconv.FormatFloat(f, 'g', -1, 64)))
		return
	}
	r.literal(strconv.FormatFloat(f, 'g', -1, 64))
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	check(err == nil)
	return n
}

// long is a little-endian two's complement in decimal.
func long(text string) string {
	if len(text) > maxPickleLong {
		return `"a number of ` + itoa(len(text)) + ` bytes"`
	}
	b := []byte(text)
	slices.Reverse(b)
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n.String()
}

// appendJSON adds a value as JSON. What is too deep, or after the text is too long, is left out: whole then is false.
func (v *pickleValue) appendJSON(out []byte, depth int) (_ []byte, whole bool) {
	if depth > maxPickleDepth || len(out)+len(v.text) > maxPickleText {
		return append(out, `"…"`...), false
	}
	switch v.kind {
	case pickleText:
		return AppendText(out, v.text), true
	case pickleBytes:
		if utf8.ValidString(v.text) && !LooksBinary([]byte(v.text)) {
			return AppendText(out, v.text), true
		}
		out = append(out, `{"$bytes":`...)
		return append(AppendText(out, base64.StdEncoding.EncodeToString([]byte(v.text))), '}'), true
	case pickleLong:
		return append(out, long(v.text)...), true
	case pickleList:
		return appendList(out, v.items, depth)
	case pickleDict:
		return appendDict(out, v.items, depth)
	case pickleClass:
		return append(AppendText(append(out, `{"$class":`...), v.text), '}'), true
	case pickleCall:
		return v.appendCall(out, depth)
	}
	return append(out, v.text...), true
}

// appendCall adds an object as the name of its class with what it was made of.
func (v *pickleValue) appendCall(out []byte, depth int) (_ []byte, whole bool) {
	whole = true
	member := func(name string, part *pickleValue) {
		if part != nil {
			var all bool
			out = append(out, `,"`+name+`":`...)
			out, all = part.appendJSON(out, depth+1)
			whole = whole && all
		}
	}
	out = append(out, `{"$class":`...)
	if v.callee.kind == pickleClass {
		out = AppendText(out, v.callee.text)
	} else {
		out, whole = v.callee.appendJSON(out, depth+1)
	}
	member("args", v.args)
	member("state", v.state)
	if len(v.items) > 0 {
		member("items", &pickleValue{kind: pickleList, items: v.items})
	}
	return append(out, '}'), whole
}

func appendList(out []byte, items []*pickleValue, depth int) (_ []byte, whole bool) {
	whole = true
	out = append(out, '[')
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		var all bool
		if out, all = item.appendJSON(out, depth+1); len(out) > maxPickleText {
			return append(out, ']'), false
		}
		whole = whole && all
	}
	return append(out, ']'), whole
}

// appendDict adds keys and values; a key that is no text becomes one.
func appendDict(out []byte, items []*pickleValue, depth int) (_ []byte, whole bool) {
	whole = true
	out = append(out, '{')
	for i := 0; i+1 < len(items); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		var all bool
		if key := items[i]; key.kind == pickleText {
			out = AppendText(out, key.text)
		} else {
			var text []byte
			text, all = key.appendJSON(nil, max(depth+1, maxPickleDepth-1)) // it may be in itself
			out = AppendText(out, string(text))
			whole = whole && all
		}
		out, all = items[i+1].appendJSON(append(out, ':'), depth+1)
		if whole = whole && all; len(out) > maxPickleText {
			return append(out, '}'), false
		}
	}
	return append(out, '}'), whole
}

// AppendText writes a text as JSON does, with U+FFFD for what is not UTF-8.
func AppendText(out []byte, s string) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ToValidUTF8(s, "\uFFFD")) // a text can always be written
	return append(out, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// Pickled is a body that Python pickled, as JSON that is made of its structure: a class is {"$class": NAME}, an object
// its class with "args" and "state". whole is false where the JSON does not have all of it.
func (m *Message) Pickled() (text []byte, whole, ok bool) {
	if !m.looksPickled() {
		return nil, false, false
	}
	v, err := parsePickle(m.Body)
	if err != nil {
		return nil, false, false
	}
	text, whole = v.appendJSON(nil, 0)
	return text, whole, true
}

// looksPickled reports whether a body is worth reading as a pickle: protocols from 2 on begin with their number, of the
// older ones only the content type says it.
func (m *Message) looksPickled() bool {
	if !m.whole() || m.Body[len(m.Body)-1] != '.' {
		return false
	}
	return len(m.Body) > 2 && m.Body[0] == 0x80 && m.Body[1] >= 2 && m.Body[1] <= 5 ||
		m.Properties.ContentType == pickleType
}
