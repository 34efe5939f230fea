package shell

import (
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
