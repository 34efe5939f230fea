package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/term"
)

func TestExitLines(t *testing.T) {
	w := []model.QueueRef{{VHost: "/", Name: "w"}}
	exit := func(r model.Reason, f model.Fate, why string, exact bool, to ...model.QueueRef) model.Exit {
		return model.Exit{Hop: model.Hop{Reason: r, Route: model.Route{Queues: to, Exact: exact}}, Fate: f, Why: why}
	}
	got := ExitLines([]model.Exit{
		exit(model.Expired, model.Arrives, "", true, w...),
		exit(model.Rejected, model.Endless, "it comes back", true, w...),
		exit(model.MaxLen, model.Arrives, "", true, w...),
		exit(model.DeliveryLimit, model.Lost, "there is no way", true),
		exit(model.DelayedRetry, model.Retried, "it waits", true, w...),
	})

	for i := range got {
		got[i] = strings.TrimSpace(ansi.Strip(got[i]))
	}

	want := []string{
		"expired, maxlen → w",
		"rejected → w  endless: it comes back",
		"delivery_limit → ✗ lost: there is no way",
		"delayed_retry → itself: it waits",
	}

	assert.Same(t, want, got)
}

// Each value of a name that occurs twice is shown, and the bytes of unreadable ones, within bounds.
func TestOddHeadersAreShown(t *testing.T) {
	m := model.Table{
		"large": uint64(1<<64 - 1), "twice": model.Repeated{"a", model.Table{"in": int32(1)}},
		"broken": model.RawValue{Type: 'F', Bytes: []byte{0, 0x1b, 0xff}},
		"long":   model.RawValue{Type: '?', Bytes: make([]byte, 100_000)}, "list": []any{model.Repeated{"b", "c"}},
		"wide": []any{"a", strings.Repeat("b", 2*valueLimit)}, // there is no room for the closing bracket
	}

	var got []string
	for _, line := range TreeLines(m) {
		assert.That(t, len(line.Value) <= valueLimit+10, "%s has %d characters", line.Name, len(line.Value))
		got = append(got, line.Name+" "+line.Value[:min(len(line.Value), 40)])
	}

	want := []string{
		"broken unreadable, 0x46001bff", "large 18446744073709551615", "list [2 values [b, c]]",
		"long unreadable, 0x3f" + strings.Repeat("0", 24), "twice a", "twice ", "  in 1",
		"wide [a, " + strings.Repeat("b", 36),
	}

	assert.List(t, got, want)
	if line := tableLines(model.Table{"twice": m["twice"]}); line[0].Value != "2 values [a, {in: 1}]" {
		t.Errorf("%q", line)
	}
}

// Flows in trouble, then those with the most failures, then by name.
func TestWorstFlowsFirst(t *testing.T) {
	row := func(name string, rank int, failed int64) FlowRow {
		return FlowRow{Name: name, rank: rank, Failed: model.Some(failed)}
	}
	rows := []FlowRow{row("well", 2, 0), row("b", 1, 4), row("a", 1, 4), row("loud", 1, 20_000), row("no consumer", 0, 0)}
	slices.SortFunc(rows, Worst)

	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}

	assert.List(t, names, []string{"no consumer", "loud", "a", "b", "well"}, "the flows")
}

func TestErrorsAreReadable(t *testing.T) {
	late := fmt.Errorf("peek q: %w", context.DeadlineExceeded)
	assert.Equal(t, ReadableError(late), "no answer in time: the broker is busy, or what was asked for is large")
	assert.Equal(t, ReadableError(fmt.Errorf("peek q: %w", model.ErrQueueGone)), model.ErrQueueGone.Error())
}

// After a temporary refusal, a plan is compared with the one that was read before it.
func TestChangesAcrossARefusal(t *testing.T) {
	way := func(key string) plan.Promise {
		w := target.Way{Exact: true}
		w.Address.RoutingKey, w.Reaches = key, append(w.Reaches, build.Ref(key))
		return plan.Promise{Ways: []target.Way{w}, Strips: []string{"x-error"}, Messages: 2}
	}

	refused := plan.Promise{Messages: 2, Refusal: plan.Refusal{plan.NothingLeft{}}}

	const other = "messages now go through exchange (default), key v, which reaches v; " +
		"no message goes through exchange (default), key w any more"
	for name, test := range map[string]struct {
		plans []plan.Promise // one after the other
		want  string         // the changes at the end
		read  bool           // it must be read
	}{
		"refused":                        {[]plan.Promise{way("w"), refused}, "there is nothing to undo", true},
		"again as it was read":           {[]plan.Promise{way("w"), refused, way("w")}, "", false},
		"another one after it":           {[]plan.Promise{way("w"), refused, way("v")}, other, true},
		"refused at first, then not":     {[]plan.Promise{refused, way("w")}, "", true},
		"refused twice, then as it was":  {[]plan.Promise{way("w"), refused, refused, way("w")}, "", false},
		"it changed without any refusal": {[]plan.Promise{way("w"), way("w"), way("v")}, other, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDialog(&Env{Terminal: Terminal{Shown: time.Now()}}, DialogAsking)
			for i := range test.plans[1:] {
				d.Changed(test.plans[i], test.plans[i+1])
			}
			assert.Equal(t, plan.ChangesWords(d.Changes), test.want, "changed")
			assert.Equal(t, !d.ChangedAt.IsZero(), test.read, "it has to be read")
		})
	}
}

// If a dialog has more lines than the screen, asides are dropped first, and a warning and all keys stay.
func TestDialogKeepsWarningsAndKeys(t *testing.T) {
	build := func(warnings int) *DialogLines {
		l := NewDialogLines(80)
		l.Say("from", "failed", term.Text)
		l.Say("to", "the worker", term.Text)
		l.Aside("target", "auto", term.Muted)
		l.Aside("adds", "a mark", term.Text)
		for range warnings {
			l.Stress("", "! a warning", term.Warning)
		}

		l.Aside("costs", strings.Repeat("words of what it costs ", 8), term.Muted)
		before := len(l.Lines)
		l.Blank()
		hints := ""
		for _, key := range []string{"enter replay", "tab other target", "c canary", "t keep tries", "e edit", "esc back"} {
			k, does, _ := strings.Cut(key, " ")
			hints += Hint(k, does)
		}

		l.Hints(hints)
		l.asked = len(l.Lines) - before
		return l
	}

	for _, c := range must.Cases[struct {
		Warnings, Most int
		Want, Gone     []string
	}](t, "testdata/dialogs.toml") {
		l := build(c.Warnings)
		l.Fit(c.Most)
		text := ansi.Strip(strings.Join(l.Lines, "\n"))
		assert.That(t, len(l.Lines) <= c.Most, "%d lines, not %d:\n%s", len(l.Lines), c.Most, text)
		n := strings.Count(text, "! a warning")
		assert.That(t, c.Warnings >= 3 || n == c.Warnings, "%d of %d warnings:\n%s", n, c.Warnings, text)
		for _, want := range c.Want {
			assert.Contains(t, text, want, "there is no")
		}
		for _, gone := range c.Gone {
			assert.That(t, !strings.Contains(text, gone), "there is %q:\n%s", gone, text)
		}

		for _, line := range l.Lines {
			assert.That(t, ansi.StringWidth(line) <= l.Width, "%d columns, not %d: %s", ansi.StringWidth(line),
				l.Width, line)
		}
	}
}

// A text of which only the first lines are said goes on behind an ellipsis; one that fits has none.
func TestFirstLines(t *testing.T) {
	l := NewPaneLines(38)
	l.SayFirst(2, "body", "short")
	assert.Lacks(t, l.Lines[0], "…")
	l.SayFirst(1, "body", strings.Repeat("word ", 20))
	assert.Equal(t, len(l.Lines), 2)
	assert.Contains(t, l.Lines[1], "word …")
}
