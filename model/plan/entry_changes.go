package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/message"
)

// Changes say what was changed in a message when it was republished; none for a drop.
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

// headerChanges say which headers were removed, changed and added.
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

// beyondFormer names the changed parts of a message that Former does not keep: properties and the body.
func beyondFormer(m *message.Message, p *message.Publishing) []string {
	var changed []string
	for _, f := range draft.Properties(&m.Properties, &p.Properties) {
		if f.Was != f.Is && f.Is != "" || f.Was != f.Is && f.Name != "expiration" && f.Name != "user_id" {
			changed = append(changed, f.Name)
		}
	}

	if !bytes.Equal(m.Body, p.Body) {
		changed = append(changed, fmt.Sprintf("the body (%sB instead of %sB)", message.Size(int64(len(p.Body))),
			message.Size(int64(len(m.Body)))))
	}

	return changed
}
