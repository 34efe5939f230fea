package message

import (
	"strings"
	"testing"
)

func TestMembersOf(t *testing.T) {
	if len(memberBits) > 64 {
		t.Fatalf("%d names do not fit into a set", len(memberBits))
	}
	for _, c := range []struct{ text, names string }{
		{``, ""},
		{`{`, ""},
		{`{"task":1}`, "task"},
		{"\n\t {\"task\" : 1, \"id\":\"x\"}", "task id"},
		{`{"a":{"task":1},"id":[{"retries":1}]}`, "id"},
		{`{"a":"\"task\":1","jid":"\\"}`, "jid"},
		{`{"x":"task","task"}`, ""},
		{`{"a":1} {"task":1}`, ""},
		{`["task",{"id":1}]`, ""},
		{`task`, ""},
		{`{"jid":"` + strings.Repeat("x", MaxEnvelope) + `"}`, ""},
	} {
		var want members
		for _, name := range strings.Fields(c.names) {
			if memberBits[name] == 0 {
				t.Fatalf("%s is no name that a framework writes", name)
			}
			want |= memberBits[name]
		}
		if got := membersOf([]byte(c.text)); got != want {
			t.Errorf("%.80s: %b instead of %b", c.text, got, want)
		}
	}
}
