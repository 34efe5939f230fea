package plan

import (
	"encoding/json"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
)

// "None came back" is said only when nothing that came later can be one of them, and nothing can have left unseen.
func TestNoneCameBackIsSaidOnlyWhenThatIsKnown(t *testing.T) {
	type sequel struct {
		Back, Came int64
		Read       bool
		Leaves     Leaving
		Want       string
		Worked     bool
	}

	for _, test := range must.Cases[sequel](t, "testdata/sequels.toml") {
		s := Sequel{Sent: 10, Taken: 10, Back: test.Back, Came: test.Came, Read: test.Read, Leaves: test.Leaves, Over: true}
		assert.Equal(t, s.Short(), test.Want, "%+v", test)
		assert.Equal(t, s.Worked(), test.Worked, "worked: %+v", test)
	}
}

// Version 1.0.0 counted what came back from after the replay: its "none" says nothing.
func TestSequelOfVersion1IsReadAsWhatItKnew(t *testing.T) {
	for text, want := range map[string]string{
		`{"Sent":10,"Taken":10,"Back":0,"Grown":true,"Over":true}`:  "unknown whether some came back",
		`{"Sent":10,"Taken":10,"Back":4,"Grown":true,"Over":true}`:  "unknown how many came back (4 came later)",
		`{"Sent":10,"Taken":10,"Back":4,"Grown":false,"Over":true}`: "4 came back",
	} {
		var s Sequel
		must.Do(t, json.Unmarshal([]byte(text), &s))
		assert.Equal(t, s.Short(), want, "%s", text)
	}

	s := Sequel{Sent: 3, Taken: 3, Came: 2, Leaves: AnyLeave, Acked: build.Some(1), Held: 1}
	var again Sequel
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(s))(t), &again))
	assert.Equal(t, again, s, "written and read again")
}

// What comes back is counted from before the first publish, and what may leave the queue meanwhile is known.
func TestBaselineOfWhatCameBack(t *testing.T) {
	resumed := Resuming{Record: 1, Left: 22, Gone: 8, Moved: 7, Acks: make([]Arrived, 2), Found: map[int64][]Settled{
		1: {{1, Moved, ""}, {2, Unsure, ""}, {3, Unsure, ""}, {4, Unsure, ""}},
	}}

	for _, test := range must.Cases[struct {
		Name, Settings       string
		Resumes              bool
		Account              Account
		Sent, Unsure, Before int64
		Leaves               Leaving
	}](t, "testdata/baselines.toml") {
		topology := build.Described("", "queue w\nqueue failed "+test.Settings)
		p := Plan{Operation: Replay, From: build.Ref("failed"), Recipients: []Recipient{{Queue: build.Ref("w")}}}
		test.Account.Mark = "M"

		run := p.On(topology)
		if test.Resumes {
			run.Resuming = &resumed
		}

		f, ok := run.Follow(topology, &test.Account)
		assert.That(t, ok, "%s: it is not followed", test.Name)
		assert.Equal(t, f.Sent, test.Sent, "%s: sent", test.Name)
		assert.Equal(t, f.Unsure, test.Unsure, "%s: unsure", test.Name)
		assert.Equal(t, f.Before, test.Before, "%s: before", test.Name)
		assert.Equal(t, f.Leaves, test.Leaves, "%s: leaves", test.Name)
	}
}
