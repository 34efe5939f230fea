package plan

import (
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
)

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
			func(s *Sequel) { s.Taken, s.Acked = 7, model.Some[int64](5) }),
		"all taken, none came back, up to 2 waiting for a retry; watched for 20s more": with(
			func(s *Sequel) { s.Retrying = 2 }),
		"all taken, all acknowledged, up to 2 came back within 1m": with(
			func(s *Sequel) {
				s.Acked, s.Back, s.Grown, s.Over, s.Retrying = model.Some[int64](10), 2, true, true, 1
			}),
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
