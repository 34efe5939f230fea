package body

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/serial"
)

// document is a body while it is decoded: what is left of it after each layer.
type document struct {
	data        []byte
	whole       bool // data is complete, not just the beginning
	size        int  // bytes of the body in the queue
	contentType string
	encodings   []string // of the content encoding, not removed yet; the outermost last
	steps       []string // the layers removed so far
	notes       []string
	problems    []string
}

func documentOf(m *message.Message) *document {
	d := &document{
		data: m.Body, whole: len(m.Body) >= m.BodyBytes, size: max(len(m.Body), m.BodyBytes),
		contentType: strings.ToLower(m.Properties.ContentType),
	}

	for encoding := range strings.SplitSeq(strings.ToLower(m.Properties.ContentEncoding), ",") {
		if encoding = strings.TrimSpace(encoding); encoding != "" && len(d.encodings) < maxLayers {
			d.encodings = append(d.encodings, encoding)
		}
	}

	return d
}

func (d *document) note(format string, values ...any) {
	d.notes = append(d.notes, model.Sayf(format, values...))
}

func (d *document) problem(format string, values ...any) {
	d.problems = append(d.problems, model.Sayf(format, values...))
}

// says reports whether the content type contains one of these words.
func (d *document) says(words ...string) bool {
	for _, word := range words {
		if strings.Contains(d.contentType, word) {
			return true
		}
	}

	return false
}

// titled adds the title, the notes and the problem to a view.
func (d *document) titled(v View) View {
	asSeen := []Format{JSON, Text, Hex, XML}
	if len(d.steps) > 0 || !slices.Contains(asSeen, v.Format) {
		about := string(v.Format)
		if v.Title != "" {
			about = v.Title
		}
		v.Title = strings.Join(append(d.steps, about), " → ")
	}

	if len(d.steps) > 0 && len(d.data) != d.size {
		more := ""
		if !d.whole {
			more = "the first "
		}
		v.Title += fmt.Sprintf(", %s%sB from %sB", more, message.Size(int64(len(d.data))), message.Size(int64(d.size)))
	}

	v.Title, v.Note = model.Printable(v.Title), strings.Join(d.notes, "; ")
	v.Problem = strings.Join(d.problems, "; ")
	return v
}

// textual decodes what is not a binary structure: JSON, XML, form data, text or bytes.
func (d *document) textual() View {
	head := message.WholeRunes(d.data, maxText)
	all := d.whole && len(head) == len(d.data)
	if !utf8.Valid(d.data) || serial.LooksBinary(head) {
		return d.plain()
	}
	trimmed := bytes.TrimLeft(head, " \t\r\n\ufeff")
	switch {
	case len(trimmed) == 0:
	case trimmed[0] == '{' || trimmed[0] == '[' || d.says("json"):
		if shown, ok := d.json(head, all); ok {
			return shown
		}
	case trimmed[0] == '<':
		if lines, ok := layXML(head, all); ok {
			return d.view(XML, lines, len(head))
		}
		if d.says("xml") {
			d.problem("not valid XML, although its content type says so")
		}
	case d.whole:
		if lines, ok := layForm(trimmed, d.says("x-www-form-urlencoded")); ok {
			return d.view(Form, lines, len(head))
		}
	}

	return d.plain()
}

// json decodes JSON, or its beginning.
func (d *document) json(head []byte, whole bool) (View, bool) {
	at, ok := validJSON(head, whole)
	if !ok {
		if d.says("json") {
			d.problem("not valid JSON, although its content type says so: byte %v", at)
		}
		return View{}, false
	}

	var l layout
	shown := len(head)
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	shown += l.structure(head) - len(head)
	return d.view(JSON, l.lines, shown), true
}

// plain returns the text as it is, or a hex dump.
func (d *document) plain() View {
	head := message.WholeRunes(d.data, maxText)
	if !utf8.Valid(head) || serial.LooksBinary(head) {
		return d.hex()
	}

	var lines []Line
	for _, text := range model.PrintableLines(string(head)) {
		lines = append(lines, Line{Spans: []Span{{Plain, text}}})
	}

	return d.view(Text, lines, len(head))
}

func (d *document) hex() View {
	shown := d.data[:min(len(d.data), maxHex)]
	v := d.view(Hex, hexDump(shown, wholeDump), len(shown))
	v.bytes = shown
	return v
}

// view makes a view of a body, and notes how many bytes are shown unless it is all.
func (d *document) view(format Format, lines []Line, shown int) View {
	switch {
	case shown == len(d.data) && d.whole:
	case len(d.steps) > 0:
		d.note("the first %s", message.Size(int64(shown)))
	default:
		d.note("the first %s of %s", message.Size(int64(shown)), message.Size(int64(d.size)))
	}

	return View{Format: format, Lines: lines}
}
