package plan

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

// A killed program's messages come back a moment after its connection is gone: before they are, nothing is looked at.
func TestIsBack(t *testing.T) {
	ref := func(name string) model.QueueRef { return model.QueueRef{VHost: "/", Name: name} }
	for name, test := range map[string]struct {
		operation           Operation
		moved, entries      int
		from, to, consumers int64
		back                bool
	}{
		"all but what was dropped":                 {Drop, 250, 250, 750, 0, 0, true},
		"some are still held":                      {Drop, 250, 250, 500, 0, 0, false},
		"some may be gone":                         {Drop, 250, 750, 250, 0, 0, true},
		"moved, and the rest is there":             {Move, 250, 250, 750, 250, 0, true},
		"moved, and some are still held":           {Move, 250, 250, 500, 250, 0, false},
		"uncertain ones are there or here":         {Replay, 250, 750, 400, 600, 0, true},
		"uncertain ones are still held":            {Replay, 250, 750, 300, 600, 0, false},
		"consumers take what came to the target":   {Replay, 250, 750, 300, 0, 1, true},
		"they take none of what was not published": {Replay, 250, 750, 200, 0, 1, false},
		"an undo takes nothing out":                {Undo, 0, 0, 0, 0, 0, true},
	} {
		r := Record{
			Operation: test.operation, Entries: test.entries,
			Account: Account{Moved: test.moved},
			Intent: &Intent{
				Source: ref("failed"), Depth: 1000,
				Recipients: []Recipient{{Queue: ref("worker")}},
			},
		}
		got := r.IsBack(map[model.QueueRef]model.QueueCounts{
			ref("failed"): {Ready: model.Some(test.from), Consumers: model.Some[int64](0)},
			ref("worker"): {Ready: model.Some(test.to), Consumers: model.Some(test.consumers)},
		})
		assert.Equal(t, got, test.back, "%s", name)
	}
}
