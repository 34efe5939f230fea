package peek

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// What may be looked at without being asked for, and what may not.
func TestWhatMayBeLookedAtWithoutBeingAsked(t *testing.T) {
	limit := model.Settings{DeliveryLimit: model.Setting[int64]{
		Value: 50, Set: true, Source: model.Source{Kind: model.FromArgument},
	}}
	full := model.Settings{MaxLength: model.Setting[int64]{Value: 9, Set: true}}
	lease := model.Settings{Expires: model.Setting[time.Duration]{Value: time.Hour, Set: true}}
	none := model.Some[int64](0)
	for _, c := range []struct {
		name, version string
		queue         model.Queue
		settings      model.Settings
		free          bool
	}{
		{"classic", "3.10.8", model.Queue{Type: model.Classic, Consumers: none}, model.Settings{}, true},
		{
			"classic beside consumers", "4.0.5",
			model.Queue{Type: model.Classic, Consumers: model.Some[int64](2)},
			model.Settings{},
			true,
		},
		{"classic that drops its oldest", "4.0.5", model.Queue{Type: model.Classic, Consumers: none}, full, false},
		{"classic that is deleted when unused", "4.0.5", model.Queue{Type: model.Classic, Consumers: none}, lease, false},
		{"stream", "4.0.5", model.Queue{Type: model.Stream}, model.Settings{}, true},
		{"quorum before 4.0", "3.10.8", model.Queue{Type: model.Quorum, Consumers: none}, model.Settings{}, false},
		{"quorum 4.0", "4.0.5", model.Queue{Type: model.Quorum, Consumers: none}, model.Settings{}, false},
		{"quorum 4.2 with a limit", "4.2.1", model.Queue{Type: model.Quorum, Consumers: none}, limit, false},
		{"quorum 4.3", "4.3.6", model.Queue{Type: model.Quorum, Consumers: none}, limit, true},
		{
			"quorum 4.3, single active consumer", "4.3.6",
			model.Queue{Type: model.Quorum, Consumers: none, SingleActive: true},
			model.Settings{},
			false,
		},
		{"quorum, unknown version", "?", model.Queue{Type: model.Quorum, Consumers: none}, model.Settings{}, false},
		{"unknown type", "4.0.5", model.Queue{Type: "odd", Consumers: none}, model.Settings{}, false},
		{"refused", "4.0.5", model.Queue{Type: model.Classic, OwnedByAnother: true}, model.Settings{}, false},
	} {
		c.queue.QueueRef = build.Ref("q")
		b := model.BehaviourOf(model.ParseVersion(c.version))
		p := OfQueue(&c.queue, c.settings, b, Want{})
		assert.That(t, p.Free == c.free, "%s: free is %v: %s", c.name, p.Free, p.Cost)
	}
}
