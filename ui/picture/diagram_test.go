package picture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/ui/term"
)

func queueStation(name string, facts ...string) Station {
	s := Station{Queue: build.Ref(name), name: name, tone: term.Strong}
	for _, f := range facts {
		s.facts = append(s.facts, term.Spans{{Text: f, Style: term.Text}})
		s.short = append(s.short, term.Span{Text: f, Style: term.Text})
	}

	return s
}

func exchangeStation(name, kind string) Station {
	return Station{
		name: name, facts: []term.Spans{{{Text: kind, Style: term.Muted}}},
		short: term.Spans{{Text: kind, Style: term.Muted}}, tone: term.Text,
	}
}

func delayedPicture() *Picture {
	return &Picture{
		lanes: []lane{{
			entrance: exchangeStation("out.exchange", "direct"),
			buffers: group{
				stations: []Station{queueStation("buffer-queue", "delayed, TTL per message", "5 ready  ▁▃▅▇▅▃",
					"head due in 3.2s")},
				in: Arrow{id: "in", rate: model.Some(1.0)}, out: Arrow{id: "out", label: "expired", rate: model.Some(2.1)},
			},
			exchange: exchangeStation("dlx.exchange", "direct"),
			out:      Arrow{id: "on", rate: model.Some(2.1)},
		}},
		worker: queueStation("worker-queue", "0 ready", "1 consumer", "12.0/s acked"),
		failed: group{
			stations: []Station{queueStation("worker-queue.failed", "47 ready", "no consumers")},
			in:       Arrow{id: "failed", label: "rejected", rate: model.Some(0.2)},
		},
	}
}

func pubsubPicture() *Picture {
	return &Picture{
		lanes: []lane{{
			exchange: exchangeStation("master", "topic"),
			enters:   Arrow{id: "enters", rate: model.Some(38.2)},
			out:      Arrow{id: "on", label: "user.*", rate: model.Some(38.2)},
		}},
		worker: queueStation("ucenter@user", "12 ready, 3 unacked", "3 consumers", "38.2/s acked"),
		retries: []group{{
			stations: []Station{queueStation("ucenter@user@retry", "retry 30s (argument)", "1,204 ready",
				"head due in ≤ 2s")}, in: Arrow{id: "r", label: "via master.retry", rate: model.Some(0.4)},
			out: Arrow{id: "b", label: "expired", rate: model.Some(0.4)},
		}},
		failed: group{
			stations: []Station{queueStation("ucenter@user@failed", "47 ready", "no consumers")},
			in:       Arrow{id: "failed", label: "via master.failed"},
		},
	}
}

func manyPicture() *Picture {
	p := pubsubPicture()
	l := lane{
		buffers: group{
			heading: "8 delayed buffers", in: Arrow{id: "in2"},
			out: Arrow{id: "out2", label: "expired", rate: model.Some(12.0)},
		},
		exchange: exchangeStation("RetryExchange", "fanout"), out: Arrow{id: "on2", rate: model.Some(12.0)},
	}

	for _, d := range []string{"1s", "2s", "5s", "10s", "30s", "1m", "5m", "1h"} {
		l.buffers.stations = append(l.buffers.stations, queueStation("mail.delay."+d, d, "12 ready"))
	}

	dead := lane{
		buffers: group{
			stations: []Station{queueStation("lost.buffer", "delayed 5s", "3 ready")},
			out:      Arrow{id: "out3", label: "expired"},
		},
		exchange: exchangeStation("gone.exchange", ""),
		dead:     "the exchange gone.exchange does not exist: what expires is lost", deadAt: true,
	}

	p.lanes = []lane{dead, l, p.lanes[0]}
	p.retries[0].lane = 2
	p.failed.stations = append(p.failed.stations, queueStation("ucenter@user@parked", "3 ready"))
	p.failed.heading = "2 failed queues"
	return p
}

func loopPicture() *Picture {
	p := delayedPicture()
	p.lanes[0].loop = true
	return p
}

func requeuePicture() *Picture {
	p := pubsubPicture()
	p.worker = queueStation("ucenter@user", "40 ready, 1 unacked", "1 consumer", "24.0/s redelivered")
	p.back = true
	return p
}

func TestPictureLayouts(t *testing.T) {
	for name, p := range map[string]*Picture{
		"delayed": delayedPicture(), "pubsub": pubsubPicture(),
		"many": manyPicture(), "loop": loopPicture(), "requeue": requeuePicture(),
	} {
		for _, width := range []int{120, 100, 80} {
			t.Run(fmt.Sprintf("%s-%d", name, width), func(t *testing.T) {
				cursor := p.Stations()[0].Queue
				s := RailLayout(p, width, cursor)
				checkScene(t, s, p, width)
				text := textOf(s)
				if wide, ok := WideLayout(p, width, cursor); ok {
					checkScene(t, wide, p, width)
					text += "\n\n" + textOf(wide)
				}

				golden.RequireEqual(t, text+"\n")
			})
		}
	}
}

// checkScene checks what holds for every picture: lines are as wide as the canvas, queues are on it, and dots have
// somewhere to run.
func checkScene(t *testing.T, s *Scene, p *Picture, width int) {
	t.Helper()
	for y, line := range s.Canvas.Render(0, s.Canvas.Height) {
		assert.Equal(t, ansi.StringWidthWc(line), width, "row %d", y)
	}
	for queue, y := range s.Rows {
		assert.That(t, y >= 0 && y < s.Canvas.Height, "%s is on row %d of %d", queue, y, s.Canvas.Height)
	}

	drawn := map[string]bool{}
	for _, path := range s.Paths {
		drawn[path.arrow.id] = true
		for _, c := range path.cells {
			assert.That(t, s.Canvas.Inside(c.X, c.Y), "arrow %q runs out of the picture at %v", path.arrow.id, c)
		}
	}

	for _, a := range p.Arrows() {
		assert.That(t, !a.moving() || a.id == "enters" || drawn[a.id], "something moves along %q, and it is not drawn", a.id)
	}
}

func BenchmarkFlowFrame(b *testing.B) {
	p := manyPicture()
	s, _ := WideLayout(p, 120, build.Ref("work"))
	d := Dots{}
	for b.Loop() {
		d = d.Step(s.Paths)
		d.Draw(s).Render(0, s.Canvas.Height)
	}
}

// textOf returns a scene without its colours.
func textOf(s *Scene) string {
	lines := s.Canvas.Render(0, s.Canvas.Height)
	return ansi.Strip(strings.Join(lines, "\n"))
}

func TestDotsAreAsManyAsMessages(t *testing.T) {
	cells := make([]term.Point, 1000)
	for _, test := range []struct {
		rate float64
		want int // dots after ten seconds
	}{{0, 0}, {0.2, 2}, {1, 10}, {2.5, 25}, {8, 80}, {500, 80}} {
		paths := []path{{arrow: Arrow{id: "a", rate: model.Some(test.rate)}, cells: cells}}
		d := Dots{}
		for range 10 * int(dotsPerSecond) {
			d = d.Step(paths)
		}
		assert.Equal(t, len(d["a"].at), test.want, "%v messages a second", test.rate)
	}
}

func TestDotsRunOutWhenNothingMoves(t *testing.T) {
	moving := []path{{arrow: Arrow{id: "a", rate: model.Some(4.0)}, cells: make([]term.Point, 10)}}
	still := []path{{arrow: Arrow{id: "a", rate: model.Some(0.0)}, cells: make([]term.Point, 10)}}
	d := Dots{}
	for range 20 {
		d = d.Step(moving)
	}

	must.That(t, d.Moving(still), "dots vanished before they arrived")
	for range 10 {
		d = d.Step(still)
	}

	assert.That(t, !d.Moving(still), "still moving after the last dot arrived: %v", d)
	assert.That(t, !(Dots{}).Moving([]path{{arrow: Arrow{id: "b"}, cells: make([]term.Point, 3)}}),
		"an unknown rate moves something")
}
