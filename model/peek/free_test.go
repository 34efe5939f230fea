package peek

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// The policy that lifts a delivery limit repeats what the present one says, and comes before it. There is none where no
// policy helps.
func TestFreeing(t *testing.T) {
	const begin = "rabbitmqctl set_policy -p '/' --apply-to quorum_queues --priority "
	ttl := model.Table{"message-ttl": int64(1000), "dead-letter-exchange": "a<b"}
	under := func(name string) build.Setting { return build.Policy(name, ttl) }
	operator := func(q *model.Queue) { q.OperatorPolicy = "ops" }
	limiting := func(s *model.Snapshot) {
		s.Policies = append(s.Policies, model.Policy{
			VHost: "/", Name: "ops", Operator: true, Definition: model.Table{"delivery-limit": int64(20)},
		})
	}

	argument := "its delivery limit 20 is an argument, which no policy lifts"
	for _, c := range []struct {
		name, version string
		queues        []string
		parts         []build.Part
		commands      []string
		whys          []string
	}{
		{
			"default limit", "4.0.5",
			[]string{"a.failed", "b"},
			[]build.Part{build.Text(`
				quorum a.failed
				quorum b
			`)},
			[]string{begin + `0 free-looks '^(a\.failed|b)$' '{"delivery-limit":-1}'`},
			[]string{""},
		},
		{
			"a policy of its own", "4.0.5",
			[]string{"a", "b"},

			[]build.Part{
				build.Quorum("a", under("free-looks")), build.Quorum("b"), build.UserPolicy("free-looks", "^a$", 7, ttl),
			},
			[]string{
				begin + `8 free-looks-2 '^(a)$' '{"dead-letter-exchange":"a<b","delivery-limit":-1,"message-ttl":1000}'`,
				begin + `0 free-looks-3 '^(b)$' '{"delivery-limit":-1}'`,
			},
			[]string{"", ""},
		},
		{
			"a policy that is not known", "4.0.5",
			[]string{"a"},
			[]build.Part{build.Quorum("a", under("p"))},
			[]string{""},
			[]string{"what its policy p says is unknown here, and a second one would replace it"},
		},
		{
			"an argument", "4.0.5",
			[]string{"a"},
			[]build.Part{build.Text("quorum a delivery-limit=20")},

			[]string{""},
			[]string{argument},
		},
		{
			"an operator policy", "4.0.5",
			[]string{"a"},
			[]build.Part{build.Quorum("a", operator), limiting},
			[]string{""},
			[]string{"operator policy ops sets its delivery limit, and no other policy lifts that"},
		},
		{
			"a name for the shell", "4.0.5",
			[]string{"a'b"},
			[]build.Part{build.Quorum("a'b")},
			[]string{begin + `0 free-looks '^(a'\''b)$' '{"delivery-limit":-1}'`},
			[]string{""},
		},
		{
			"a name that cannot be typed", "4.0.5",

			[]string{"a\nb"},
			[]build.Part{build.Quorum("a\nb")},
			[]string{""},
			[]string{"its name cannot be typed"},
		},
		{"free already", "4.0.5", []string{"a"}, []build.Part{build.Text("quorum a delivery-limit=-1")}, nil, nil},
		{"classic", "4.0.5", []string{"a"}, []build.Part{build.Queue("a")}, nil, nil},
		{
			"3.x, where it drops messages", "3.13.7",
			[]string{"a"},
			[]build.Part{build.Text("quorum a delivery-limit=20")},
			nil, nil,
		},
		{"4.3, where returns do not count", "4.3.6", []string{"a"}, []build.Part{build.Quorum("a")}, nil, nil},
	} {
		var commands, whys []string
		for _, f := range Freeing(build.TopologyOf(c.version, c.parts...), build.Refs(c.queues...)) {
			commands = append(commands, f.Command)
			whys = append(whys, f.Why)
		}

		assert.List(t, commands, c.commands, c.name)
		assert.List(t, whys, c.whys, c.name)
	}
}

// Whether a queue may still have what was read of it.
func TestMayHold(t *testing.T) {
	read := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		name      string
		ready     int64
		consumers model.Opt[int64]
		after     time.Duration // of the look, in which the queue was counted
		may       bool
	}{
		{"as then", 5, build.Some(0), time.Minute, true},
		{"more came", 9, build.Some(0), time.Minute, true},
		{"fewer are left", 4, build.Some(0), time.Minute, false},
		{"fewer, counted during the look", 0, build.Some(0), time.Second, true},
		{"consumers", 5, build.Some(1), time.Minute, false},
		{"the look's own consumer", 5, build.Some(1), time.Second, true},
		{"consumers unknown", 5, model.Opt[int64]{}, time.Minute, false},
	} {
		p := Peeked{TakenAt: read, Depth: build.Some(5)}
		q := model.Queue{Ready: model.Some(c.ready), Consumers: c.consumers, CountedAt: read.Add(c.after)}
		assert.Equal(t, p.MayHold(&q), c.may, c.name)
	}
}
