package messages

import (
	"strings"
	"sync/atomic"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/around"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// A slow expression runs outside Update, and ends when the filter does.
func TestSlowFilterLeavesUpdate(t *testing.T) {
	e := &shell.Env{Work: shell.NewWork(t.Context()), Requests: &atomic.Int64{}}
	t.Cleanup(e.Work.End)
	m := message.Message{Body: []byte("[" + strings.Repeat("1,", 2000) + "1]")}
	list := &shell.PeekedMessages{Messages: message.MessageList{m}}

	var rows []*shell.MessageRow
	for range 200 {
		rows = append(rows, &shell.MessageRow{Peeked: list, Size: len(m.Body)})
	}

	f := newMessageFilter(e)
	f.Open()
	f.Handle(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("=count(json, {let n = #; count(json, # == n) > 0}) > 0")})
	cmd := f.apply(e, rows, around.Look{})
	must.Do(t, f.err)
	must.That(t, f.pending(), "pending %v, %v", f.pending(), f.err)
	must.That(t, cmd != nil, "pending %v, %v", f.pending(), f.err)
	ended := make(chan tea.Msg)
	go func() { ended <- cmd() }()
	f.Clear()
	f.apply(e, rows, around.Look{})
	msg := <-ended
	assert.That(t, msg == nil, "a filter that was left says %v", msg)
	assert.That(t, !f.pending(), "a filter that was left says %v", msg)
}

func TestEnvelopesAreShownOpened(t *testing.T) {
	envelope := `{"Exception":"E: x","RoutingKey":"k","Exchange":"orders","Queue":"billing","Message":"{\"id\":7}","BasicProperties":{"CorrelationId":"c-1","Headers":{"tenant":"blue"}}}`
	for _, test := range []struct {
		name, body    string
		headers, text []string // in this order
	}{
		{
			"EasyNetQ", envelope,
			[]string{
				"unwraps the EasyNetQ envelope", `exchange orders, key "k", failed in billing`, "c-1", "tenant",
				"As it lies in the queue:", "outer",
			},
			[]string{"unwraps the EasyNetQ envelope", `"id": 7`, "As it lies in the queue:", `"Exception": "E: x"`},
		},

		{
			"damaged", strings.Replace(envelope, `"BasicProperties":{`, `"BasicProperties":{"Priority":"high",`, 1),
			[]string{"outer"},
			[]string{"its body looks like an EasyNetQ envelope", `"Exception": "E: x"`},
		},
		{
			"Dramatiq", `{"queue_name":"q","actor_name":"a","args":[],"kwargs":{},"options":{"retries":3},"message_id":"1"}`,
			[]string{"outer"},
			[]string{"takes retries out of Dramatiq's options", `"options": {}`, "As it lies in the queue:", `"retries": 3`},
		},
		{"none", `{"id":7}`, []string{"outer"}, []string{`"id": 7`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := message.Message{Body: []byte(test.body), BodyBytes: len(test.body), Headers: model.Table{"outer": "yes"}}

			for _, pane := range []struct {
				lines []string
				want  []string
			}{{headerLines(&m, 90), test.headers}, {
				(&shell.Bodies{}).Lines(&m, 90, false, false),
				test.text,
			}} {
				text := ansi.Strip(strings.Join(pane.lines, "\n"))
				rest := text
				for _, want := range pane.want {
					_, after, ok := strings.Cut(rest, want)
					must.That(t, ok, "no %q, or not in this order, in\n%s", want, text)
					rest = after
				}
			}
		})
	}
}
