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
	for _, test := range []struct {
		name     string
		settings string
		resuming *Resuming
		account  Account
		sent     int64
		unsure   int64
		before   int64
		leaves   Leaving
	}{
		{name: "all of it", account: Account{Depth: 30, Moved: 30}, sent: 30},
		{name: "a part", account: Account{Depth: 30, Moved: 10, Refused: 2}, sent: 10, before: 20},
		{
			name: "what may have left has left", account: Account{Depth: 30, Moved: 10, Gone: 3, Unknown: 4},
			sent: 10, unsure: 4, before: 13,
		},
		{
			name: "a resume counts from before the first record", account: Account{Depth: 45, Moved: 10},
			resuming: &Resuming{Record: 1, Left: 22, Gone: 8, Moved: 7, Acks: make([]Arrived, 2), Found: map[int64][]Settled{
				1: {{1, Moved, ""}, {2, Unsure, ""}, {3, Unsure, ""}, {4, Unsure, ""}},
			}}, sent: 19, unsure: 1, before: 10,
		},

		{
			name: "old messages expire", settings: "ttl=86400000",
			account: Account{Depth: 30, Moved: 10}, sent: 10, before: 20, leaves: OldLeave,
		},
		{
			name: "none is old enough", settings: "ttl=86400000",
			account: Account{Depth: 30, Moved: 30}, sent: 30,
		},
		{
			name: "what comes back expires", settings: "ttl=5000",
			account: Account{Depth: 30, Moved: 30}, sent: 30, leaves: AnyLeave,
		},
		{
			name: "a limit drops the oldest", settings: "max-length=40",
			account: Account{Depth: 30, Moved: 30}, sent: 30, leaves: OldLeave,
		},
		{
			name: "a limit refuses", settings: "max-length=40 x-overflow=reject-publish",
			account: Account{Depth: 30, Moved: 30}, sent: 30,
		},
	} {
		topology := build.TopologyOf("", build.Text("queue w\nqueue failed "+test.settings))
		p := Plan{Operation: Replay, From: build.Ref("failed"), Recipients: []Recipient{{Queue: build.Ref("w")}}}
		test.account.Mark = "M"

		run := p.On(topology)
		run.Resuming = test.resuming
		f, ok := run.Follow(topology, &test.account)
		assert.That(t, ok, "%s: it is not followed", test.name)
		assert.Equal(t, f.Sent, test.sent, "%s: sent", test.name)
		assert.Equal(t, f.Unsure, test.unsure, "%s: unsure", test.name)
		assert.Equal(t, f.Before, test.before, "%s: before", test.name)
		assert.Equal(t, f.Leaves, test.leaves, "%s: leaves", test.name)
	}
}
