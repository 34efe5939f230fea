package ui

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dlxtop/model"
)

// A poll under way reads what was seen before: a new look leaves that as it was.
func TestWhereMessagesWereSeenToGo(t *testing.T) {
	type ways = map[model.QueueRef][]model.QueueRef
	l := newLooks()
	l.see(ways{ref("buffer"): {ref("b")}})
	polled := l.seen
	l.see(nil)
	l.see(ways{ref("buffer"): {ref("a")}, ref("other"): {ref("c")}})
	if diff := cmp.Diff(ways{ref("buffer"): {ref("b")}}, polled); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ways{ref("buffer"): {ref("a"), ref("b")}, ref("other"): {ref("c")}}, l.seen); diff != "" {
		t.Error(diff)
	}
}
