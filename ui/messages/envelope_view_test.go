package messages

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

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
			}{{headerLines(term.NewStyles(term.Mono, termenv.Ascii), &m, 90), test.headers}, {
				(&shell.Bodies{Read: body.Read}).Lines(term.NewStyles(term.Mono, termenv.Ascii), &m, 90, false, false),
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
