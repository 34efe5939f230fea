package message

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

func TestMembersOf(t *testing.T) {
	must.That(t, len(memberBits) <= 64, "%d names do not fit into a set", len(memberBits))
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
			must.That(t, memberBits[name] != 0, "%s is no name that a framework writes", name)
			want |= memberBits[name]
		}
		assert.Equal(t, membersOf([]byte(c.text)), want, "%.80s", c.text)
	}
}
