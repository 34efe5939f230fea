package body

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/fxamacker/cbor/v2"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/serial"
)

// reader decodes a structure other than JSON and XML.
type reader struct {
	format Format
	types  []string // content types of the format
	looks  func([]byte) bool
	read   func([]byte) (text []byte, whole, ok bool) // as JSON, or similar to it
}

var readers = []reader{
	{PHP, []string{"php-serialized", "vnd.php.serialized", "x-php-serialized"}, looksPHP, message.PHPSerialized},
	{CBOR, []string{"cbor"}, looksCBOR, readCBOR},
}

// unopened are the formats that are named and not opened: the user's own tools do that better, as they know the types.
var unopened = []struct {
	name  string
	types []string // content types of the format
	magic []string // first bytes, which begin no text
	end   string   // last bytes after these first ones
}{
	{"Java object", []string{"java-serialized-object", "java-object"}, []string{"\xac\xed\x00\x05"}, ""},
	{
		"Python pickle",
		[]string{"python-serialize", "python-pickle"},
		[]string{"\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05"},
		".",
	},
	{"AMQP 1.0 value or sequence", nil, []string{"\x00Sw", "\x00Sv"}, ""},
	{"Avro", []string{"avro"}, []string{"\xc3\x01", "Obj\x01"}, ""},
	{"MessagePack", []string{"msgpack", "messagepack"}, nil, ""},
	{"protobuf", []string{"protobuf"}, nil, ""},
}

// structure decodes a body as a structure other than JSON and XML, if it is one.
func (d *document) structure() (View, bool) {
	if len(d.data) == 0 {
		return View{}, false
	}
	if name := d.unopened(); name != "" {
		d.note("%s: not opened; an action with a command can (dlxtop config shows one)", name)
		return d.hex(), true
	}

	for _, said := range []bool{true, false} { // the content type comes before the look
		for _, r := range readers {
			if d.says(r.types...) != said || !said && (!d.whole || !r.looks(d.data)) {
				continue
			}
			if v, ok := d.readAs(r, said); ok {
				return v, true
			}
		}
	}

	return View{}, false
}

// unopened names the format of a body that is not opened, with its size; "" for any other. A text is shown, whatever
// its content type says.
func (d *document) unopened() string {
	for _, u := range unopened {
		said := d.says(u.types...) && !readable(message.WholeRunes(d.data, maxText))
		if !said && !(beginsWithOne(d.data, u.magic) && bytes.HasSuffix(d.data, []byte(u.end))) {
			continue
		}
		if len(d.steps) > 0 { // the title has the size
			return u.name
		}
		return model.Sayf("%s, %v byte(s)", u.name, d.size)
	}

	return ""
}

// readAs decodes a body in a format. Where its content type says this format (said), the view says why it is not shown
// as one; finding JSON instead is not worth a word.
func (d *document) readAs(r reader, said bool) (View, bool) {
	if !d.whole || len(d.data) > maxStructure {
		if said {
			d.note("%s, too large to be shown as its structure", r.format)
		}
		return View{}, false
	}

	text, whole, ok := r.read(d.data)
	if !ok {
		if said && (r.format == PHP || !utf8.Valid(d.data)) {
			d.problem("not %s, although its content type says so", r.format)
		}
		return View{}, false
	}

	v := View{Format: r.format}
	switch {
	case r.format == PHP:
		d.note("shown as its structure; nothing of it was executed")
	case !said: // only its bytes suggest it
		v.Title = "looks like " + string(r.format)
	}

	var l layout
	if shown := l.structure(text); shown < len(text) || !whole {
		d.note("a part of it")
	}
	v.Lines = l.lines
	return v, true
}

// looksPHP recognizes an array or an object: a number or a text alone could be any text.
func looksPHP(b []byte) bool {
	return len(b) > 5 && (b[0] == 'a' || b[0] == 'O') && b[1] == ':' && (b[len(b)-1] == '}')
}

// looksCBOR recognizes a map whose first key is a text of at most 23 letters, or the self-described tag (RFC 8949,
// 3.4.6).
func looksCBOR(b []byte) bool {
	if bytes.HasPrefix(b, []byte("\xd9\xd9\xf7")) {
		return true
	}
	if len(b) < 4 || utf8.Valid(b) {
		return false
	}

	key := b[1:]
	if b[0] == 0xb8 { // the number of members is in the next byte
		key = b[2:]
	} else if (b[0] <= 0xa0 || b[0] >= 0xb8) && b[0] != 0xbf {
		return false
	}

	n := int(key[0]) - 0x60
	return n > 0 && n < 0x18 &&
		!bytes.ContainsFunc(key[1:min(len(key), 1+n)], func(r rune) bool { return r <= ' ' || r > '~' })
}

// diagnostic writes CBOR's diagnostic notation (RFC 8949, 8), which keeps the order and the kinds of values, to 32
// levels.
var diagnostic, _ = cbor.DiagOptions{MaxArrayElements: maxValues, MaxMapPairs: maxValues}.DiagMode()

func readCBOR(b []byte) (text []byte, whole, ok bool) {
	notation, err := diagnostic.Diagnose(b)
	return unescaped([]byte(notation)), true, err == nil
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
