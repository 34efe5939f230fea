package model_test

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

func levelRefs(names ...string) (refs []model.QueueRef) {
	for _, name := range names {
		refs = append(refs, model.QueueRef{VHost: "/", Name: name})
	}
	return refs
}

func TestShortName(t *testing.T) {
	for _, c := range []struct {
		levels []string
		want   string
	}{
		{[]string{"celery_delayed_0", "celery_delayed_1", "celery_delayed_27"}, "celery_delayed_0…27"},
		{[]string{"nsb.v2.delay-level-00", "nsb.v2.delay-level-27"}, "nsb.v2.delay-level-00…27"},
		{[]string{"level-1", "level-10"}, "level-1…10"},
		{[]string{"s", "p"}, "s…p"},
		{[]string{"ä", "ö"}, "ä…ö"},
		{[]string{"a", "ab"}, "a…b"},
	} {
		b := model.Buffer{Levels: levelRefs(c.levels...)}
		assert.Equal(t, b.ShortName(), c.want, "%v", c.levels)
		if entrance, ok := b.Entrance(); !ok || entrance.Name != c.levels[len(c.levels)-1] {
			t.Errorf("%v: what comes in comes into %s", c.levels, entrance)
		}
	}
	one := model.Buffer{Member: model.Member{Queue: model.QueueRef{VHost: "/", Name: "wait"}}}
	if entrance, ok := one.Entrance(); one.ShortName() != "wait" || !ok || entrance != one.Queue {
		t.Errorf("one queue: %s, %s", one.ShortName(), entrance)
	}
	if _, ok := (&model.Buffer{InExchange: "later"}).Entrance(); ok {
		t.Error("an exchange that delays has a queue")
	}
}

// What goes from level to level is neither in what comes into a buffer nor in what leaves it.
func TestMovesOfLevels(t *testing.T) {
	rates := func(in, out, sent float64) model.Movement {
		return model.Movement{In: model.Some(in), Out: model.Some(out), New: model.Some(sent)}
	}
	refs := levelRefs("l0", "l1", "l2")
	levels := &model.Buffer{Member: model.Member{Queue: refs[0]}, Levels: refs}
	for _, c := range []struct {
		name    string
		moves   []model.Movement
		in, out model.Opt[float64]
	}{
		{"nothing is known", nil, model.Opt[float64]{}, model.Opt[float64]{}},
		{"nothing moves", []model.Movement{rates(0, 0, 0)}, model.Some(0.0), model.Some(0.0)},
		{
			"as much comes as goes, by all levels",
			[]model.Movement{rates(9, 9, 1), rates(9, 9, 3), rates(5, 5, 5)},
			model.Some(9.0), model.Some(9.0),
		},
		{"only from level to level", []model.Movement{rates(4, 1, 0), rates(0, 3, 0)}, model.Some(0.0), model.Some(0.0)},
		{"they only grow", []model.Movement{rates(1, 0, 1), rates(2, 0, 2)}, model.Some(3.0), model.Some(0.0)},
		{"they only leave", []model.Movement{rates(2, 4, 0), rates(0, 2, 0)}, model.Some(0.0), model.Some(4.0)},
		{"no publisher says that it fills them", []model.Movement{rates(3, 1, 0)}, model.Some(2.0), model.Some(0.0)},
	} {
		moves := model.Moves{}
		for i, m := range c.moves {
			moves[refs[i]] = m
		}
		got := moves.Of(levels)
		assert.That(t, got.In == c.in && got.Out == c.out, "%s: %v in, %v out", c.name, got.In, got.Out)
	}
	one := model.Moves{refs[0]: rates(3, 2, 1)}
	assert.Equal(t, one.Of(&model.Buffer{Member: model.Member{Queue: refs[0]}}), rates(3, 2, 1), "of one queue")
}
