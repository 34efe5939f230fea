package action

import (
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/plan"
)

func TestNamesAreShortened(t *testing.T) {
	for names, want := range map[string]string{
		"": "",
		"x-death x-first-death-exchange x-first-death-queue x-first-death-reason expiration": "x-death " +
			"x-first-death-* expiration",
		"x-first-death-exchange x-first-death-queue x-first-death-reason x-last-death-exchange x-last-death-queue " +
			"x-last-death-reason": "x-first-death-* x-last-death-*",
		// only what is there
		"x-first-death-exchange x-first-death-queue": "x-first-death-exchange x-first-death-queue",
	} {
		given := strings.Fields(names)
		assert.Equal(t, strings.Join(shortened(given), " "), want, "%s", names)
		assert.Equal(t, strings.Join(given, " "), names, "the names afterwards")
	}
}

func TestAJobThatUndoes(t *testing.T) {
	facts := new(Messages).Outcomes(&plan.Account{Operation: plan.Undo, Moved: 2})
	assert.Equal(t, facts[0].Label, "undone")
}

// The copies that came back are in the queue with what came later: neither count is beside the other one.
func TestWhatCameBackCameLater(t *testing.T) {
	for back, want := range map[int64]string{
		0: "2 came later and stay (after 03:04:05)",
		1: "2 came later and stay (after 03:04:05), what came back among them",
	} {
		e := Ended{
			Sequel:  &plan.Sequel{Sent: 1, Taken: 1, Read: true, Back: back, Over: true},
			Since:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local),
			Arrived: 2,
		}

		var said []string
		for _, fact := range e.Facts(time.Time{}) {
			if fact.Label == "later" {
				said = append(said, fact.Words)
			}
		}
		assert.Equal(t, strings.Join(said, "; "), want, "%d came back", back)
	}
}
