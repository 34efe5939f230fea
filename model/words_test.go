package model

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// Counts have commas and words agree with them; ids, and what a value says, stay as they are.
func TestSayf(t *testing.T) {
	for want, said := range map[string]string{
		"1 message is lost in a":   Sayf("%v message(s) (is|are) lost in %s", 1, QueueRef{VHost: "/", Name: "a"}),
		"1,204 messages are lost":  Sayf("%v message(s) (is|are) lost", int64(1204)),
		"undo 1204 of x(s): 5 % 2": Sayf("undo %d of %s: 5 %% %v", 1204, "x(s)", 2),
	} {
		assert.Equal(t, said, want)
	}
}
