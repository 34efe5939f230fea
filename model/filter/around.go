package filter

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Around returns the value of a field that a message does not say itself; nil where it is unknown. It may be a Bound.
type Around func(field string, m *message.Message) any

// About returns the filter with what is known around the messages. It counts which values are unknown, together with
// the filter that it is made of if that counts already.
func (f *Filter) About(around Around) *Filter {
	if f == nil {
		return nil
	}
	about := *f
	about.around = around
	if f.lacks == nil {
		about.lacks = &lacks{messages: map[string]int{}}
	}
	return &about
}

// Anew returns the filter without what it has counted.
func (f *Filter) Anew() *Filter {
	anew := *f
	anew.lacks = nil
	return &anew
}

// Knows reports whether what is around the messages is known to it, or need not be.
func (f *Filter) Knows() bool { return f == nil || f.around != nil || f.program == nil }

// Lacking says of how many messages a value is unknown, where they do not match for that; "" when of none.
func (f *Filter) Lacking() string {
	if f == nil || f.lacks == nil {
		return ""
	}
	f.lacks.Lock()
	defer f.lacks.Unlock()

	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.lacks.messages)) {
		all = append(all, model.Sayf("%s is unknown for %v message(s)", name, f.lacks.messages[name]))
	}
	if len(all) == 0 {
		return ""
	}

	return strings.Join(all, ", ") + ": no match"
}

// lacks counts the messages that did not match, by the fields that were unknown of them.
type lacks struct {
	sync.Mutex
	messages map[string]int
}

func (l *lacks) add(absent map[string]bool) {
	if l == nil || len(absent) == 0 {
		return
	}
	l.Lock()
	defer l.Unlock()
	for name := range absent {
		l.messages[name]++
	}
}
