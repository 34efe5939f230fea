package picture

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
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
