package picture

import (
	"testing"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

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
		if got := len(d["a"].at); got != test.want {
			t.Errorf("%v messages a second: %d dots after 10 s, want %d", test.rate, got, test.want)
		}
	}
}

func TestDotsRunOutWhenNothingMoves(t *testing.T) {
	moving := []path{{arrow: Arrow{id: "a", rate: model.Some(4.0)}, cells: make([]term.Point, 10)}}
	still := []path{{arrow: Arrow{id: "a", rate: model.Some(0.0)}, cells: make([]term.Point, 10)}}
	d := Dots{}
	for range 20 {
		d = d.Step(moving)
	}
	if !d.Moving(still) {
		t.Fatal("dots vanished before they arrived")
	}
	for range 10 {
		d = d.Step(still)
	}
	if d.Moving(still) {
		t.Errorf("still moving after the last dot arrived: %v", d)
	}
	if (Dots{}).Moving([]path{{arrow: Arrow{id: "b"}, cells: make([]term.Point, 3)}}) {
		t.Error("an unknown rate moves something")
	}
}
