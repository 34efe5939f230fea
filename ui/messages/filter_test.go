package messages

import (
	"strings"
	"sync/atomic"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// A slow expression runs outside Update, and ends when the filter does.
func TestSlowFilterLeavesUpdate(t *testing.T) {
	e := &shell.Env{
		Work: shell.NewWork(t.Context()), Requests: &atomic.Int64{},
		Terminal: shell.Terminal{Keys: shell.NewKeyMap()},
	}
	t.Cleanup(e.Work.End)
	m := message.Message{Body: []byte("[" + strings.Repeat("1,", 2000) + "1]")}
	list := &shell.PeekedMessages{Messages: message.MessageList{m}}
	var rows []*shell.MessageRow
	for range 200 {
		rows = append(rows, &shell.MessageRow{Peeked: list, Size: len(m.Body)})
	}
	f := newMessageFilter(e)
	f.field.Open()
	f.field.Handle(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("=count(json, {let n = #; count(json, # == n) > 0}) > 0")})
	f, cmd := f.apply(e, rows)
	must.That(t, f.err == nil && f.pending() && cmd != nil, "pending %v, %v", f.pending(), f.err)
	ended := make(chan tea.Msg)
	go func() { ended <- cmd() }()
	f.field.Clear()
	f, _ = f.apply(e, rows)
	msg := <-ended
	assert.That(t, msg == nil && !f.pending(), "a filter that was left says %v", msg)
}
