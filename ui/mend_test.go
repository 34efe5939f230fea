package ui

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/plan"
)

func TestMendGolden(t *testing.T) {
	for _, size := range []struct {
		name          string
		width, height int
	}{{"80x24", 80, 24}, {"120x36", 120, 36}, {"200x50", 200, 50}} {
		for name, keys := range map[string][]string{
			"prompt":      {},
			"wrong":       {".", "b", "["},
			"differences": {keyEnter},
			"dialog":      {keyEnter, keyEnter},
		} {
			t.Run(name+"/"+size.name, func(t *testing.T) {
				o, _, _ := failedOptions(47)
				term := onQueue(t, o, failedQueue, size.width, size.height)
				term.await("47 messages")
				term.press("E")
				term.await("Edit 47 messages with jq")
				if len(keys) > 0 && keys[0] == keyEnter {
					term.press(`if .body.id % 7 == 3 then empty elif .body.name then .body.name |= ascii_upcase | ` +
						`.headers.fixed = true else . end`)
				}
				for i, press := range keys {
					if i > 0 && press == keyEnter {
						term.await("to the replay")
					}
					term.press(press)
				}
				switch name {
				case "wrong":
					term.await("the jq program is not complete")
				case "differences":
					term.await("of 47 messages are changed", "with the header fixed: true")
				case "dialog":
					term.await("edited", "reaches", "enter replay")
				}
				term.golden()
			})
		}
	}
}

// TestMendSelection: what is selected is changed, and the replay that follows has the program.
func TestMendSelection(t *testing.T) {
	o, b, _ := failedOptions(5)
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press(" ", " ", "E")
	term.await("Edit 2 messages with jq", "the selection: 2 messages")
	term.press(".body.name = 5", keyEnter)
	term.await("2 of 2 messages are changed", "E edit the program")
	term.press("E")
	term.awaitGone("E edit the program")
	term.press(` | .body.new = "x"`, keyEnter)
	term.await("2 of 2 messages are changed", "to the replay")
	term.press(keyEnter)
	term.await("edited", "enter replay")
	term.press("E")
	term.await("Edit 2 messages with jq", "earlier programs")
	term.press(keyEnter)
	term.await("to the replay")
	term.press(keyEnter)
	term.await("enter replay")
	term.press("c")
	term.await("c no canary", "enter replay")
	term.press("c")
	term.awaitGone("c no canary")
	term.await("enter replay") // the plan without it is there
	term.press(keyEnter)
	term.await("2 messages moved")
	plans := b.executed()
	assert.That(t, len(plans) == 1 && plans[0].Mend != nil && plans[0].Mend.Text == `.body.name = 5 | .body.new = "x"` &&
		plans[0].Mended.Changed == 2, "executed %+v", plans)
	term.press(keyEnter)
	term.awaitGone("What happened")
	term.press("E", keyUp)
	term.await(`program   .body.name = 5 | .body.new = "x"`)
	term.press(keyUp)
	term.awaitGone(".body.new")
	term.press("\x1b[B", "\x1b[B")
	term.awaitGone(".body.name")
	term.press(keyEsc)
	term.awaitGone("with jq")
}

func TestMendIsRefused(t *testing.T) {
	o, b, _ := failedOptions(5)
	term := onQueue(t, o, failedQueue, 120, 36)
	term.await("5 messages")
	term.press("E", ".body", keyEnter)
	term.await("not possible: the jq program gives another object instead", "5 messages: the jq program",
		"E edit the program")
	term.press(keyEnter, "E")
	term.await("earlier programs")
	for range len(".body") {
		term.press("\x7f")
	}
	term.press(keyEnter)
	term.await("this is not a jq program")
	term.press("def f: f; f", keyEnter)
	term.await("did not end within 1 million steps")
	term.press(keyEsc)
	term.awaitGone("with jq")
	plans := b.executed()
	assert.That(t, len(plans) == 0, "executed %+v", plans)
	o, _, _ = failedOptions(5)
	o.ReadOnly = true
	readOnly := onQueue(t, o, failedQueue, 120, 36)
	readOnly.await("5 messages")
	readOnly.press("E")
	readOnly.await("read-only:")
}

// TestRecordNamesTheProgram: the journal says what changed the messages.
func TestRecordNamesTheProgram(t *testing.T) {
	o, _, c := failedOptions(5)
	j := withJournal(t, &o, c, 3)
	program, err := mend.Parse(`.body.fixed = true`)
	must.Do(t, err)
	id, err := j.Begin(t.Context(), plan.Record{
		Operation: plan.Replay, From: ref(failedQueue), User: "guest", Broker: "mq1:5672", Planned: 1,
		Intent: &plan.Intent{Mend: program},
	})
	if err == nil {
		err = j.Finish(id, nil, plan.Account{Planned: 1, Gone: 1})
	}
	must.Do(t, err)
	term := newTerminal(t, o, 120, 36)
	term.press("5")
	term.await("1 gone")
	term.press(keyEnter)
	term.await("changed by the jq program .body.fixed = true")
}
