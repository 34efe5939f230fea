package ui

import (
	"strings"
	"sync/atomic"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/message"
)

// TestSlowFilterLeavesUpdate: an expression that works for long does so outside Update, and ends when the filter does.
func TestSlowFilterLeavesUpdate(t *testing.T) {
	e := &env{work: newWork(t.Context()), requests: &atomic.Int64{}, keys: newKeyMap()}
	t.Cleanup(e.work.end)
	m := message.Message{Body: []byte("[" + strings.Repeat("1,", 2000) + "1]")}
	list := &peekedMessages{Messages: message.MessageList{m}}
	var rows []*messageRow
	for range 200 {
		rows = append(rows, &messageRow{peeked: list, size: len(m.Body)})
	}
	f := newMessageFilter(e)
	f.field.Open()
	f.field.Handle(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("=count(json, {let n = #; count(json, # == n) > 0}) > 0")})
	f, cmd := f.apply(e, rows)
	if f.err != nil || !f.pending() || cmd == nil {
		t.Fatalf("pending %v, %v", f.pending(), f.err)
	}
	ended := make(chan tea.Msg)
	go func() { ended <- cmd() }()
	f.field.Clear()
	f, _ = f.apply(e, rows)
	if msg := <-ended; msg != nil || f.pending() {
		t.Errorf("a filter that was left says %v", msg)
	}
}
