package body

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Format is what a body is written in.
type Format string

// The formats. Text and Hex are what is left where nothing else is known.
const (
	Empty    Format = "empty"
	NotKept  Format = "not kept" // only its size was kept
	Text     Format = "text"
	Hex      Format = "bytes"
	JSON     Format = "JSON"
	XML      Format = "XML"
	Form     Format = "form data"
	MsgPack  Format = "MessagePack"
	CBOR     Format = "CBOR"
	Protobuf Format = "protobuf"
	Avro     Format = "Avro"
	PHP      Format = "PHP serialize"
	Java     Format = "Java serialization"
	Pickle   Format = "Python pickle"
)

// View is a body made ready to be drawn. It is bounded whatever the body is: make it once, not for each frame.
type View struct {
	Format  Format
	Title   string // what was done to read it: "gzip → JSON, 3.1KB from 812B"; "" when it is shown as it is
	Problem string // why it is not what its content type or its encoding says; "" when it is
	Lines   []Line // printable
	Note    string // what is not shown, or how it was read
	bytes   []byte // of a dump
}

// LinesIn are the lines for a width: those of a dump fit into it, from 28 columns on.
func (v *View) LinesIn(width int) []Line {
	if v.Format == Hex && width < wholeDump {
		return hexDump(v.bytes, width)
	}
	return v.Lines
}

// Line is a line of a view.
type Line struct {
	Depth int // in containers, from 0; the line that opens one and the line that closes it are as deep as the container
	Spans []Span
}

// Span is a part of a line.
type Span struct {
	Kind Kind
	Text string
}

// Kind is what a part of a line is.
type Kind int

// The kinds. Plain is the zero Kind.
const (
	Plain   Kind = iota
	Key          // the name of a member, an element, an attribute or a field
	String       // a text
	Literal      // a number, true, false, null
	Mark         // brackets, commas, offsets
	Note         // said by dlxtop, and not in the body
)

// String is the line as text.
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
	maxText      = 256 << 10 // bytes of text that are shown
	maxHex       = 64 << 10  // bytes that are dumped
	maxShown     = 512 << 10 // bytes of lines that are made of a structure
	maxIndent    = 40        // levels
	maxUnpacked  = 1 << 20   // bytes that a compressed body may become
	maxStructure = 1 << 20   // bytes of a binary body that are read as a structure
	maxLayers    = 5         // of packing
	maxOpened    = 3         // levels of JSON in strings
	maxValues    = 50_000    // of a structure
	maxDepth     = 64        // levels of a structure
)

// Raw is the body as it lies in the queue: its text, or its bytes.
func Raw(m *message.Message) View {
	if v, none := nothing(m); none {
		return v
	}
	d := documentOf(m)
	return d.plain()
}

// Read is the body as a person reads it: unpacked, laid out, its structure named.
func Read(m *message.Message) View { return Schemas(nil).Read(model.QueueRef{}, m) }

func nothing(m *message.Message) (View, bool) {
	switch {
	case len(m.Body) == 0 && m.BodyBytes > 0:
		return View{Format: NotKept, Note: "the body (" + message.Size(int64(m.BodyBytes)) + ") was not kept"}, true
	case len(m.Body) == 0:
		return View{Format: Empty}, true
	}
	return View{}, false
}

// Folded is a view in which everything deeper than a level is left out: "{ … 12 lines }".
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
		line.Spans = append(line.Spans, Span{Note, " … " + model.Plural(end-i-1, "line") + " "})
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
