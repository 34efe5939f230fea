package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

func TestExitLines(t *testing.T) {
	w := []model.QueueRef{{VHost: "/", Name: "w"}}
	exit := func(r model.Reason, f model.Fate, why string, exact bool, to ...model.QueueRef) model.Exit {
		return model.Exit{Hop: model.Hop{Reason: r, Route: model.Route{Queues: to, Exact: exact}}, Fate: f, Why: why}
	}
	got := ExitLines(term.NewStyles(term.Mono, termenv.Ascii), []model.Exit{
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
	assert.NoDiff(t, cmp.Diff(want, got))
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
