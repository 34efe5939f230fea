package shell

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
	"github.com/dlxtop/dlxtop/ui/term"
)

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
	styles := term.NewStyles(term.ANSI, termenv.ANSI)
	build := func(warnings int) *DialogLines {
		l := NewDialogLines(styles, 80)
		l.Say("from", "failed", styles.Text)
		l.Say("to", "the worker", styles.Text)
		l.Aside("target", "auto", styles.Muted)
		l.Aside("adds", "a mark", styles.Text)
		for range warnings {
			l.Stress("", "! a warning", styles.Warning)
		}
		l.Aside("costs", strings.Repeat("words of what it costs ", 8), styles.Muted)
		before := len(l.Lines)
		l.Blank()
		hints := ""
		for _, key := range []string{"enter replay", "tab other target", "c canary", "t keep tries", "e edit", "esc back"} {
			k, does, _ := strings.Cut(key, " ")
			hints += Hint(styles, k, does)
		}
		l.Hints(hints)
		l.asked = len(l.Lines) - before
		return l
	}
	for _, c := range []struct {
		warnings, most int
		want, gone     []string
	}{
		{2, 40, []string{"auto", "a mark", "what it costs", "esc back"}, []string{"…"}},
		{2, 8, []string{"failed", "the worker", "…", "e edit", "esc back"}, []string{"a mark", "what it costs"}},
		{2, 7, []string{"failed", "…", "t keep tries", "esc back"}, []string{"a mark", "the worker", "what it costs"}},
		{9, 8, []string{"! a warning", "…", "t keep tries", "esc back"}, []string{"failed", "the worker", "a mark"}},
		{9, 3, []string{"…", "c canary", "esc back"}, []string{"failed", "! a warning"}},
	} {
		l := build(c.warnings)
		l.Fit(c.most)
		text := ansi.Strip(strings.Join(l.Lines, "\n"))
		assert.That(t, len(l.Lines) <= c.most, "%d lines, not %d:\n%s", len(l.Lines), c.most, text)
		n := strings.Count(text, "! a warning")
		assert.That(t, c.warnings >= 3 || n == c.warnings, "%d of %d warnings:\n%s", n, c.warnings, text)
		for _, want := range c.want {
			assert.Contains(t, text, want, "there is no")
		}
		for _, gone := range c.gone {
			assert.That(t, !strings.Contains(text, gone), "there is %q:\n%s", gone, text)
		}
		for _, line := range l.Lines {
			assert.That(t, ansi.StringWidth(line) <= l.Width, "%d columns, not %d: %s", ansi.StringWidth(line),
				l.Width, line)
		}
	}
}
