package body

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestViewsAreBounded(t *testing.T) {
	n := size.Of(2, 10) << 20
	long := gzipped(strings.Repeat("\x00", 20<<20))
	for name, body := range map[string]string{
		"text":           strings.Repeat("é\n", n/2),
		"one line":       strings.Repeat("é", n/2),
		"JSON":           "[" + strings.Repeat(`{"id":121},`, n/10) + "1]",
		"nested JSON":    strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"deeper JSON":    strings.Repeat("[", n/2),
		"a long string":  `{"a":"` + strings.Repeat("x", n) + `"}`,
		"bytes":          strings.Repeat("\xff", n),
		"no starts":      "{" + strings.Repeat("\x80", n),
		"controls":       strings.Repeat("\x1b", n),
		"nested XML":     strings.Repeat("<a>", n/3),
		"form data":      strings.Repeat("a=b&", n/4) + "a=b",
		"a gzip bomb":    long,
		"a bomb in it":   gzipped(long),
		"a bomb of JSON": gzipped("[" + strings.Repeat("1,", 5<<20) + "1]"),
		"MessagePack":    "\x81\xa1a" + strings.Repeat("\x91", 900_000) + "\x01",
		"many values":    "\x81\xa1a\xdd\x00\x0c\x00\x00" + strings.Repeat("\x01", 0xc0000),
		"a huge count":   "\x81\xa1a\xdd\xff\xff\xff\xff\x01\x01",
		"CBOR":           "\xa1\x61a" + strings.Repeat("\x81", 900_000) + "\x01",
		"PHP":            "a:1:{i:0;" + strings.Repeat("a:1:{i:0;", 1000) + "i:1;" + strings.Repeat("}", 1001),
		"Java":           "\xac\xed\x00\x05" + strings.Repeat("\x79", 900_000),
		"many blocks":    "\xac\xed\x00\x05" + strings.Repeat("\x77\x01a", 300_000),
	} {
		t.Run(name, func(t *testing.T) {
			m := messageOf(body, "", "")
			var v View
			limit.Keep(t, len(body), func() { v = Read(m) })
			shown := shownOf(v)
			assert.That(t, shown <= 4*maxShown, "%s: %d bytes in %d lines", v.Format, shown, len(v.Lines))
			assert.That(t, len(body) <= 1<<20 || strings.Contains(v.Note, "the first "), "note %q", v.Note)
		})
	}
}

func shownOf(v View) (n int) {
	for _, l := range v.Lines {
		n += len(l.String())
	}
	return n
}

// A truncated body is decoded as far as it goes.
func TestBeginningIsReadAsFarAsItGoes(t *testing.T) {
	body := gzipped(strings.Repeat(`{"id":121}`+"\n", 9_000) + strings.Repeat("the end ", 70_000))
	for name, c := range map[string]struct {
		kept   string
		format Format
		title  string
	}{
		"gzip": {body[:len(body)-9], Text, "gzip → text, the first "}, "JSON": {`[{"a":1},{"b`, JSON, ""},
		"XML": {`<a><b>1</b><c`, XML, ""}, "JSON in a word": {`[tru`, JSON, ""}, "JSON in a text": {`["a\"`, JSON, ""},
		"not JSON": {`[1,}`, Text, ""}, "not JSON at its end": {`{"a"}`, Text, ""},
	} {
		m := messageOf(c.kept, "", "")
		m.BodyBytes += 1000
		v := Read(m)
		assert.That(t, v.Format == c.format && strings.HasPrefix(v.Title, c.title) && strings.HasPrefix(v.Note, "the first "),
			"%s: %s, %q, %q", name, v.Format, v.Title, v.Note)
	}
}

// Displayed JSON differs from the original only in white space.
func TestLaidJSONIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`\[("[ -!#-Z\]-~]{0,5}"|-?[0-9]{1,20}|\{"a": ?[0-9]\}|\[\]|\{ \}|true)( ?, ?("[ -!#-Z\]-~]{0,5}"|[0-9]|\[[0-9] ,\[\] \]|null)){0,4} ?\]`).Draw(t, "json")
		var l layout
		shown := l.structure([]byte(s))
		must.That(t, shown == len(s), "%d of %d bytes", shown, len(s))
		var got strings.Builder
		for _, line := range l.lines {
			got.WriteString(line.String())
		}
		a, b := strings.ReplaceAll(got.String(), " ", ""), strings.ReplaceAll(s, " ", "")
		must.That(t, a == b || strings.Contains(a, "(JSON"), "%s\n%s", a, b)
	})
}

// A view is bounded, printable and deterministic, and JSON keeps every character of its values.
func FuzzBody(f *testing.F) {
	for _, line := range build.ExportedLines(f) {
		m := must.Get(message.ParseMessage(line))(f)
		f.Add(m.Properties.ContentType, m.Properties.ContentEncoding, m.Body, 0)
	}
	for _, object := range javaObjects(f) {
		f.Add("", "", []byte(object), 0)
	}
	for _, seed := range []struct{ contentType, encoding, body string }{
		{"application/json", "", ` {"a" : [ 1.50, "b\"]\\" , {} , [ ] ] }`},
		{"", "", `["{\"a\":\"[1]\"}"]`},
		{"text/plain", "", "a\tb\r\n\x1b[2J\u202e\u1100\u1100\n"},
		{"application/octet-stream", "", "\x00\x01\xffa"},
		{"", "gzip", gzipped(order)},
		{"", "deflate", zlibbed(order)},
		{"", "zstd", zstded(order)},
		{"", "", based(gzipped(order))},
		{"", "", unhex(msgPacked)},
		{"", "", unhex(cborMap)},
		{"application/x-protobuf", "", "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"},
		{"avro/binary", "", "\x00\x00\x00\x00\x79\xf2\x01"},
		{"", "", "\xc3\x0112345678\xff"},
		{"", "", "a=1&b=%7B%7D"},
		{"", "", `<?xml version="1.0"?><o id='1'><n>Zoë &amp; K</n><e/> a <!-- no --></o>`},
		{"", "", `a:1:{i:0;O:1:"A":1:{s:4:"` + "\x00A\x00x" + `";R:1;}}`},
		{"application/x-python-serialize", "", "\x80\x02}q\x00(h\x00K\x01u."},
	} {
		f.Add(seed.contentType, seed.encoding, []byte(seed.body), 0)
	}
	f.Fuzz(func(t *testing.T, contentType, encoding string, body []byte, more int) {
		m := messageOf(string(body), contentType, encoding)
		m.BodyBytes = max(len(body), min(more, 1<<30))
		var v, raw View
		limit.Keep(t, len(body), func() { v, raw = Read(m), Raw(m) })
		again := read(Read(m))
		for _, line := range append(append(again.Lines, v.Title, v.Note, v.Problem), read(raw).Lines...) {
			build.CheckPrintable(t, line)
		}
		shown := shownOf(v) + shownOf(raw)
		assert.That(t, shown <= 16*maxShown, "%d bytes are shown", shown)
		assert.That(t, strings.Join(again.Lines, "\n") == strings.Join(read(v).Lines, "\n") && again.Title == v.Title,
			"read twice it is %+v and %+v", again, v)
		assert.That(t, (v.Format == Empty || v.Format == NotKept) == (len(body) == 0), "%d bytes are %s", len(body), v.Format)
		for depth := range 3 {
			for _, line := range Folded(v.Lines, depth) {
				build.CheckPrintable(t, line.String())
			}
		}
		plain := !bytes.ContainsFunc(body, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' })
		if text := strings.Join(again.Lines, "\n"); v.Format == JSON && v.Title == "" && v.Note == "" && plain &&
			!strings.Contains(text, "(JSON in a string)") {
			was, is := compacted(t, body), compacted(t, []byte(text))
			assert.That(t, was == is, "%s is shown as %s", was, is)
		}
	})
}

func compacted(t *testing.T, text []byte) string {
	var b bytes.Buffer
	err := json.Compact(&b, text)
	assert.That(t, err == nil, "%s is no JSON: %v", text, err)
	return b.String()
}
