package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

func TestAccount(t *testing.T) {
	a := Account{Operation: Replay, Planned: 2*MaxProblems + 3}
	m := &message.Message{Properties: message.Properties{MessageID: "id"}, Fingerprint: message.Fingerprint{1}}
	a.Add(Moved, m, "")
	a.Add(Dropped, m, "")
	a.Add(Unsure, m, "the connection went")
	for range MaxProblems {
		a.Add(Refused, m, "full")
		a.Add(Returned, m, "no queue")
	}

	assert.Equal(t, a.Done(), a.Planned)
	assert.That(t, !a.Complete(), "%d done, complete %v", a.Done(), a.Complete())
	assert.Equal(t, a.Moved, 1)
	assert.Equal(t, a.Dropped, 1)
	assert.Equal(t, a.Unknown, 1)
	assert.Equal(t, a.Refused, MaxProblems)
	assert.Equal(t, a.Returned, MaxProblems)
	must.Equal(t, len(a.Problems), MaxProblems, "%d problems, first %+v", len(a.Problems), a.Problems[0])
	assert.Equal(t, a.Problems[0], Problem{"id", message.Fingerprint{1}, Unsure, "the connection went"})
	done := Account{Planned: 3, Moved: 3}
	stopped := Account{Planned: 3, Moved: 3, Stopped: "on request"}
	assert.That(t, done.Complete(), "complete is: all done, and not stopped")
	assert.That(t, !stopped.Complete(), "complete is: all done, and not stopped")
	done.Rescued.Copied = 1
	assert.That(t, done.Complete(), "what it did not act on is in its queue")
	done.Rescued.Kept = 1
	assert.That(t, !done.Complete(), "what it did not act on is in the journal only")
}

// warned returns warnings as sentences.
func warned(warnings []Warning) []string {
	words := make([]string, len(warnings))
	for i, w := range warnings {
		words[i] = w.Words()
	}
	return words
}

// A nack does not always refuse: a classic queue out of the nacking node's reach may have the message.
func TestNackRefuses(t *testing.T) {
	for _, test := range must.Cases[struct {
		Name, At string
		Kind     model.QueueType
		Nodes    []string // nil: the user may not read them
		Want     bool
	}](t, "testdata/nacks.toml") {
		topology := build.Described("4.3.6", "queue full max-length=1 x-overflow=reject-publish")
		s := topology.Snapshot
		s.Overview.Node, s.Queues[0].Node, s.Queues[0].Type = "a", test.At, test.Kind
		for _, name := range test.Nodes {
			s.Nodes = append(s.Nodes, model.Node{Name: name})
		}
		r := RecipientOf(model.NewTopology(s), build.Ref("full"))
		assert.Equal(t, NackRefuses([]Recipient{r}, []model.QueueRef{r.Queue}), test.Want, "%s", test.Name)
	}
}

// warnedOf returns the warnings, one per line.
func warnedOf(warnings []Warning) string { return strings.Join(warned(warnings), "\n") }

// replayOf returns a replay of messages of a queue, to a target as typed.
func replayOf(from, to string, sample ...message.Message) ActionWant {
	mode, fixed, err := target.Parse(to, model.Unknown[string]())
	if err != nil {
		panic(err)
	}

	return ActionWant{
		Operation: Replay, From: build.Ref(from), Sample: message.MessageList(sample), Planned: len(sample), Mode: mode,
		Fixed: fixed, Journaled: true,
	}
}

// moveOf returns a move of messages of a queue to another one.
func moveOf(from, to string, sample ...message.Message) ActionWant {
	want := replayOf(from, "", sample...)
	want.Operation = Move
	want.Mode = target.ToQueue
	want.Fixed.RoutingKey = to
	return want
}

// entriesOf returns the entries of a record.
func entriesOf(entries ...Entry) func(func(*Entry) error) error {
	return func(each func(*Entry) error) error {
		for _, e := range entries {
			if err := each(&e); err != nil {
				return err
			}
		}
		return nil
	}
}

// newRun returns the plan of an action, with the topology that it was made from.
func newRun(t *model.Topology, want ActionWant) *Run {
	p := New(t, want)
	run := p.On(t)
	return &run
}

// Counts that include other messages are upper bounds, and an unfinished watch says when it last counted.
func TestSequelClaimsNoMoreThanIsKnown(t *testing.T) {
	now := time.Date(2026, 11, 27, 9, 0, 0, 0, time.Local)
	watched := Sequel{Sent: 10, Taken: 10, Watch: time.Minute, Until: now.Add(20 * time.Second), At: now}
	with := func(change func(*Sequel)) *Sequel {
		s := watched
		change(&s)
		return &s
	}

	for want, s := range map[string]*Sequel{
		"": nil,
		"all taken, none came back; watched for 20s more": &watched,
		"7 of 10 taken, 5 of 10 acknowledged, none came back, 3 still waiting; watched until 1m after all are taken": with(
			func(s *Sequel) { s.Taken, s.Acked = 7, build.Some(5) }),
		"all taken, none came back, up to 2 waiting for a retry; watched for 20s more": with(
			func(s *Sequel) { s.Retrying = 2 }),
		"all taken, all acknowledged, up to 2 came back, up to 1 waiting for a retry within 1m": with(
			func(s *Sequel) {
				s.Acked = build.Some(10)
				s.Came = 2
				s.Over = true
				s.Retrying = 1
			}),
		"all taken, up to 10 being processed, none came back; watched until 1m after all are processed": with(
			func(s *Sequel) { s.Held = 10 }),
		"all taken, none came back; not watched after 09:00:00": with(func(s *Sequel) { s.Left = true }),
		"all taken, none came back; not watched after 08:58:00": with(
			func(s *Sequel) { s.At, s.Until = now.Add(-2*time.Minute), now.Add(-time.Minute) }),
	} {
		assert.Equal(t, s.Words(now), want, "")
	}

	for want, s := range map[string]*Sequel{
		"": nil, "none back yet": &watched, "none came back": with(func(s *Sequel) { s.Over = true }),
		"none back by 09:00": with(func(s *Sequel) { s.Left = true }),
		"3 not taken":        with(func(s *Sequel) { s.Taken = 7 }), "2 came back": with(func(s *Sequel) { s.Back = 2 }),
	} {
		assert.Equal(t, s.Short(), want, "")
	}

	undone := Record{Operation: Replay, Ended: now, Account: Account{Moved: 10}, Sequel: &watched, Undone: 10}
	assert.Equal(t, undone.ToldSince(), "10 moved; 10 undone")
}

// TestBackIsWhatCannotBeAnother: only the last ones that were recorded are taken for lost acknowledgements, and they
// are not sure where others of the same content can be meant.
func TestBackIsWhatCannotBeAnother(t *testing.T) {
	from := build.Ref("failed")
	topology := model.NewTopology(&model.Snapshot{Queues: []model.Queue{{QueueRef: from, Type: model.Quorum}}})
	type back struct {
		Recorded, There, Fresh, Back string
		Left                         int // in the queue, by the record
		Sure                         bool
	}

	for _, test := range must.Cases[back](t, "testdata/back.toml") {
		record := Record{Operation: Move, Intent: &Intent{Depth: int64(len(test.Recorded) + test.Left)}}

		l := record.LostAcks(topology, from)
		for _, c := range test.Recorded {
			l.Recorded(&Entry{Outcome: Moved, Fingerprint: message.Fingerprint{byte(c)}})
			l.Recorded(&Entry{Outcome: Refused, Fingerprint: message.Fingerprint{'r'}})
		}

		for _, c := range test.There {
			fresh := len(test.Fresh) > 0 && byte(c) == test.Fresh[0]
			l.See(&message.Message{Fingerprint: message.Fingerprint{byte(c)}, Redelivered: !fresh})
		}

		names, sure := l.Back()
		back := ""
		for _, f := range names {
			back += string(rune(f[0]))
		}

		assert.Equal(t, back, test.Back, "%v", test.Recorded)
		assert.Equal(t, sure, test.Sure, "of %s, with %s there: %s %v", test.Recorded, test.There, back, sure)
	}
}

func TestArrivalsAreWhatTheQueueHasMore(t *testing.T) {
	type expected struct {
		Name           string
		Unknown, Twice bool
		Ready, Want    int64
		Done           Account
	}
	must.Run(t, "testdata/arrivals.toml", func(t *testing.T, test expected) {
		depth := build.Some(47)
		if test.Unknown {
			depth = model.Unknown[int64]()
		}

		out, known := test.Done.Out().Get()
		must.Equal(t, known, !test.Twice, "what went is known")
		got := (Frozen{Depth: depth}).Arrived(test.Ready, out)
		assert.That(t, !known || got == test.Want, "%d arrived", got)
	})
}
