package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Changes tell what was changed in a message when it was published again, in words; none of a drop.
func (r *Record) Changes(e *Entry) []string {
	s := e.Sent
	if s == nil || r.Operation == Undo || r.Operation == Import {
		return nil
	}
	var changes []string
	if s.To.RoutingKey != e.Address.RoutingKey {
		changes = append(changes, fmt.Sprintf("routing key %s instead of %s", model.Quoted(s.To.RoutingKey),
			model.Quoted(e.Address.RoutingKey)))
	}
	if s.Former.Expiration != "" && !slices.Contains(s.Changed, "expiration") {
		changes = append(changes, "without expiration "+s.Former.Expiration)
	}
	if id := s.Former.UserID; id != "" && id != r.User && !slices.Contains(s.Changed, "user_id") {
		changes = append(changes, "without user_id "+id)
	}
	changes = append(changes, s.headerChanges()...)
	if len(s.Changed) > 0 {
		changes = append(changes, "changed "+strings.Join(s.Changed, ", "))
	}
	return changes
}

// headerChanges tell which headers were removed, changed and added.
func (s *Sent) headerChanges() []string {
	var removed, changed []string
	for _, key := range slices.Sorted(maps.Keys(s.Former.Headers)) {
		switch {
		case message.IsBrokerHeader(key) || slices.Contains(s.Removed, key):
			removed = append(removed, key)
		default:
			changed = append(changed, key)
		}
	}
	var words []string
	for _, part := range []struct {
		what string
		keys []string
	}{{"without ", removed}, {"changed ", changed}, {"with ", slices.Sorted(slices.Values(s.Former.Added))}} {
		if len(part.keys) > 0 {
			words = append(words, part.what+strings.Join(part.keys, ", "))
		}
	}
	return words
}

// beyondFormer tells which parts of a message were changed that Former does not keep: properties and the body.
func beyondFormer(m *message.Message, p *message.Publishing) []string {
	var changed []string
	for _, f := range propertyFields(&m.Properties, &p.Properties) {
		if f.was != f.is && f.is != "" || f.was != f.is && f.name != "expiration" && f.name != "user_id" {
			changed = append(changed, f.name)
		}
	}
	if !bytes.Equal(m.Body, p.Body) {
		changed = append(changed, fmt.Sprintf("the body (%sB instead of %sB)", message.Size(int64(len(p.Body))),
			message.Size(int64(len(m.Body)))))
	}
	return changed
}

// propertyField is one property before and after, as text.
type propertyField struct{ name, was, is string }

func propertyFields(was, is *message.Properties) []propertyField {
	number := func(n uint8) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	return []propertyField{
		{"content_type", was.ContentType, is.ContentType},
		{"content_encoding", was.ContentEncoding, is.ContentEncoding},
		{"delivery_mode", number(was.DeliveryMode), number(is.DeliveryMode)},
		{"priority", number(was.Priority), number(is.Priority)},
		{"correlation_id", was.CorrelationID, is.CorrelationID},
		{"reply_to", was.ReplyTo, is.ReplyTo},
		{"expiration", was.Expiration, is.Expiration},
		{"message_id", was.MessageID, is.MessageID},
		{"timestamp", message.JSONTime(was.Timestamp), message.JSONTime(is.Timestamp)},
		{"type", was.Type, is.Type},
		{"user_id", was.UserID, is.UserID},
		{"app_id", was.AppID, is.AppID},
	}
}
