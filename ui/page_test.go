package ui

import (
	"fmt"
	"sync"
	"testing"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// overhearing is a screen that remembers the kinds of messages that it was sent.
type overhearing struct {
	mu    sync.Mutex
	kinds map[string]int
}

func (o *overhearing) Init() tea.Cmd        { return nil }
func (o *overhearing) View(int, int) string { return "" }
func (o *overhearing) Title() string        { return "overhearing" }
func (o *overhearing) Keys() []key.Binding  { return nil }
func (o *overhearing) Typing() bool         { return false }
func (o *overhearing) of(msg tea.Msg) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kinds[fmt.Sprintf("%T", msg)]
}

func (o *overhearing) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kinds[fmt.Sprintf("%T", msg)]++
	return o, nil
}

// TestAnswersReachTheScreenThatAsked: a look, a plan, the progress of a run and its end come to the screen that asked
// for them. A screen below it on the same stack gets the polls, which are for all, and one on another tab nothing.
func TestAnswersReachTheScreenThatAsked(t *testing.T) {
	o, _, _ := failedOptions(5)
	below, beside := &overhearing{kinds: map[string]int{}}, &overhearing{kinds: map[string]int{}}
	term := newTerminal(t, o, 120, 36, func(a *app) {
		a.tabs[1].stack = append(a.tabs[1].stack, a.env.NewPage(beside))
		a.tabs[0].stack = append(a.tabs[0].stack, a.env.NewPage(below),
			a.env.NewPage(messages.NewScreen(a.env, ref(failedQueue))))
	})
	term.await("5 messages")
	term.press("d")
	term.await("enter drop 1 message")
	term.press(keyEnter)
	term.await("What happened", "1 message dropped")
	assert.That(t, below.of(shell.TopologyMsg{}) != 0, "a screen of the tab that is seen got no poll")
	for name, o := range map[string]*overhearing{"below": below, "beside": beside} {
		o.mu.Lock()
		for kind, n := range o.kinds {
			assert.That(t, kind == fmt.Sprintf("%T", shell.TopologyMsg{}) && name != "beside", "the screen %s got %d x %s", name,
				n, kind)
		}
		o.mu.Unlock()
	}
}

// TestLateLookIsLetGo: what a look has read is closed when its screen is gone, and no other screen takes it.
func TestLateLookIsLetGo(t *testing.T) {
	o, _, _ := failedOptions(1)
	a := newApp(t.Context(), o)
	p := a.env.NewPage(messages.NewScreen(a.env, ref(failedQueue)))
	closed := false
	late := p.Asked(func() tea.Msg {
		msg := messages.PeekedMsg{Queue: ref(failedQueue)}
		msg.Peeked.Messages = &closeable{closed: &closed}
		return msg
	})
	if _, cmd := a.Update(late()); cmd != nil {
		cmd()
	}
	assert.That(t, closed, "the messages of a look that nobody waits for are still open")
}

// closeable are no messages, and remember that they were closed.
type closeable struct {
	message.MessageList
	closed *bool
}

func (c *closeable) Close() error {
	*c.closed = true
	return nil
}

// TestAScreenClosesOnce: two keys that are read at once both close the screen that took them, and nothing below it. One
// whose tab was left meanwhile is closed there.
func TestAScreenClosesOnce(t *testing.T) {
	o, _, _ := failedOptions(1)
	help := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("?")}
	for name, leave := range map[string]bool{"both keys on the same tab": false, "the tab is left": true} {
		t.Run(name, func(t *testing.T) {
			var m tea.Model = newApp(t.Context(), o)
			m, _ = m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
			m, _ = m.(app).push(messages.NewScreen(m.(app).env, ref(failedQueue)))
			m, _ = m.Update(help)
			must.Equal(t, len(m.(app).tabs[0].stack), 3, "screens are open")
			m, first := m.(app).toScreen(help)
			m, second := m.(app).toScreen(help)
			if leave {
				m, _ = m.(app).show(1)
			}
			for _, cmd := range []tea.Cmd{first, second} {
				m, _ = m.Update(cmd())
			}
			assert.Equal(t, len(m.(app).tabs[0].stack), 2, "screens are left")
		})
	}
}
