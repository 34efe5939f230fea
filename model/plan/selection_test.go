package plan

import (
	"slices"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
)

func selected(t *testing.T, s Selection, messages []message.Message) (picked []int, p *Picker) {
	t.Helper()
	p = s.Picker(model.QueueRef{})
	for i := range messages {
		if p.Pick(&messages[i]) {
			picked = append(picked, i+1)
		}
	}
	if p.Picked() != len(picked) {
		t.Errorf("%d picked, it says %d", len(picked), p.Picked())
	}
	return picked, p
}

func TestSelection(t *testing.T) {
	ids := []string{"a", "b", "b", "c", "b"}
	messages := make([]message.Message, len(ids))
	for i, id := range ids {
		messages[i] = message.Message{
			Properties: message.Properties{MessageID: id}, Body: []byte(id),
			Headers: model.Table{"error": "KeyError: no " + id},
		}
		messages[i].Fingerprint = message.FingerprintOf(&messages[i])
	}
	gone := message.Message{Properties: message.Properties{MessageID: "gone"}, Fingerprint: message.Fingerprint{1}}
	condition := must.Get(filter.ParseExpression(`message_id != "b"`))(t)
	id := cause.Of(model.QueueRef{}, &messages[1]).ID()
	cases := []struct {
		name      string
		selection Selection
		picked    []int
		done      bool
		missing   int
		all, each bool
	}{
		{"everything", Selection{}, []int{1, 2, 3, 4, 5}, false, 0, true, false},
		{"the first", Selection{Limit: 2}, []int{1, 2}, true, 0, false, false},
		{"more than there are", Selection{Limit: 9}, []int{1, 2, 3, 4, 5}, false, 0, false, false},
		{"one", Chosen(messages[3:4]), []int{4}, true, 0, false, true},
		{"one of the twins", Chosen(messages[4:]), []int{2}, true, 0, false, true},
		{"two of the twins", Chosen([]message.Message{messages[1], messages[4]}), []int{2, 3}, true, 0, false, true},
		{"one that is gone", Chosen([]message.Message{gone, messages[3]}), []int{4}, false, 1, false, true},
		{"nothing", Chosen(nil), nil, true, 0, false, true},
		{"an id", Selection{MessageID: "b"}, []int{2, 3, 5}, false, 0, false, true},
		{"an id, once", Selection{MessageID: "b", Limit: 1}, []int{2}, true, 0, false, true},
		{"a filter", Selection{Filter: condition}, []int{1, 4}, false, 0, false, true},
		{"a condition with a limit", Selection{Filter: condition, Limit: 1}, []int{1}, true, 0, false, true},
		{"a cause", Selection{Cause: id}, []int{2, 3, 5}, false, 0, false, true},
		{"a cause and an id", Selection{Cause: id, MessageID: "a"}, nil, false, 0, false, true},
		{"another cause", Selection{Cause: "000000000000", Limit: 2}, nil, false, 0, false, true},
		{
			"chosen with a limit", func() Selection { s := Chosen(messages); s.Limit = 3; return s }(),
			[]int{1, 2, 3},
			true, 2, false, true,
		},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			picked, p := selected(t, test.selection, messages)
			if !slices.Equal(picked, test.picked) || p.Done() != test.done || p.Missing() != test.missing {
				t.Errorf("picked %v, done %v, missing %d", picked, p.Done(), p.Missing())
			}
			if test.selection.All() != test.all || test.selection.OneByOne() != test.each {
				t.Errorf("all %v, one by one %v", test.selection.All(), test.selection.OneByOne())
			}
		})
	}
}
