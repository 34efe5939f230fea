package alarm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/alarm"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/model/story"
)

func TestDecide(t *testing.T) {
	for _, c := range must.Cases[struct{ Name, For, Polls, Want string }](t, "testdata/decides.toml") {
		wait, _ := time.ParseDuration(c.For)
		rule := must.Get(alarm.NewRule("failed > 0", "", wait))(t)
		at, elapsed := time.Unix(1_800_000_000, 0), time.Duration(0)
		state, told, poll := &alarm.State{}, []string{}, 0
		for _, step := range strings.Fields(c.Polls) {
			switch step {
			case "R":
				text := must.Get(json.Marshal(state))(t)
				state, elapsed = &alarm.State{}, 0
				must.Do(t, json.Unmarshal(text, state))
				continue
			case "J":
				at = at.Add(24 * time.Hour)
				continue
			}

			things := alarm.Things{Unsure: step == "!"}
			values := map[string]map[string]any{"y": {"failed": 1}, "n": {"failed": 0}, "?": {}}
			if known, there := values[step]; there {
				things.Facts = []alarm.Thing{{Key: "q", Subject: "q", Values: known}}
			}
			_, err := state.Decide(&rule, "broker", at, elapsed, things)
			must.Do(t, err)
			must.Do(t, state.Deliver(func(e *alarm.Event) error {
				told = append(told, fmt.Sprint(map[string]string{"begins": "+", "ends": "-"}[e.Event], poll))
				return nil
			}))
			at, elapsed, poll = at.Add(10*time.Second), 10*time.Second, poll+1
		}
		assert.Equal(t, strings.Join(told, " "), c.Want, "%s", c.Name)
	}
}

func TestRuleMistakes(t *testing.T) {
	for _, c := range must.Cases[struct{ Rule, Per, Want string }](t, "testdata/mistakes.toml") {
		_, err := alarm.NewRule(c.Rule, alarm.Per(c.Per), 0)
		assert.Fails(t, err, c.Want, "%s", c.Rule)
	}
}

// An event that is refused is tried again, and only those of its own alarm wait for it.
func TestDeliverAgain(t *testing.T) {
	state := &alarm.State{Undelivered: []*alarm.Event{
		{Alarm: "a", Event: "begins"}, {Alarm: "b", Event: "begins"}, {Alarm: "a", Event: "ends"},
	}}
	var sent []string
	for try := range 4 {
		_ = state.Deliver(func(e *alarm.Event) error {
			if e.Alarm == "a" && try < 2 {
				return fmt.Errorf("refused")
			}
			sent = append(sent, fmt.Sprint(e.Alarm, e.Event, try))
			return nil
		})
	}
	assert.Equal(t, strings.Join(sent, " "), "bbegins0 abegins3 aends3")
}

func TestFacts(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	snapshot := build.Broker("4.3.6", build.Text(`
		queue w consumers=1 dlx= key=w.failed
		queue w.failed ready=4
		queue w.retry dlx= key=w ttl=30000 ready=2
		queue lost.dlq ready=1
	`))
	poll := polls.Poll{}.Next(snapshot, func(t *model.Topology) *model.Topology { return t })
	groups, history := cause.NewGroups(), polls.NewHistory()
	groups.Add(build.Ref("w.failed"), &message.Message{
		Headers: model.Table{"x-exception-type": "E", "x-exception-message": "boom"},
		Deaths:  []message.Death{{Queue: "w", Reason: model.Rejected, Count: 1, Time: now.Add(-20 * time.Minute)}},
	})
	history.Record(now, poll.Topology, poll.Topology.Flows(), nil)

	seen := &alarm.Seen{
		Poll: poll, Now: now, Causes: groups.List(), Oldest: groups.Oldest, Heads: &polls.Seen{
			Topology: poll.Topology, History: history, Looks: func(model.QueueRef) *story.Waits { return nil },
		},
	}
	for _, c := range must.Cases[struct{ Rule, Per, Want string }](t, "testdata/facts.toml") {
		rule := must.Get(alarm.NewRule(c.Rule, alarm.Per(c.Per), 0))(t)
		state := &alarm.State{}
		_, err := state.Decide(&rule, "broker", now, 0, seen.Things(rule.Per))
		must.Do(t, err)
		var subjects []string
		for _, e := range state.Firing() {
			subjects = append(subjects, e.Subject)
		}
		assert.Equal(t, strings.Join(subjects, " "), c.Want, "%s", c.Rule)
	}
}
