package body

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

type Format string

// The formats. Text and Hex are for what is not recognized.
const (
	Empty   Format = "empty"
	NotKept Format = "not kept" // only its size was kept
	Text    Format = "text"
	Hex     Format = "bytes"
	JSON    Format = "JSON"
	XML     Format = "XML"
	Form    Format = "form data"
	CBOR    Format = "CBOR"
	PHP     Format = "PHP serialize"
)

// View is a body ready to be drawn. Its size is bounded: make it once, not for each frame.
type View struct {
	Format  Format
	Title   string // how it was decoded: "gzip → JSON, 3.1KB from 812B"; "" when it is shown as it is
	Problem string // why it does not match its content type or encoding; "" when it does
	Lines   []Line // printable
	Note    string // what is not shown, or how it was decoded
	bytes   []byte // for a hex dump
}

// LinesIn returns the lines for a width: a hex dump is made to fit, from 28 columns on.
func (v *View) LinesIn(width int) []Line {
	if v.Format == Hex && width < wholeDump {
		return hexDump(v.bytes, width)
	}
	return v.Lines
}

type Line struct {
	Depth int // in containers, from 0; the lines that open and close a container have its own depth
	Spans []Span
}

type Span struct {
	Kind Kind
	Text string
}

type Kind int

// The kinds. Plain is the zero Kind.
const (
	Plain   Kind = iota
	Key          // the name of a member, an element, an attribute or a field
	String       // a text
	Literal      // a number, true, false, null
	Mark         // brackets, commas, offsets
	Note         // said by dlxtop, not part of the body
)

func (l Line) String() string {
	if len(l.Spans) == 1 {
		return l.Spans[0].Text
	}
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}

	return b.String()
}

// The bounds of a view.
const (
	maxText      = 256 << 10 // bytes of text shown
	maxHex       = 64 << 10  // bytes in a hex dump
	maxShown     = 512 << 10 // bytes of lines made from a structure
	maxIndent    = 40        // levels
	maxUnpacked  = 1 << 20   // bytes after decompression
	maxStructure = 1 << 20   // bytes of a binary body decoded as a structure
	maxLayers    = 5         // of packing
	maxOpened    = 3         // levels of JSON in strings
	maxValues    = 50_000    // of one container in CBOR; fields of a form
)

// Raw returns the body as it is in the queue: its text, or its bytes.
func Raw(m *message.Message) View {
	if v, none := nothing(m); none {
		return v
	}
	d := documentOf(m)
	return d.titled(d.plain())
}

// Read returns a readable view of the body: unpacked, laid out, with its format.
func Read(m *message.Message) View {
	if v, none := nothing(m); none {
		return v
	}
	d := documentOf(m)
	d.unpack()
	v, ok := d.structure()
	if !ok {
		v = d.textual()
	}

	return d.titled(v)
}

func nothing(m *message.Message) (View, bool) {
	switch {
	case len(m.Body) == 0 && m.BodyBytes > 0:
		return View{Format: NotKept, Note: "the body (" + message.Size(int64(m.BodyBytes)) + ") was not kept"}, true
	case len(m.Body) == 0:
		return View{Format: Empty}, true
	}

	return View{}, false
}

// Folded returns a view without everything below a level: "{ … 12 lines }".
func Folded(lines []Line, depth int) []Line {
	var out []Line
	for i := 0; i < len(lines); {
		end := i + 1
		for lines[i].Depth == depth && end < len(lines) && lines[end].Depth > depth {
			end++
		}

		if end == i+1 {
			out = append(out, lines[i])
			i++
			continue
		}

		line := Line{Depth: depth, Spans: append([]Span(nil), lines[i].Spans...)}
		line.Spans = append(line.Spans, Span{Note, model.Sayf(" … %v line(s) ", end-i-1)})
		if end < len(lines) && lines[end].Depth == depth && closes(lines[end]) {
			line.Spans = append(line.Spans, trimmed(lines[end].Spans)...)
			end++
		}

		out = append(out, line)
		i = end
	}

	return out
}

func closes(l Line) bool {
	spans := trimmed(l.Spans)
	return len(spans) > 0 && spans[0].Kind == Mark &&
		strings.IndexByte("}]<", spans[0].Text[0]) >= 0
}

func trimmed(spans []Span) []Span {
	if len(spans) > 0 && strings.Trim(spans[0].Text, " ") == "" {
		return spans[1:]
	}
	return spans
}
