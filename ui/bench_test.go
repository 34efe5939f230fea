package ui

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/flows"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// BenchmarkFrame10kQueues draws the whole terminal with 10,000 queues, moving the cursor down by one each time: what a
// user who holds a key down waits for.
func BenchmarkFrame10kQueues(b *testing.B) {
	for _, screen := range []string{"flows", "queues"} {
		b.Run(screen, func(b *testing.B) {
			a := frameOf(b, manyQueues(10_000), map[string]string{"flows": "1", "queues": "2"}[screen])
			down := tea.KeyMsg{Type: tea.KeyDown}
			for b.Loop() {
				a, _ = a.Update(down)
				_ = a.View()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/frame")
		})
	}
}

// BenchmarkPoll10kQueues takes over a poll with 10,000 queues, for which keys have to wait.
func BenchmarkPoll10kQueues(b *testing.B) {
	snapshot := manyQueues(10_000)
	a := frameOf(b, snapshot, "2")
	t := a.(app).latest
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		t.Topology = model.NewTopology(later(snapshot, time.Duration(i)*time.Second,
			map[string]int64{"plain.00001.events": int64(i)}))
		b.StartTimer()
		a.(app).tabs[1].stack[0].Update(t)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/poll")
}

// frameOf is the program at 120 x 36 on a tab, after one poll.
func frameOf(b *testing.B, snapshot *model.Snapshot, tab string) tea.Model {
	b.Helper()
	source := &recorded{snapshot: snapshot}
	var a tea.Model = newApp(b.Context(), frozen(source))
	a, _ = a.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	a, cmd := a.Update(startMsg{})
	a, _ = a.Update(cmd())
	a, _ = a.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(tab)})
	_ = a.View()
	return a
}

// BenchmarkFrameFlow takes in counts with movement, and redraws the flow: this happens four times a second.
func BenchmarkFrameFlow(b *testing.B) {
	a := frameOf(b, busyBroker(), "1")
	a, _ = a.Update(shell.PushMsg{Screen: flows.NewFlowScreen(a.(app).env, ref("ucenter@user"))})
	refs := []model.QueueRef{ref("ucenter@user"), ref("ucenter@user@retry"), ref("ucenter@user@failed")}
	start := newClock().now()
	for i := 0; b.Loop(); i++ {
		counts := model.Counts{
			At:     start.Add(time.Duration(i+1) * 250 * time.Millisecond),
			Queues: map[model.QueueRef]model.QueueCounts{},
		}
		for j, r := range refs {
			counts.Queues[r] = model.QueueCounts{Ready: model.Some(int64(100 + (i*(j+3))%40)), Consumers: model.Some[int64](0)}
		}
		p := a.(app)
		p.tabs[0].send(shell.CountedMsg{Counts: counts, Changed: p.recounted(counts), Topology: p.latest.Topology})
		_ = p.View()
		a = p
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/frame")
}
