package ui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"dlxtop/model"
)

func ref(name string) model.QueueRef { return model.QueueRef{VHost: "/", Name: name} }

func queueStation(name string, facts ...string) station {
	s := station{queue: ref(name), name: name, tone: toneStrong}
	for _, f := range facts {
		s.facts = append(s.facts, spans{{f, toneText}})
		s.short = append(s.short, span{f, toneText})
	}
	return s
}

func exchangeStation(name, kind string) station {
	return station{name: name, facts: []spans{{{kind, toneMuted}}}, short: spans{{kind, toneMuted}}, tone: toneText}
}

func delayedPicture() *picture {
	return &picture{
		lanes: []lane{{
			entrance: exchangeStation("out.exchange", "direct"),
			buffers: group{
				stations: []station{queueStation("buffer-queue", "delayed, TTL per message", "5 ready  ▁▃▅▇▅▃", "head due in 3.2s")},
				in:       arrow{id: "in", rate: model.Some(1.0)}, out: arrow{id: "out", label: "expired", rate: model.Some(2.1)},
			},
			exchange: exchangeStation("dlx.exchange", "direct"),
			out:      arrow{id: "on", rate: model.Some(2.1)},
		}},
		worker: queueStation("worker-queue", "0 ready", "1 consumer", "12.0/s acked"),
		failed: group{stations: []station{queueStation("worker-queue.failed", "47 ready", "no consumers")}, in: arrow{id: "failed", label: "rejected", rate: model.Some(0.2)}},
	}
}

func pubsubPicture() *picture {
	return &picture{
		lanes: []lane{{
			exchange: exchangeStation("master", "topic"),
			enters:   arrow{id: "enters", rate: model.Some(38.2)},
			out:      arrow{id: "on", label: "user.*", rate: model.Some(38.2)},
		}},
		worker:  queueStation("ucenter@user", "12 ready, 3 unacked", "3 consumers", "38.2/s acked"),
		retries: []group{{stations: []station{queueStation("ucenter@user@retry", "retry 30s (argument)", "1,204 ready", "head due in ≤ 2s")}, in: arrow{id: "r", label: "via master.retry", rate: model.Some(0.4)}, out: arrow{id: "b", label: "expired", rate: model.Some(0.4)}}},
		failed:  group{stations: []station{queueStation("ucenter@user@failed", "47 ready", "no consumers")}, in: arrow{id: "failed", label: "via master.failed"}},
	}
}

func manyPicture() *picture {
	p := pubsubPicture()
	l := lane{
		buffers:  group{heading: "8 delayed buffers", in: arrow{id: "in2"}, out: arrow{id: "out2", label: "expired", rate: model.Some(12.0)}},
		exchange: exchangeStation("RetryExchange", "fanout"), out: arrow{id: "on2", rate: model.Some(12.0)},
	}
	for _, d := range []string{"1s", "2s", "5s", "10s", "30s", "1m", "5m", "1h"} {
		l.buffers.stations = append(l.buffers.stations, queueStation("mail.delay."+d, d, "12 ready"))
	}
	dead := lane{
		buffers:  group{stations: []station{queueStation("lost.buffer", "delayed 5s", "3 ready")}, out: arrow{id: "out3", label: "expired"}},
		exchange: exchangeStation("gone.exchange", ""), dead: "the exchange gone.exchange does not exist: what expires is lost", deadAt: true,
	}
	p.lanes = []lane{dead, l, p.lanes[0]}
	p.retries[0].lane = 2
	p.failed.stations = append(p.failed.stations, queueStation("ucenter@user@parked", "3 ready"))
	p.failed.heading = "2 failed queues"
	return p
}

func loopPicture() *picture {
	p := delayedPicture()
	p.lanes[0].loop = true
	return p
}

func TestPictureLayouts(t *testing.T) {
	for name, p := range map[string]*picture{"delayed": delayedPicture(), "pubsub": pubsubPicture(), "many": manyPicture(), "loop": loopPicture()} {
		for _, width := range []int{120, 100, 80} {
			t.Run(fmt.Sprintf("%s-%d", name, width), func(t *testing.T) {
				cursor := p.stations()[0].queue
				s := railLayout(p, width, cursor)
				checkScene(t, s, p, width)
				text := ansi.Strip(strings.Join(s.canvas.render(newStyles(true), 0, s.canvas.height), "\n"))
				if wide, ok := wideLayout(p, width, cursor); ok {
					checkScene(t, wide, p, width)
					text += "\n\n" + ansi.Strip(strings.Join(wide.canvas.render(newStyles(true), 0, wide.canvas.height), "\n"))
				}
				golden.RequireEqual(t, text+"\n")
			})
		}
	}
}

// checkScene checks what holds for every picture: lines are as wide as the canvas, queues stand on it, and dots have somewhere to run.
func checkScene(t *testing.T, s *scene, p *picture, width int) {
	t.Helper()
	for y, line := range s.canvas.render(newStyles(true), 0, s.canvas.height) {
		if got := ansi.StringWidth(line); got != width {
			t.Errorf("row %d is %d cells wide, want %d", y, got, width)
		}
	}
	for queue, y := range s.rows {
		if y < 0 || y >= s.canvas.height {
			t.Errorf("%s is on row %d of %d", queue, y, s.canvas.height)
		}
	}
	drawn := map[string]bool{}
	for _, path := range s.paths {
		drawn[path.arrow.id] = true
		for _, c := range path.cells {
			if !s.canvas.inside(c.x, c.y) {
				t.Errorf("arrow %q runs out of the picture at %v", path.arrow.id, c)
			}
		}
	}
	for _, a := range p.arrows() {
		if a.moving() && a.id != "enters" && !drawn[a.id] {
			t.Errorf("something moves along %q, and it is not drawn", a.id)
		}
	}
}

func BenchmarkFlowFrame(b *testing.B) {
	p := manyPicture()
	s, _ := wideLayout(p, 120, ref("work"))
	d, styles := dots{}, newStyles(true)
	for b.Loop() {
		d = d.step(s.paths)
		d.draw(s).render(styles, 0, s.canvas.height)
	}
}
