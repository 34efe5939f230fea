package body

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/serial"
)

// reader decodes a binary format, or a textual one that is a structure.
type reader struct {
	format Format
	types  []string // content types of the format
	looks  func([]byte) bool
	read   func(*document) (text []byte, whole bool, err error) // as JSON, or similar to it
}

// readers are tried in this order: first those that the content type names, then those whose format the body looks
// like. Protobuf and Avro have no recognizable look, so they need the content type.
var readers = []reader{
	{Java, []string{"java-serialized-object", "java-object"}, begins("\xac\xed\x00\x05"), tree(parseJava)},
	{PHP, []string{"php-serialized", "vnd.php.serialized", "x-php-serialized"}, looksPHP, readPHP},
	{CBOR, []string{"cbor"}, looksCBOR, readCBOR},
	{MsgPack, []string{"msgpack", "messagepack"}, looksMsgPack, tree(parseMsgPack)},
	{Protobuf, []string{"protobuf"}, nil, tree(parseWire)},
}

// structure decodes a body as a structure other than JSON and XML, if it is one.
func (d *document) structure() (View, bool) {
	if len(d.data) == 0 {
		return View{}, false
	}
	if v, ok := d.avro(); ok {
		return v, true
	}
	if looksPickle(d.data) || d.says("python-serialize", "python-pickle") {
		d.note("a Python pickle, shown as it is: dlxtop does not open it")
		return d.plain(), true
	}

	for _, r := range readers {
		if !d.says(r.types...) {
			continue
		}
		v, err := d.readAs(r)
		if err == nil {
			return v, true
		}
		d.refused(r, err)
	}

	for _, r := range readers {
		if r.looks == nil || !d.whole || !r.looks(d.data) || d.says(r.types...) {
			continue
		}
		if v, err := d.readAs(r); err == nil {
			if r.format == MsgPack || r.format == CBOR { // only its bytes suggest it
				v.Title = "looks like " + string(r.format)
			}
			return v, true
		}
	}

	return View{}, false
}

// refused says why a body is not shown in the format of its content type. Finding JSON instead is not worth a word.
func (d *document) refused(r reader, err error) {
	switch {
	case !d.whole || errors.Is(err, serial.ErrTooMuch):
		d.note("%s, too large to be shown as its structure", r.format)
	case r.format == PHP || r.format == Java || !utf8.Valid(d.data):
		d.problem("not %s, although its content type says so", r.format)
	}
}

func (d *document) readAs(r reader) (View, error) {
	if !d.whole || len(d.data) > maxStructure {
		return View{}, serial.ErrTooMuch
	}
	text, whole, err := r.read(d)
	if err != nil {
		return View{}, err
	}
	var l layout
	v := View{Format: r.format}
	if shown := l.structure(text); shown < len(text) || !whole {
		v.Note = "a part of it"
	}

	v.Lines = l.lines
	if r.format == Java || r.format == PHP {
		d.note("shown as its structure; nothing of it was executed")
	}

	return v, nil
}

func tree(parse func([]byte) *serial.Value) func(*document) ([]byte, bool, error) {
	return func(d *document) ([]byte, bool, error) {
		v, err := serial.Try(func() *serial.Value { return parse(d.data) })
		if err != nil {
			return nil, false, err
		}
		text, whole := v.JSON(maxShown)
		return text, whole, nil
	}
}

// readerOf returns a reader bounded to what a view shows.
func readerOf(b []byte) serial.Reader {
	return serial.Reader{Rest: b, MaxValues: maxValues, MaxDepth: maxDepth}
}

func begins(magic string) func([]byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(magic)) }
}

// looksPickle recognizes what Python pickled, from protocol 2 on: its first byte cannot begin UTF-8.
func looksPickle(b []byte) bool {
	return len(b) > 2 && b[0] == 0x80 && b[1] >= 2 && b[1] <= 5 && b[len(b)-1] == '.'
}

// found adapts the result of a reader in model/message.
func found(text []byte, whole, ok bool) ([]byte, bool, error) {
	if !ok {
		return nil, false, serial.ErrFormat
	}
	return text, whole, nil
}

// looksPHP recognizes an array or an object: a number or a text alone could be any text.
func looksPHP(b []byte) bool {
	return len(b) > 5 && (b[0] == 'a' || b[0] == 'O') && b[1] == ':' && (b[len(b)-1] == '}')
}

func readPHP(d *document) ([]byte, bool, error) { return found(message.PHPSerialized(d.data)) }

// looksMsgPack recognizes a map: its first byte cannot begin UTF-8.
func looksMsgPack(b []byte) bool {
	switch {
	case len(b) < 4:
	case b[0] > 0x80 && b[0] < 0x90:
		return namesMember(b, 1, 0xa0)
	case b[0] == 0xde:
		return namesMember(b, 3, 0xa0)
	case b[0] == 0xdf:
		return namesMember(b, 5, 0xa0)
	}

	return false
}

// looksCBOR recognizes a map, or the self-described tag (RFC 8949, 3.4.6).
func looksCBOR(b []byte) bool {
	switch {
	case bytes.HasPrefix(b, []byte("\xd9\xd9\xf7")):
		return true
	case len(b) < 4:
	case b[0] > 0xa0 && b[0] < 0xb8, b[0] == 0xbf:
		return namesMember(b, 1, 0x60) && b[1] < 0x78
	case b[0] == 0xb8:
		return namesMember(b, 2, 0x60) && b[2] < 0x78
	}

	return false
}

// namesMember reports whether the first key of a map consists of letters. The key is a text whose length is added to
// the byte text.
func namesMember(b []byte, at int, text byte) bool {
	return !utf8.Valid(b) && len(b) > at+1 && b[at] > text && b[at] < text+0x20 &&
		letters(b[at+1:min(len(b), at+1+int(b[at]&0x1f))])
}

// letters reports whether bytes are a plausible name of a member.
func letters(b []byte) bool {
	return len(b) > 0 && !bytes.ContainsFunc(b, func(r rune) bool { return r <= ' ' || r > '~' })
}

// diagnostic writes CBOR's diagnostic notation (RFC 8949, 8), which keeps the order and the kinds of values.
var diagnostic, _ = cbor.DiagOptions{
	MaxNestedLevels: maxDepth, MaxArrayElements: maxValues, MaxMapPairs: maxValues,
}.DiagMode()

func readCBOR(d *document) ([]byte, bool, error) {
	if cbor.Wellformed(d.data) != nil {
		return nil, false, serial.ErrFormat
	}
	text, err := diagnostic.Diagnose(d.data)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", serial.ErrFormat, err)
	}

	return unescaped([]byte(text)), true, nil
}

// unescaped decodes the escaped texts of the diagnostic notation, which is ASCII.
func unescaped(src []byte) []byte {
	var out []byte
	for i := 0; i < len(src); {
		if src[i] != '"' {
			out = append(out, src[i])
			i++
			continue
		}

		end := message.EndOfText(src, i+1)
		var s string
		if err := json.Unmarshal(src[i:end], &s); err == nil {
			out = serial.AppendText(out, s)
		} else {
			out = append(out, src[i:end]...)
		}

		i = end
	}

	return out
}

// avro names the Avro schema, without which a body cannot be decoded: the number of a schema registry, or the
// fingerprint of a single object.
func (d *document) avro() (View, bool) {
	title := ""
	switch {
	case bytes.HasPrefix(d.data, []byte("\xc3\x01")) && len(d.data) > 10 && !utf8.Valid(d.data):
		title = fmt.Sprintf("Avro, schema fingerprint %016x", binary.LittleEndian.Uint64(d.data[2:]))
		if !d.says("avro") {
			title = "looks like " + title
		}
	case d.says("avro") && len(d.data) > 5 && d.data[0] == 0:
		title = fmt.Sprintf("Avro, schema id %d", binary.BigEndian.Uint32(d.data[1:]))
	case d.says("avro") && bytes.HasPrefix(d.data, []byte("Obj\x01")):
		title = "Avro file with its schema"
	case d.says("avro") && !strings.Contains(d.contentType, "json"):
		title = "Avro, schema unknown"
	default:
		return View{}, false
	}

	v := d.plain()
	if v.Format == Text {
		return View{}, false
	}
	v.Format, v.Title = Avro, title
	d.note("Avro cannot be read without its schema: shown as bytes")
	return v, true
}
