package body

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/dlxtop/dlxtop/model/message"
)

// compressions are the supported compressions, with their names in the content encoding and their magic bytes.
var compressions = []struct {
	name  string
	names []string
	magic []string // none: only the content encoding shows it
	open  func(io.Reader) (io.Reader, error)
}{
	{
		"gzip",
		[]string{"gzip", "x-gzip"},
		[]string{"\x1f\x8b\x08"},
		func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	},
	{"zstd", []string{"zstd"}, []string{"\x28\xb5\x2f\xfd"}, func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(16<<20))
	}},
	{
		"zlib",
		[]string{"deflate", "zlib"},
		[]string{"\x78\x01", "\x78\x5e", "\x78\x9c", "\x78\xda"},
		func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	},
	{"deflate", []string{"deflate"}, nil, func(r io.Reader) (io.Reader, error) { return flate.NewReader(r), nil }},
	{
		"bzip2",
		[]string{"bzip2", "x-bzip2"},
		[]string{"BZh"},
		func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil },
	},
}

// plainEncodings are content encodings that mean a character set, or nothing.
var plainEncodings = map[string]bool{
	"utf-8": true, "utf8": true, "us-ascii": true, "ascii": true, "binary": true, "identity": true, "8bit": true,
	"7bit": true, "iso-8859-1": true, "application/json": true, "string": true,
}

func (d *document) unpack() {
	layers := []func() bool{d.declared, d.compressed, d.base64, d.amqpValue, d.registered}
	removed := func(remove func() bool) bool { return remove() }

	for range maxLayers {
		if !slices.ContainsFunc(layers, removed) {
			break
		}
	}

	for _, encoding := range d.encodings {
		if !plainEncodings[encoding] {
			d.problem("content encoding %v, shown as it is", message.WholeRunes(encoding, 40))
		}
	}
}

// declared removes the layers that the content encoding names.
func (d *document) declared() bool {
	for n := len(d.encodings); n > 0; n-- {
		encoding := d.encodings[n-1]
		if plainEncodings[encoding] {
			continue
		}
		if encoding == "base64" {
			if out, ok := fromBase64(d.data, d.whole); ok {
				d.encodings = d.encodings[:n-1]
				d.becomes("base64", out, d.whole)
				return true
			}
		}

		for _, c := range compressions {
			if slices.Contains(c.names, encoding) && d.decompressed(c.name, c.open) {
				d.encodings = d.encodings[:n-1]
				return true
			}
		}

		return false
	}

	return false
}

// compressed removes a compression recognized by its magic bytes, if the data can be decompressed.
func (d *document) compressed() bool {
	for _, c := range compressions {
		if beginsWithOne(d.data, c.magic) && d.decompressed(c.name, c.open) {
			return true
		}
	}

	return false
}

func beginsWithOne(b []byte, magic []string) bool {
	return slices.ContainsFunc(magic, func(m string) bool { return bytes.HasPrefix(b, []byte(m)) })
}

// decompressed decompresses up to a bound. Damaged data stays as it is; if only the beginning of a body was kept, that
// is enough.
func (d *document) decompressed(name string, open func(io.Reader) (io.Reader, error)) bool {
	r, err := open(bytes.NewReader(d.data))
	if err != nil {
		return false
	}
	if closing, ok := r.(interface{ Close() }); ok { // zstd
		defer closing.Close()
	}

	out, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil && (d.whole || len(out) == 0) {
		return false
	}
	whole := d.whole && err == nil && len(out) <= maxUnpacked
	d.becomes(name, out[:min(len(out), maxUnpacked)], whole)
	return true
}

func (d *document) becomes(step string, data []byte, whole bool) {
	d.steps = append(d.steps, step)
	d.data = data
	d.whole = whole
}

const leastBase64 = 16 // bytes: shorter texts may be words or ids

// base64 decodes base64 where it is certain: it contains text, or begins like a known format.
func (d *document) base64() bool {
	if !d.whole || len(d.data) < leastBase64 || len(d.data) > maxStructure {
		return false
	}
	out, ok := fromBase64(d.data, true)
	if !ok || len(out) == 0 {
		return false
	}
	if !readable(out) {
		inner := &document{data: out, whole: true, size: len(out)}
		if _, known := inner.structure(); !known && !inner.compressed() {
			return false
		}
	}

	d.becomes("base64", out, true)
	return true
}

// fromBase64 decodes base64 in both alphabets, padded or not.
func fromBase64(text []byte, whole bool) ([]byte, bool) {
	text = bytes.TrimSpace(text)
	if !whole {
		text = text[:len(text)/4*4]
	}

	encoding := base64.StdEncoding
	if bytes.ContainsAny(text, "-_") {
		encoding = base64.URLEncoding
	}
	if len(text)%4 != 0 && !bytes.ContainsAny(text, "\r\n=") {
		encoding = encoding.WithPadding(base64.NoPadding)
	}

	out, err := encoding.DecodeString(string(text))
	return out, err == nil
}

// readable reports whether bytes are a text without control characters.
func readable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	return !bytes.ContainsFunc(b, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f
	})
}

// amqpValue removes the encoding of a text, or of bytes, that an AMQP 1.0 client sent as a value, as RabbitMQ 4 passes
// it on: a descriptor, a type, and the length in one or four bytes (AMQP 1.0, part 1.6 of the standard).
func (d *document) amqpValue() bool {
	value, is := bytes.CutPrefix(d.data, []byte("\x00Sw"))
	if !is || len(value) < 5 {
		return false
	}

	var size uint64
	var from int
	switch value[0] {
	case 0xa0, 0xa1:
		size, from = uint64(value[1]), 2
	case 0xb0, 0xb1:
		size, from = uint64(binary.BigEndian.Uint32(value[1:])), 5
	default:
		return false
	}

	value = value[from:]
	if d.whole && uint64(len(value)) != size {
		return false
	}
	d.becomes("AMQP 1.0 value", value, d.whole)

	return true
}

// registered removes a schema registry's frame around JSON: a zero byte, and the number of the schema. Around other
// formats it could be anything.
func (d *document) registered() bool {
	const frame = 5
	if len(d.data) <= frame || d.data[0] != 0 || d.data[frame] != '{' && d.data[frame] != '[' {
		return false
	}
	if _, ok := validJSON(d.data[frame:min(len(d.data), maxText)], d.whole && len(d.data) <= maxText); !ok {
		return false
	}
	id := binary.BigEndian.Uint32(d.data[1:])
	d.becomes("schema id "+strconv.FormatUint(uint64(id), 10), d.data[frame:], d.whole)
	return true
}

// Unpacked returns the unpacked body, up to a bound, and its layers: "gzip", "base64 → gzip". It is false for a body
// that is not packed, which it finds without reading all of it.
func Unpacked(m *message.Message) (data []byte, steps []string, ok bool) {
	if !mayBePacked(m) {
		return nil, nil, false
	}
	d := documentOf(m)
	d.unpack()
	return d.data, d.steps, len(d.steps) > 0
}

func mayBePacked(m *message.Message) bool {
	encoding := m.Properties.ContentEncoding
	if encoding != "" && !plainEncodings[encoding] || len(m.Body) > 0 && m.Body[0] == 0 { // a schema registry's frame
		return true
	}
	for _, c := range compressions {
		if beginsWithOne(m.Body, c.magic) {
			return true
		}
	}

	if len(m.Body) < leastBase64 {
		return false
	}
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_= \t\r\n"
	return len(bytes.TrimLeft(m.Body[:leastBase64], letters)) == 0
}
