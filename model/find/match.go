package find

import (
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

// Hit is a message that was found.
type Hit struct {
	Queue       model.QueueRef
	Position    int // in the queue when it was read; the first is 1
	Fingerprint message.Fingerprint
	MessageID   string
	Exchange    string
	RoutingKey  string
	Published   model.Opt[time.Time]
	BodyBytes   int
	Place       filter.Place
	Packed      string // in what the body was packed in which it was found: "base64 → gzip"; "" when in none
	Preview     string // the beginning of the body, printable, where the place has no text of its own
}

const previewLength = 200 // characters: a line of a wide terminal

// Match looks into a message. Plain text is also looked for in what is packed in the body.
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
		Queue: queue, Position: m.Position, Fingerprint: message.FingerprintOf(m), MessageID: m.Properties.MessageID,
		Exchange: m.Exchange, RoutingKey: m.RoutingKey, BodyBytes: max(m.BodyBytes, len(m.Body)), Place: place,
		Packed: packed,
	}
	if at, known := m.PublishedAt(); known {
		hit.Published = model.Some(at)
	}
	if place.Kind == filter.Matched {
		hit.Preview = m.BodyPreview(previewLength)
	}
	return hit
}

// match looks into a message for what is wanted.
func (w *Want) match(queue model.QueueRef, m *message.Message) (Hit, bool) {
	if w.Has == nil {
		return Match(w.Filter, queue, m)
	}
	if !w.Has(queue, m) {
		return Hit{}, false
	}
	return hitOf(queue, m, filter.Place{Kind: filter.Matched}, ""), true
}

// Matches reports whether a message meets the condition, also by what is packed in its body.
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

// Where is the place in words: "header x-order", "body, gzip". It is printable.
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

// Excerpt is the text around what was found on one printable line, in three parts: what was found is the second.
func (h *Hit) Excerpt() (before, found, after string) {
	if h.Place.Kind == filter.Matched {
		return "", "", h.Preview
	}
	return folded(h.Place.Before), folded(h.Place.Found), folded(h.Place.After)
}

// folded makes one line of a text: each run of blanks and line ends is one blank.
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
