package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/export"
)

// play presses keys, and awaits a text after each: its steps are pairs of them.
func (term *terminal) play(steps ...string) *terminal {
	term.t.Helper()
	for i := 0; i < len(steps); i += 2 {
		term.press(steps[i]).await(steps[i+1])
	}
	return term
}

// opened is the program with a screen open.
type opened func(t *testing.T, width, height int) *terminal

// ofFailed has n failed messages open.
func ofFailed(n int, change ...func(t *testing.T, o *Options)) opened {
	return func(t *testing.T, width, height int) *terminal {
		t.Helper()
		o, _, _ := failedOptions(n)
		for _, f := range change {
			f(t, &o)
		}
		return onQueue(t, o, failedQueue, width, height).await(fmt.Sprintf("%d messages", n))
	}
}

// TestGolden: screens and dialogs are as recorded, at 120 x 36 and 80 x 24, and many at 200 x 50.
func TestGolden(t *testing.T) {
	editing := func(t *testing.T, o *Options) {
		o.Editor, _ = scripted(t, `sed -i 's/"app_id": "ucenter"/"app_id": "by-hand"/; s/guan yu/zhang fei/; s/"headers": {/"headers": {"fixed": true,/' "$f"`)
	}
	exporting := func(_ *testing.T, o *Options) { o.Files = export.Files{} }
	journal := func(t *testing.T, width, height int) *terminal {
		o, _, c := failedOptions(5)
		withJournal(t, &o, c, 3)
		return newTerminal(t, o, width, height).await("ucenter@user")
	}
	replay := func(t *testing.T, width, height int) *terminal {
		o, b, c := failedOptions(5)
		withReplay(t, &o, b, c)
		return newTerminal(t, o, width, height).await("ended during the replay 1", "r resumes it")
	}
	smtp := func(t *testing.T, width, height int) *terminal {
		o, _, _, _ := manyFailed()
		exporting(t, &o)
		return onSMTP(t, o, width, height).await("88 of 90 read", "not read: 2 of lots.failed")
	}
	find := func(t *testing.T, width, height int) *terminal {
		o, _, _ := ordersInMany(3)
		return newTerminal(t, o, width, height).await("ucenter@user")
	}
	flow := func(worker string) opened {
		return func(t *testing.T, width, height int) *terminal {
			o, _, _ := failedOptions(47)
			return onFlow(t, o, worker, width, height).await("MOVED  ").awaitGone("reading the failed")
		}
	}
	home := func(t *testing.T, width, height int) *terminal {
		return newTerminal(t, frozen(&recorded{snapshot: busyBroker()}), width, height).await("example.delay.life  ")
	}
	const two, three = "120x36 80x24", "120x36 80x24 200x50"
	const program = "if .body.id % 7 == 3 then empty elif .body.name then .body.name |= ascii_upcase | " +
		".headers.fixed = true else . end"
	for _, scene := range []struct {
		name, sizes string
		open        opened
		steps       []string
	}{
		{"messages", two, ofFailed(47), nil},
		{"detail", two, ofFailed(47), []string{keyDown + keyEnter, "message 2 of 47"}},
		{"compare", two, ofFailed(3), []string{
			"  ", "2 selected", "", "= compare", "=", "0f3c9a00-user", "", "0f3c9a01-user",
			"", "Body  2 lines differ", "", "Headers",
		}},
		{"replay", two, ofFailed(47), []string{"r", "ucenter@user, 3 consumers"}},
		{"canary", two, ofFailed(47), []string{"R", "c canary", "c", "1 message first", "", "no canary"}},
		{"drop", two, ofFailed(47), []string{"*d", "drop 47 messages for good"}},
		{"move", two, ofFailed(47), []string{"m", "Type a part of the queue's name"}},
		{"export", two, ofFailed(47, exporting), []string{
			"x", "Export 47 messages", "", "ucenter@user@failed-20260301-030405.jsonl",
		}},
		{"edit", two, ofFailed(47, editing), []string{
			"e", "app_id: ucenter → by-hand", "", "with the header fixed: true", "", "guan yu", "", "zhang fei",
		}},
		{"mend_prompt", three, ofFailed(47), []string{"E", "Edit 47 messages with jq"}},
		{"mend_wrong", three, ofFailed(47), []string{
			"E", "Edit 47 messages with jq", ".b[", "the jq program is not complete",
		}},
		{"mend_differences", three, ofFailed(47), []string{
			"E", "Edit 47 messages with jq", program + keyEnter, "of 47 messages are changed",
			"", "with the header fixed: true",
		}},
		{"mend_dialog", three, ofFailed(47), []string{
			"E", "Edit 47 messages with jq", program + keyEnter, "to the replay", keyEnter, "edited", "", "reaches",
			"", "enter replay",
		}},
		{"filter_completes", three, ofFailed(47), []string{"/=json.", "tab completes  json.active"}},
		{"filter_wrong", three, ofFailed(47), []string{"/=deaths > > ", "character 10: unexpected token"}},
		{"filter_text", three, ofFailed(47), []string{"/valueerror", "of 23 in 47"}},
		{"causes", three, smtp, nil},
		{"cause_replay", three, smtp, []string{"r", "enter replay 64 messages"}},
		{"cause_move", three, smtp, []string{"m", "64 messages", "", "esc back"}},
		{"cause_export", three, smtp, []string{"x", "64 messages", "", "esc back"}},
		{"cause_edit", three, smtp, []string{
			"E", "64 messages", "", "esc back", ".headers.fixed = true" + keyEnter, "64 of 64 messages are changed",
		}},
		{"find", three, find, []string{
			":find a-4711", "▸ find a-4711", keyEnter, "3 found", "", "not all was read",
			"", "order a-4711 again, \\x1b[31mred", keyDown, "── RetryQueue   r-2",
		}},
		{"journal", two, journal, []string{"5", "3 dropped", "", "guest@mq1:5672"}},
		{"record", two, journal, []string{"5", "3 dropped", keyEnter, "MESSAGE ID", "", "OUTCOME"}},
		{"undo", two, journal, []string{"u", "Undo 1: bring back 3 messages", "", "byte for byte"}},
		{"resume", two, replay, []string{
			"5", "r resume this", "r", "Resume 1: continue the replay", "", "2 messages: undecided",
		}},
		{"flow_ucenter@user", two, flow("ucenter@user"), nil},
		{"flow_worker-queue", two, flow("worker-queue"), nil},
		{"flow_RetryQueue", two, flow("RetryQueue"), nil},
		{"home", "200x50", home, nil},
	} {
		for _, size := range strings.Fields(scene.sizes) {
			t.Run(scene.name+"/"+size, func(t *testing.T) {
				var width, height int
				_, _ = fmt.Sscanf(size, "%dx%d", &width, &height)
				scene.open(t, width, height).play(scene.steps...).golden()
			})
		}
	}
}
