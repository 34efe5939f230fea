package body

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func messageOf(body string, contentType, encoding string) *message.Message {
	return &message.Message{
		Body: []byte(body), BodyBytes: len(body),
		Properties: message.Properties{ContentType: contentType, ContentEncoding: encoding},
	}
}

func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func gzipped(s string) string {
	var b bytes.Buffer
	return packed(s, &b, gzip.NewWriter(&b))
}

func zlibbed(s string) string {
	var b bytes.Buffer
	return packed(s, &b, zlib.NewWriter(&b))
}

func packed(s string, b *bytes.Buffer, w io.WriteCloser) string {
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func zstded(s string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(w.EncodeAll([]byte(s), nil))
}

func based(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func sized(s string) string { return message.Size(int64(len(s))) + "B" }

// A map with a text, bytes, a tagged time, a list, and JSON in a text.
const cborMap = "a66269641879646e616d65645a6fc3ab637261774200ff626174c11a6955b900646c6973748501f6f5fb3ff8000000000000" +
	"a1616120677061796c6f6164697b2261223a5b315d7d"

// reading is the expected result for a body.
type reading struct {
	Format  Format
	Title   string
	Problem string
	Lines   []string
	Note    string
}

func read(v View) reading {
	r := reading{Format: v.Format, Title: v.Title, Problem: v.Problem, Note: v.Note}
	for _, l := range v.Lines {
		r.Lines = append(r.Lines, l.String())
	}
	return r
}

const order = `{"id":121,"name":"Zoë"}`

var orderLines = []string{"{", `  "id": 121,`, `  "name": "Zoë"`, "}"}

func TestRead(t *testing.T) {
	type body struct {
		Name, Body, Hex, ContentType, Encoding string
		Want                                   reading
	}

	whole := func(packing, packed string) reading {
		return reading{Format: JSON, Title: packing + " → JSON, 24B from " + sized(packed), Lines: orderLines}
	}

	zipped, deflated, squeezed := gzipped(order), zlibbed(order), zstded(order)
	for _, c := range append(must.Cases[body](t, "testdata/bodies.toml"), []body{
		{"gzip by its bytes", zipped, "", "application/json", "", whole("gzip", zipped)},
		{"deflate is zlib", deflated, "", "", "deflate", whole("zlib", deflated)},
		{"zstd", squeezed, "", "", "zstd", whole("zstd", squeezed)},
		{"base64 of gzip", based(zipped), "", "", "", whole("base64 → gzip", based(zipped))},
	}...) {
		t.Run(c.Name, func(t *testing.T) {
			m := messageOf(c.Body+unhex(c.Hex), c.ContentType, c.Encoding)
			assert.Same(t, c.Want, read(Read(m)))
		})
	}

	m := message.Message{BodyBytes: 10 << 20}
	v := Read(&m)
	assert.Equal(t, v.Format, NotKept)
	assert.Equal(t, v.Note, "the body (10M) was not kept")
}

// The raw view shows the body as it is in the queue.
func TestRawBodyIsAsItLiesInTheQueue(t *testing.T) {
	for body, want := range map[string]string{
		order: order, "a b": "a b",
		gzipped("")[:3]: "00000000  1f 8b 08                                          ...",
	} {
		v := read(Raw(messageOf(body, "application/json", "")))
		assert.Equal(t, v.Lines[0], want, "%v", body)
		assert.Equal(t, v.Title, "", "%v", body)
	}
}

func TestFolded(t *testing.T) {
	v := Read(messageOf(`{"a":{"b":[1,2],"c":{}},"d":[3],"e":4}`, "", ""))
	for depth, want := range []string{
		"{ … 11 lines }",
		"{\n  \"a\": { … 5 lines },\n  \"d\": [ … 1 line ],\n  \"e\": 4\n}",
	} {
		got := strings.Join(read(View{Lines: Folded(v.Lines, depth)}).Lines, "\n")
		assert.Equal(t, got, want, "%d", depth)
	}
}

func linesOf(texts ...string) (all []Line) {
	for _, text := range texts {
		all = append(all, Line{Spans: []Span{{Plain, text}}})
	}
	return all
}

// drawn returns a comparison as text: "a = a", "b | c", "d <", "> e".
func drawn(rows []Row) string {
	var all []string
	for _, r := range rows {
		switch {
		case r.Same:
			all = append(all, r.Left.String()+" = "+r.Right.String())
		case !r.HasRight:
			all = append(all, r.Left.String()+" <")
		case !r.HasLeft:
			all = append(all, "> "+r.Right.String())
		default:
			all = append(all, r.Left.String()+" | "+r.Right.String())
		}
	}

	return strings.Join(all, "\n")
}

func TestCompare(t *testing.T) {
	for _, c := range []struct{ left, right, want string }{
		{"", "", ""},
		{"a b", "a b", "a = a\nb = b"},
		{"a b c", "a x c", "a = a\nb | x\nc = c"},
		{"a b c", "a c", "a = a\nb <\nc = c"},
		{"a c", "a b c", "a = a\n> b\nc = c"},
		{"a b c d e", "b x d e f", "a <\nb = b\nc | x\nd = d\ne = e\n> f"},
		{"a, b", "a b, c", "a, = a\nb = b,\n> c"},
		{"a", "", "a <"},
	} {
		rows := Compare(linesOf(strings.Fields(c.left)...), linesOf(strings.Fields(c.right)...))
		got := drawn(rows)
		assert.That(t, got == c.want, "%s / %s:\n%s", c.left, c.right, got)
	}
}

// Each line occurs once, in order, and as many as possible are equal.
func TestCompareIsComplete(t *testing.T) {
	text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		rows := Compare(linesOf(a...), linesOf(b...))
		var left, right []string
		same := 0
		for _, r := range rows {
			if r.HasLeft {
				left = append(left, r.Left.String())
			}
			if r.HasRight {
				right = append(right, r.Right.String())
			}
			if r.Same {
				same++
			}
			assert.That(t, !r.Same || r.Left.String() == r.Right.String() && r.HasLeft && r.HasRight, "not the same: %+v", r)
		}

		assert.List(t, left, a)
		assert.List(t, right, b)
		most := longestCommon(a, b)
		assert.That(t, same == most, "%d lines are equal, could be %d:\n%s", same, most, drawn(rows))
	})
}

func longestCommon(a, b []string) int {
	before := make([]int, len(b)+1)
	for i := range a {
		now := make([]int, len(b)+1)
		for j := range b {
			if now[j+1] = max(before[j+1], now[j]); a[i] == b[j] {
				now[j+1] = max(now[j+1], before[j]+1)
			}
		}
		before = now
	}

	return before[len(b)]
}

// Texts without common lines are paired in order, in bounded time.
func TestCompareOfTooMuch(t *testing.T) {
	var a, b []string
	for i := range 20_000 {
		a, b = append(a, "a"), append(b, strings.Repeat("b", i%3+1))
	}

	a[0], b[0] = "{", "{"
	rows := Compare(linesOf(a...), linesOf(b...))
	must.Equal(t, len(rows), 20_000, "%d rows, %+v", len(rows), rows[1])
	assert.That(t, rows[0].Same, "%d rows, %+v", len(rows), rows[1])
	assert.That(t, !rows[1].Same, "%d rows, %+v", len(rows), rows[1])
	assert.That(t, rows[1].HasLeft, "%d rows, %+v", len(rows), rows[1])
	assert.That(t, rows[1].HasRight, "%d rows, %+v", len(rows), rows[1])
}

func TestViewsAreBounded(t *testing.T) {
	n := size.Of(2, 10) << 20
	long := gzipped(strings.Repeat("\x00", 20<<20))
	for name, body := range map[string]string{
		"text":          strings.Repeat("é\n", n/2),
		"one line":      strings.Repeat("é", n/2),
		"JSON":          "[" + strings.Repeat(`{"id":121},`, n/10) + "1]",
		"nested JSON":   strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"deeper JSON":   strings.Repeat("[", n/2),
		"a long string": `{"a":"` + strings.Repeat("x", n) + `"}`,
		"bytes":         strings.Repeat("\xff", n),
		"no starts":     "{" + strings.Repeat("\x80", n),
		"controls":      strings.Repeat("\x1b", n),
		"nested XML":    strings.Repeat("<a>", n/3),

		"form data":      strings.Repeat("a=b&", n/4) + "a=b",
		"a gzip bomb":    long,
		"a bomb in it":   gzipped(long),
		"a bomb of JSON": gzipped("[" + strings.Repeat("1,", 5<<20) + "1]"),
		"CBOR":           "\xa1\x61a" + strings.Repeat("\x81", 900_000) + "\x01",
		"PHP":            "a:1:{i:0;" + strings.Repeat("a:1:{i:0;", 1000) + "i:1;" + strings.Repeat("}", 1001),
		"many values":    "\xa1\x61a\x9a\x00\x0c\x00\x00" + strings.Repeat("\x01", 0xc0000),
		"a huge count":   "\xa1\x61a\x9a\xff\xff\xff\xff\x01\x01",
	} {
		t.Run(name, func(t *testing.T) {
			m := messageOf(body, "", "")

			var v View
			limit.Check(t, len(body), func() { v = Read(m) })
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
		assert.Equal(t, v.Format, c.format, "%v", name)
		assert.That(t, strings.HasPrefix(v.Title, c.title), "%s: %s, %q, %q", name, v.Format, v.Title, v.Note)
		assert.That(t, strings.HasPrefix(v.Note, "the first "), "%s: %s, %q, %q", name, v.Format, v.Title, v.Note)
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
		a := strings.ReplaceAll(got.String(), " ", "")
		b := strings.ReplaceAll(s, " ", "")
		must.That(t, a == b || strings.Contains(a, "(JSON"), "%s\n%s", a, b)
	})
}

// A view is bounded, printable and deterministic, and JSON keeps every character of its values.
func FuzzBody(f *testing.F) {
	for _, line := range build.ExportedLines(f) {
		m := must.Get(message.ParseMessage(line))(f)
		f.Add(m.Properties.ContentType, m.Properties.ContentEncoding, m.Body, 0)
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
		limit.Check(t, len(body), func() { v, raw = Read(m), Raw(m) })

		again := read(Read(m))
		for _, line := range append(append(again.Lines, v.Title, v.Note, v.Problem), read(raw).Lines...) {
			build.CheckPrintable(t, line)
		}

		shown := shownOf(v) + shownOf(raw)
		assert.That(t, shown <= 16*maxShown, "%d bytes are shown", shown)
		assert.Equal(t, strings.Join(again.Lines, "\n"), strings.Join(read(v).Lines, "\n"))
		assert.Equal(t, again.Title, v.Title)
		assert.That(t, (v.Format == Empty || v.Format == NotKept) == (len(body) == 0), "%d bytes are %s", len(body), v.Format)
		for depth := range 3 {
			for _, line := range Folded(v.Lines, depth) {
				build.CheckPrintable(t, line.String())
			}
		}

		plain := !bytes.ContainsFunc(body, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' })
		if text := strings.Join(again.Lines, "\n"); v.Format == JSON && v.Title == "" && v.Note == "" && plain &&
			!strings.Contains(text, "(JSON in a string)") {
			was := compacted(t, body)
			is := compacted(t, []byte(text))
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
