package body

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/serial"
)

// Schema says which bodies are protobuf, and of which message type.
type Schema struct {
	queues, contentType string // patterns; "" matches any
	message             filter.Template
	types               Types
	problem             string // why there are no types, printable; "" when there are
	file                string // the descriptor set's file, printable
}

// Schemas are tried in order: the first that applies to a body wins.
type Schemas []Schema

// NewSchema makes a schema from the configuration: the type of bodies in certain queues, or with a content type. A
// type's name may contain fields of the message: shop.{{type}}. The error is one sentence. If the descriptor set could
// not be read (unread) or parsed, that is shown with each such body, and stops nothing else.
func NewSchema(file string, set []byte, unread error, name, queues, contentType string) (Schema, error) {
	s := Schema{queues: queues, contentType: strings.ToLower(contentType), file: model.Printable(file)}
	if file == "" || name == "" {
		return s, errors.New("it needs descriptors and a message")
	}
	var err error
	if s.message, err = filter.ParseTemplate(name); err != nil {
		return s, err
	}
	if err = unread; err == nil {
		s.types, err = parseTypes(set)
	}
	if err != nil {
		s.problem = s.file + ": " + model.Printable(err.Error())
	}

	return s, nil
}

// Read returns a readable view of the body of a message in a queue.
func (s Schemas) Read(queue model.QueueRef, m *message.Message) View {
	if v, none := nothing(m); none {
		return v
	}
	d := documentOf(m)
	d.unpack()
	if i := slices.IndexFunc(s, func(s Schema) bool { return s.isFor(queue, d) }); i >= 0 {
		if v, ok := d.typed(&s[i], m); ok {
			return d.titled(v)
		}
	}

	v, ok := d.structure()
	if !ok {
		v = d.textual()
	}

	return d.titled(v)
}

// isFor reports whether a schema applies to a body: the content type is the schema's, or it says protobuf, or it is
// empty and the schema names the queue.
func (s *Schema) isFor(queue model.QueueRef, d *document) bool {
	if s.queues != "" && !model.MatchesGlob(s.queues, queue.Name) && !model.MatchesGlob(s.queues, queue.String()) {
		return false
	}
	if s.contentType != "" {
		return model.MatchesGlob(s.contentType, d.contentType)
	}
	return d.says("protobuf") || s.queues != "" && (d.contentType == "" || d.says("octet-stream"))
}

// typed decodes a body with a schema. If that fails, the view says why, and the body is decoded without.
func (d *document) typed(s *Schema, m *message.Message) (View, bool) {
	if s.types == nil {
		d.problem("%s", s.problem)
		return View{}, false
	}

	name, err := s.message.Fill(m, func(value string) string { return value })
	if err != nil {
		d.problem("protobuf type unknown: %s", model.Printable(err.Error()))
		return View{}, false
	}

	of, err := s.types.named(name)
	if err != nil {
		d.problem("%s: %s", s.file, err)
		return View{}, false
	}

	name = string(of.FullName())
	v, err := d.readAs(reader{format: Protobuf, read: tree(func(b []byte) *serial.Value { return parseTyped(b, of) })})
	switch {
	case errors.Is(err, serial.ErrTooMuch):
		d.note("%s, too large to be shown as its structure", name)
	case err != nil:
		d.problem("not %s, although the configuration says so", name)
	default:
		v.Title = fmt.Sprintf("%s %s", Protobuf, name)
	}

	return v, err == nil
}
