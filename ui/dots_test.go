package ui

import (
	"testing"

	"dlxtop/model"
)

func TestDotsAreAsManyAsMessages(t *testing.T) {
	cells := make([]point, 1000)
	for _, test := range []struct {
		rate float64
		want int // dots after ten seconds
	}{{0, 0}, {0.2, 2}, {1, 10}, {2.5, 25}, {8, 80}, {500, 80}} {
		paths := []path{{arrow: arrow{id: "a", rate: model.Some(test.rate)}, cells: cells}}
		d := dots{}
		for range 10 * int(dotsPerSecond) {
			d = d.step(paths)
		}
		if got := len(d["a"].at); got != test.want {
			t.Errorf("%v messages a second: %d dots after 10 s, want %d", test.rate, got, test.want)
		}
	}
}

func TestDotsRunOutWhenNothingMoves(t *testing.T) {
	moving := []path{{arrow: arrow{id: "a", rate: model.Some(4.0)}, cells: make([]point, 10)}}
	still := []path{{arrow: arrow{id: "a", rate: model.Some(0.0)}, cells: make([]point, 10)}}
	d := dots{}
	for range 20 {
		d = d.step(moving)
	}
	if !d.moving(still) {
		t.Fatal("dots vanished before they arrived")
	}
	for range 10 {
		d = d.step(still)
	}
	if d.moving(still) {
		t.Errorf("still moving after the last dot arrived: %v", d)
	}
	if (dots{}).moving([]path{{arrow: arrow{id: "b"}, cells: make([]point, 3)}}) {
		t.Error("an unknown rate moves something")
	}
}
