package body

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/serial"
)

// layXML lays out XML, one element a line; text that is alone in its element stays on the same line. Nothing between <
// and > is changed. It is false for anything but XML; a truncated one only needs a valid beginning.
func layXML(text []byte, whole bool) ([]Line, bool) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it was found to be UTF-8 already
	var l layout
	elements, from, bare := 0, 0, false // bare: the line has only a start tag and text after it
	for l.size <= maxShown {
		token, err := d.Token()
		end := int(d.InputOffset())
		if err != nil {
			complete := errors.Is(err, io.EOF)
			if elements == 0 || !complete && (whole || end < len(text)) {
				return nil, false
			}
			break
		}

		source := text[from:end]
		from = end
		switch token.(type) {
		case xml.StartElement:
			elements++
			l.open()
			l.tag(source)
			l.depth++
			bare = true
		case xml.EndElement:
			l.depth = max(l.depth-1, 0)
			if len(source) == 0 { // <empty/>
				bare = false
				continue
			}

			if !bare {
				l.open()
			}
			bare = false
			l.tag(source)
		case xml.CharData:
			bare = l.characters(source, bare)
		default: // a comment, an instruction, a declaration
			l.open()
			l.put(Note, strings.Join(strings.Fields(string(source)), " "))
			bare = false
		}
	}

	l.end()
	return l.lines, true
}

// open begins a new line, unless the current one is empty.
func (l *layout) open() {
	if len(trimmed(l.line)) > 0 {
		l.end()
	} else {
		l.begin()
	}
}

// characters writes the text of an element: beside its start tag if it is one line. It reports whether the end tag may
// follow on that line.
func (l *layout) characters(source []byte, bare bool) bool {
	text := bytes.TrimSpace(source)
	if len(text) == 0 {
		return bare
	}
	if bare && !bytes.ContainsRune(text, '\n') {
		l.put(String, string(text))
		return true
	}

	for _, line := range model.PrintableLines(string(text)) {
		l.open()
		l.put(String, strings.TrimSpace(line))
	}

	return false
}

// attribute matches a name with its value, and the space before it.
var attribute = regexp.MustCompile(`(?s)([^\s=]+)(\s*=\s*)("[^"]*"|'[^']*')`)

func (l *layout) tag(source []byte) {
	text := string(source)
	begin := 1
	if len(text) > 1 && text[1] == '/' {
		begin = 2
	}

	end := begin
	for end < len(text) && strings.IndexByte(" \t\r\n/>", text[end]) < 0 {
		end++
	}

	l.put(Mark, text[:min(begin, len(text))])
	l.put(Key, text[min(begin, len(text)):end])
	rest := text[end:]
	for _, at := range attribute.FindAllStringSubmatchIndex(rest, -1) {
		l.put(Mark, " ")
		l.put(Literal, rest[at[2]:at[3]])
		l.put(Mark, "=")
		l.put(String, rest[at[6]:at[7]])
	}

	if strings.HasSuffix(rest, "/>") {
		l.put(Mark, "/>")
	} else {
		l.put(Mark, ">")
	}
}

// formText matches a form: no white space, and at least two fields.
var formText = regexp.MustCompile(`^[\w.%+*\[\]-]+=[^\s&=]*(&[\w.%+*\[\]-]+=[^\s&=]*)+$`)

// layForm lays out form data as decoded fields. Unless the content type says so, it must look unmistakably like a form.
func layForm(text []byte, said bool) ([]Line, bool) {
	source := string(bytes.TrimSpace(text))
	if !said && !formText.MatchString(source) {
		return nil, false
	}
	var lines []Line
	for field := range strings.SplitSeq(source, "&") {
		name, value, _ := strings.Cut(field, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, false
		}
		if value, err = url.QueryUnescape(value); err != nil || len(lines) > maxValues {
			return nil, false
		}
		l := layout{}
		l.put(Key, name)
		l.put(Mark, " = ")
		if inner, ok := jsonInside(serial.AppendText(nil, value)); ok {
			l.put(Note, "(JSON) ")
			l.tokens(inner)
		} else {
			l.put(String, value)
		}

		l.end()
		lines = append(lines, l.lines...)
	}

	return lines, true
}
