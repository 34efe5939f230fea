package ui

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/act"
)

// traced has two messages: one with a trace, one without.
func traced(t *testing.T) Options {
	t.Helper()
	c := newClock()
	b := newRecordedBroker(c)
	b.put(failedQueue,
		message.Message{RoutingKey: "k", Body: []byte("a"), Headers: model.Table{"trace": "ab c/\x1b[2J"}},
		message.Message{RoutingKey: "k", Body: []byte("b")})
	trace := must.Get(filter.NewAction("ctrl-t", "trace", "https://t.example/{{headers.trace}}", "", false))(t)
	echo := must.Get(filter.NewAction("a", "say", "", "echo it is {{headers.trace}}", false))(t)
	return Options{
		Source: &recorded{snapshot: busyBroker()}, Broker: b, Now: c.now, ReadOnly: true, Production: true,
		Actions: []filter.Action{trace, echo},
	}
}

// An action is offered where the message has its fields, on a connection that changes nothing, too.
func TestActionsOnMessages(t *testing.T) {
	var opened, copied strings.Builder
	terms := onQueue(t, traced(t), failedQueue, 200, 50, func(a *app) {
		a.env.Clipboard = io.Writer(&copied)
		a.env.Opener = func(_ context.Context, url string) error {
			opened.WriteString(url)
			return nil
		}
	})
	terms.await("2 messages", "ctrl-t trace", "a say")
	terms.press("\x14")
	terms.await("trace: opened and copied: https://t.example/ab%20c%2F%1B%5B2J")
	assert.That(t, opened.String() == "https://t.example/ab%20c%2F%1B%5B2J" &&
		strings.HasPrefix(copied.String(), "\x1b]52;"), "opened %q, copied %q", opened.String(), copied.String())
	terms.press("a")
	terms.await(`say: it is ab c/\x1b[2J`)
	terms.press(keyDown)
	terms.awaitGone("ctrl-t trace")
	terms.press("\x14")
	terms.await("trace: not opened: this message has no headers.trace")
	terms.press("a")
	terms.await("say: not run: this message has no headers.trace")
}

// Where no desktop is, the URL is copied and shown.
func TestActionWithoutADesktop(t *testing.T) {
	for want, err := range map[string]error{
		"trace: copied: https://t.example/ab":                              act.ErrNoDesktop,
		"trace: copied, not opened (no such opener): https://t.example/ab": errors.New("no such opener"),
	} {
		terms := onQueue(t, traced(t), failedQueue, 120, 36, func(a *app) {
			a.env.Clipboard = io.Discard
			a.env.Opener = func(context.Context, string) error { return err }
		})
		terms.await("2 messages")
		terms.press("\x14")
		terms.await(want)
	}
}

func TestCheckActionKey(t *testing.T) {
	for _, free := range []string{"ctrl-t", "ctrl-l", "a", "f5", "\u00e9"} {
		err := CheckActionKey(free)
		assert.That(t, err == nil, "%s: %v", free, err)
	}
	for name, want := range map[string]string{
		"r": "is taken", "ctrl-d": "is taken", "ctrl-n": "is taken", "esc": "is taken", "tab": "is taken",
		"ctrl-i": "no key", "ctrl-shift-t": "no key", "F": "is taken", "\x1b[2J": "no key", "space": "no key",
	} {
		err := CheckActionKey(name)
		assert.That(t, err != nil && strings.Contains(err.Error(), want), "%q: %v", name, err)
	}
}
