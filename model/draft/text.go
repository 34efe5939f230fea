package draft

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	draftHelp = `# Edit the message, save it and leave the editor: the plan of the replay follows, and nothing is sent before you agree to it.
# Above the dashes is JSON: a header value that JSON would change is {"$type": …, "value": …}. Below is the body.
`
	bodyMark   = "----- body ("
	base64Line = 76
)

// Text returns the draft as a document to be edited: JSON, a line of dashes, and the body, unchanged if it is text,
// otherwise in base64. The final newline is not part of the body.
func (d *Draft) Text() []byte {
	head, _ := model.EncodeJSON((*message.Publishing)(d).HeadJSON(), "", "  ") // it has only JSON's own types
	text := fmt.Appendf(nil, "%s%s\n%s", draftHelp, head, bodyMark)
	if editable(d.Body) {
		return fmt.Appendf(text, "utf-8) -----\n%s\n", d.Body)
	}
	text = append(text, "base64) -----\n"...)
	for line := range slices.Chunk([]byte(base64.StdEncoding.EncodeToString(d.Body)), base64Line) {
		text = append(append(text, line...), '\n')
	}

	return text
}

// editable reports whether a body is text that an editor does not change by itself.
func editable(body []byte) bool {
	return utf8.Valid(body) && !bytes.ContainsFunc(body, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\uFEFF' || r == '\u2028' || r == '\u2029'
	})
}

// lineError is what is wrong in a line of a document.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.err) }

func (e *lineError) Unwrap() error { return e.err }

// Parse parses a document that Text wrote and the user edited. An error is one sentence with the line.
func Parse(text []byte) (Draft, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	at := 0
	for at < len(lines) && !bytes.HasPrefix(lines[at], []byte(bodyMark)) {
		at++
	}
	if at == len(lines) {
		return Draft{}, &lineError{max(len(lines)-1, 1), errors.New("the line of dashes in front of the body is missing")}
	}
	d, err := parseDraftHead(lines[:at])
	if err != nil {
		return Draft{}, err
	}
	d.Body, err = parseDraftBody(string(lines[at]), bytes.Join(lines[at+1:], nil))
	if err != nil {
		return Draft{}, &lineError{at + 2, err}
	}

	return d, nil
}

func parseDraftBody(mark string, body []byte) ([]byte, error) {
	encoding, _, _ := strings.Cut(strings.TrimPrefix(mark, bodyMark), ")")
	switch encoding {
	case "utf-8":
		return bytes.TrimSuffix(body, []byte("\n")), nil
	case "base64":
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(body)), ""))
		if err != nil {
			return nil, errors.New("the body is not base64")
		}
		return decoded, nil
	}

	return nil, fmt.Errorf("%s is not an encoding of a body: use utf-8 or base64", message.Excerpt(encoding))
}

func parseDraftHead(lines [][]byte) (Draft, error) {
	head := make([]byte, 0, 4096)
	for i, line := range lines {
		if bytes.HasPrefix(line, []byte("#")) {
			line = []byte("\n")
		} else if len(bytes.TrimSpace(line)) > 0 {
			head = append(head, bytes.Join(lines[i:], nil)...)
			break
		}
		head = append(head, line...)
	}

	lineAt := func(offset int64) int {
		return bytes.Count(head[:min(max(offset, 0), int64(len(head)))], []byte("\n")) + 1
	}
	var in message.HeadJSON
	decoder := json.NewDecoder(bytes.NewReader(head))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(&in); err != nil {
		return Draft{}, &lineError{lineAt(offsetOf(err, head)), draftJSONError(err)}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Draft{}, &lineError{
			lineAt(decoder.InputOffset()), errors.New("there is more than the one JSON object above the body"),
		}
	}

	p, err := in.Publishing()
	if err == nil {
		err = Check(&p)
	}
	if err != nil {
		return Draft{}, &lineError{lineAt(mentioned(head, err)), err}
	}

	return Draft(p), nil
}

// draftJSONError words an error of encoding/json for a user in an editor.
func draftJSONError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return errors.New("the JSON is not complete: a bracket, a quote or a comma is missing above the body")
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.TrimPrefix(err.Error(), "json: unknown field ")
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		return fmt.Errorf("%s is not a field here: use exchange, routing_key, properties and headers, and the "+
			"properties of AMQP", message.Excerpt(name))
	}

	return message.JSONError(err)
}

// offsetOf returns the position of an error in the JSON, as far as it says.
func offsetOf(err error, head []byte) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset - 1
	case errors.As(err, &kind):
		return kind.Offset - 1
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return int64(len(head)) - 1
	}

	name, _ := strings.CutPrefix(err.Error(), "json: unknown field ")
	return int64(bytes.Index(head, []byte(name)))
}

type FieldError struct{ Field, Words string }

func (e *FieldError) Error() string { return e.Field + " " + e.Words }

// Check refuses what no broker accepts, and what would send the message further than the plan says.
func Check(m *message.Publishing) error {
	for key := range m.Headers {
		switch {
		case key == "CC" || key == "BCC":
			return &FieldError{key, "would send it to further queues: leave it out"}
		case message.IsBrokerHeader(key):
			return &FieldError{key, "is the broker's own: leave it out"}
		}
	}

	if text := m.Properties.Expiration; text != "" {
		if _, ok := message.ParseExpiration(text); !ok {
			return &FieldError{"expiration", message.Excerpt(text) +
				" is not a number of milliseconds up to 315360000000 (ten years)"}
		}
	}

	for _, name := range []struct{ field, text string }{{"exchange", m.Exchange}, {"routing_key", m.RoutingKey}} {
		if len(name.text) > 255 {
			return &FieldError{name.field, "has more than 255 bytes"}
		}
	}

	return nil
}

// mentioned returns the position in the JSON of the field that an error is about.
func mentioned(head []byte, err error) int64 {
	var field *FieldError
	if errors.As(err, &field) {
		return int64(max(bytes.Index(head, []byte(`"`+field.Field+`":`)), 0))
	}
	var header *message.HeaderError
	if errors.As(err, &header) { // properties come first, and may have the same name
		return int64(max(bytes.LastIndex(head, []byte(`"`+header.Name+`":`)), 0))
	}
	var property *message.PropertyError
	if errors.As(err, &property) {
		return int64(max(bytes.Index(head, []byte(`"`+property.Name+`":`)), 0))
	}

	return 0
}
