package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// driven is the program without a terminal: the test takes what its commands bring, one message at a time.
type driven struct {
	t    *testing.T
	app  app
	came chan tea.Msg
}

func drive(t *testing.T, o Options) *driven {
	d := &driven{t: t, app: newApp(t.Context(), o), came: make(chan tea.Msg)}
	t.Cleanup(d.app.env.Work.End)
	d.take(tea.WindowSizeMsg{Width: 120, Height: 36})
	for _, t := range d.app.tabs {
		d.run(t.stack[0].Asked(t.stack[0].Init()))
	}
	d.take(startMsg{})
	return d
}

func (d *driven) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		select {
		case d.came <- msg:
		case <-d.t.Context().Done():
		}
	}()
}

func (d *driven) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			d.run(cmd)
		}
	default:
		next, cmd := d.app.Update(msg)
		d.app = next.(app)
		d.run(cmd)
	}
}

func (d *driven) await(text string) {
	d.t.Helper()
	late := time.After(patience)
	for !strings.Contains(ansi.Strip(d.app.View()), text) {
		select {
		case msg := <-d.came:
			d.take(msg)
		case <-late:
			d.t.Fatalf("there is no %q on the screen\n%s", text, ansi.Strip(d.app.View()))
		}
	}
}

func (d *driven) press(key string) {
	msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(key)}
	switch key {
	case keyEnter:
		msg = tea.KeyMsg{Type: tea.KeyEnter}
	case keyDown:
		msg = tea.KeyMsg{Type: tea.KeyDown}
	case keyTab:
		msg = tea.KeyMsg{Type: tea.KeyTab}
	}
	d.take(msg)
}

// outsideView panics when a view asks: View runs in its caller's goroutine, what commands ask runs in their own.
func outsideView(what string) {
	if bytes.Contains(debug.Stack(), []byte("ui.app.View(")) {
		panic("a view asks " + what)
	}
}

// What answers commands only, so that a view which asks the API, the broker, the journal or the disk is found out.
type (
	askedSource struct{ ports.Source }
	askedBroker struct{ shell.Broker }
	records     = ports.Records // which has a method of its own name

	askedRecords  struct{ records }
	askedMessages struct{ message.Messages }
)

func (s askedSource) Snapshot(ctx context.Context) (*model.Snapshot, error) {
	outsideView("the API")
	return s.Source.Snapshot(ctx)
}

func (s askedSource) Current(ctx context.Context) (*model.Snapshot, error) {
	outsideView("the API")
	return s.Source.Current(ctx)
}

func (s askedSource) Counts(ctx context.Context) (map[model.QueueRef]model.QueueCounts, error) {
	outsideView("the API")
	return s.Source.Counts(ctx)
}

func (s askedSource) Connections(ctx context.Context) ([]string, error) {
	outsideView("the API")
	return s.Source.Connections(ctx)
}

func (b askedBroker) User() string {
	outsideView("the broker")
	return b.Broker.User()
}

func (b askedBroker) Address() string {
	outsideView("the broker")
	return b.Broker.Address()
}

func (b askedBroker) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	outsideView("the broker")
	peeked, err := b.Broker.Peek(ctx, plan)
	peeked.Messages = askedMessages{peeked.Messages}
	return peeked, err
}

func (b askedBroker) Looked(ctx context.Context, cluster string) (map[model.QueueRef]model.Looked, error) {
	outsideView("the disk")
	return b.Broker.Looked(ctx, cluster)
}

func (b askedBroker) Held(since time.Time) map[model.QueueRef]bool {
	outsideView("the broker")
	return b.Broker.Held(since)
}

func (b askedBroker) Count(ctx context.Context, refs []model.QueueRef) (map[model.QueueRef]model.QueueCounts, error) {
	outsideView("the broker")
	return b.Broker.Count(ctx, refs)
}

func (r askedRecords) Records(ctx context.Context, limit int) ([]plan.Record, error) {
	outsideView("the journal")
	return r.records.Records(ctx, limit)
}

func (r askedRecords) Record(ctx context.Context, id int64) (plan.Record, error) {
	outsideView("the journal")
	return r.records.Record(ctx, id)
}

func (r askedRecords) Unfinished(ctx context.Context) ([]plan.Record, error) {
	outsideView("the journal")
	return r.records.Unfinished(ctx)
}

func (r askedRecords) Chain(ctx context.Context, id int64) ([]plan.Record, error) {
	outsideView("the journal")
	return r.records.Chain(ctx, id)
}

func (r askedRecords) Entries(ctx context.Context, id int64, each func(*plan.Entry) error) error {
	outsideView("the journal")
	return r.records.Entries(ctx, id, each)
}

// onDisk panics when Update reads what is on disk, too: it must not wait for it.
func onDisk() {
	outsideView("the disk")
	if bytes.Contains(debug.Stack(), []byte("ui.app.Update(")) {
		panic("Update reads the disk")
	}
}

func (m askedMessages) InMemory() bool { return false }

func (m askedMessages) At(i, body int) (message.Message, error) {
	onDisk()
	return m.Messages.At(i, body)
}

func (m askedMessages) Range(from, to, body int, f func(*message.Message) error) error {
	onDisk()
	return m.Messages.Range(from, to, body, f)
}

func (m askedMessages) ReadBody(i int, b []byte, from int64) (int, error) {
	onDisk()
	return m.Messages.ReadBody(i, b, from)
}

// TestViewAsksNobody: what is drawn was worked out by Update, on each screen and with each dialog, after each change of
// the size too; drawing it again draws the same.
func TestViewAsksNobody(t *testing.T) {
	inQueue := func(more ...string) []string {
		return append([]string{
			"", "ucenter@user", "3", "CAUSE", "f", "FAILED QUEUE", keyEnter, "5 messages",
		}, more...)
	}
	for name, steps := range map[string][]string{ // a key, and what is awaited then
		"flows":    {"", "ucenter@user"},
		"flow":     {"", "ucenter@user", keyEnter, "nothing moved while"},
		"chart":    {"", "ucenter@user", keyEnter, "nothing moved while", "c", "close the chart"},
		"tap":      {"", "ucenter@user", keyEnter, "nothing moved while", "t", "sees"},
		"queues":   {"", "ucenter@user", "2", "DEAD-LETTERS TO"},
		"failed":   {"", "ucenter@user", "3", "CAUSE", "f", "FAILED QUEUE"},
		"causes":   {"", "ucenter@user", "3", "TimeoutError: smtp gateway did not answer"},
		"cause":    {"", "ucenter@user", "3", "TimeoutError: smtp gateway did not answer", keyEnter, "showing 3"},
		"findings": {"", "ucenter@user", "4", "WHERE"},
		"journal":  {"", "ucenter@user", "5", "3 dropped"},
		"record":   {"", "ucenter@user", "5", "3 dropped", keyEnter, "undo"},
		"undo":     {"", "ucenter@user", "u", "byte for byte"},
		"undone":   {"", "ucenter@user", "u", "byte for byte", keyEnter, "What happened"},
		"messages": inQueue(),
		"another":  inQueue(keyDown, "0f3c9a01-user"),
		"zoomed":   inQueue(keyEnter, "1 of 5   0f3c9a00"),
		"filter":   inQueue("/", "5 of 5", "user3", "match 1 of 1 in 5"),
		"copied":   inQueue("y", "message id", "i", "copied the"),
		"replay":   inQueue("r", "id 0f3c9a00-user"),
		"dropped":  inQueue("d", "enter drop", keyEnter, "What"),
		"move":     inQueue("m", "Move"),
		"help":     {"", "ucenter@user", "?", "everywhere"},
		"palette":  {"", "ucenter@user", ":", "flow FLOW"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _, c := failedOptions(5)
			withJournal(t, &o, c, 3)
			o.Source, o.Broker, o.Journal = askedSource{o.Source}, askedBroker{o.Broker}, askedRecords{o.Journal}
			o.Now = func() time.Time {
				outsideView("the clock")
				return c.now()
			}
			d := drive(t, o)
			d.app.env.Clipboard = io.Discard
			for i := 0; i < len(steps); i += 2 {
				if steps[i] != "" {
					d.press(steps[i])
				}
				d.await(steps[i+1])
			}
			for _, size := range []tea.WindowSizeMsg{
				{Width: 120, Height: 36}, {Width: 80, Height: 24}, {Width: 200, Height: 50},
			} {
				d.take(size)
				if first, second := d.app.View(), d.app.View(); first != second {
					t.Errorf("at %s two views differ:\n%s\n%s", fmt.Sprint(size), first, second)
				}
			}
		})
	}
}
