package ui

import (
	"context"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// endlessBroker looks until it is told to end.
type endlessBroker struct {
	*recordedBroker
	began, ended chan struct{}
}

func (b endlessBroker) last(ctx context.Context) error {
	b.began <- struct{}{}
	<-ctx.Done()
	b.ended <- struct{}{}
	return ctx.Err()
}

func (b endlessBroker) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	return peek.Peeked{Plan: plan}, b.last(ctx)
}

func (b endlessBroker) Read(ctx context.Context, _ peek.Plan, _ func(*message.Message) error) (peek.Read, error) {
	return peek.Read{}, b.last(ctx)
}

// TestLeavingEndsTheLook: until a look gives its messages back, the next one sees the queue empty. It ends with its
// screen, as does the one that an undo is planned with.
func TestLeavingEndsTheLook(t *testing.T) {
	for name, open := range map[string]func(*app, int64) shell.Screen{
		"messages": func(a *app, _ int64) shell.Screen { return messages.NewScreen(a.env, ref(failedQueue)) },
		"undo":     func(a *app, id int64) shell.Screen { return act.NewUndoScreen(a.env, id) },
	} {
		t.Run(name, func(t *testing.T) {
			o, b, c := failedOptions(1)
			id := withUnfinishedDrop(t, &o, c)
			looks := endlessBroker{b, make(chan struct{}, 1), make(chan struct{}, 1)}
			o.Broker = looks
			term := newTerminal(t, o, 120, 36, func(a *app) {
				a.tabs[0].stack = append(a.tabs[0].stack, a.env.NewPage(open(a, id)))
			})
			await := func(what string, happened chan struct{}) {
				select {
				case <-happened:
				case <-time.After(patience):
					t.Fatalf("%s\n%s", what, term.screen())
				}
			}
			await("no look began", looks.began)
			term.press(keyEsc)
			term.await("NEXT DUE")
			await("the look goes on", looks.ended)
		})
	}
}
