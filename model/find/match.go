package find

import (
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

type Hit struct {
	Queue       model.QueueRef
	Position    int // in the queue when it was read, from 1
	Fingerprint message.Fingerprint
	MessageID   string
	Exchange    string
	RoutingKey  string
	Published   model.Opt[time.Time]
	BodyBytes   int
	Place       filter.Place
	Packed      string // the layers around the match in the body: "base64 → gzip"; "" without any
	Preview     string // the beginning of the body, printable, if the place has no text of its own
}

const previewLength = 200 // characters: a line of a wide terminal

// Match searches a message. Plain text is also searched for in the unpacked body.
func Match(f *filter.Filter, queue model.QueueRef, m *message.Message) (Hit, bool) {
	place, ok := f.Where(m)
	packed := ""
	if !ok && f.Expression() == "" {
		data, steps, is := body.Unpacked(m)
		if is {
			place, ok = f.InBody(data)
			packed = strings.Join(steps, " → ")
		}
	}

	if !ok {
		return Hit{}, false
	}

	return hitOf(queue, m, place, packed), true
}

func hitOf(queue model.QueueRef, m *message.Message, place filter.Place, packed string) Hit {
	hit := Hit{
		Queue:       queue,
		Position:    m.Position,
		Fingerprint: message.FingerprintOf(m),
		MessageID:   m.Properties.MessageID,
		Exchange:    m.Exchange,
		RoutingKey:  m.RoutingKey,
		BodyBytes:   max(m.BodyBytes, len(m.Body)),
		Place:       place,
		Packed:      packed,
	}

	if at, known := m.PublishedAt(); known {
		hit.Published = model.Some(at)
	}
	if place.Kind == filter.Matched {
		hit.Preview = m.BodyPreview(previewLength)
	}

	return hit
}

func (w *Want) match(queue model.QueueRef, m *message.Message) (Hit, bool) {
	if w.Has == nil {
		return Match(w.Filter, queue, m)
	}
	if !w.Has(queue, m) {
		return Hit{}, false
	}
	return hitOf(queue, m, filter.Place{Kind: filter.Matched}, ""), true
}

// Matches reports whether a message, or its unpacked body, meets the condition.
func Matches(f *filter.Filter, m *message.Message) bool {
	if f.Match(m) {
		return true
	}
	if f.Expression() != "" {
		return false
	}
	data, _, packed := body.Unpacked(m)
	if !packed {
		return false
	}
	_, ok := f.InBody(data)
	return ok
}

// Where describes the place: "header x-order", "body, gzip". It is printable.
func (h *Hit) Where() string {
	switch h.Place.Kind {
	case filter.Matched:
		return "expression"
	case filter.InBody:
		if h.Packed != "" {
			return "body, " + model.Printable(h.Packed)
		}
		return "body"
	case filter.InHeader:
		return "header " + model.Printable(h.Place.Name)
	}

	return h.Place.Name
}

// Excerpt returns the text around the match on one printable line, in three parts; found is the match.
func (h *Hit) Excerpt() (before, found, after string) {
	if h.Place.Kind == filter.Matched {
		return "", "", h.Preview
	}
	return folded(h.Place.Before), folded(h.Place.Found), folded(h.Place.After)
}

// folded puts a text on one line: each run of white space becomes one blank.
func folded(text string) string {
	var b strings.Builder
	blank := false
	for _, r := range text {
		if r == ' ' || r == '\n' || r == '\r' || r == '\t' {
			if !blank {
				b.WriteByte(' ')
			}
			blank = true
			continue
		}

		blank = false
		b.WriteRune(r)
	}

	return model.Escaped(b.String())
}
