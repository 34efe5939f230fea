package journal_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestWholeMessages: bodies and headers of whatever kind come back byte for byte, also headers that have the names of
// what is written beside a body.
func TestWholeMessages(t *testing.T) {
	bodies := []string{
		"", `{"a":"\"b\"\\ \/"}`, `"body":"","body_encoding":"utf-8","body_bytes":0`,
		"é 世 🎉 \u2028\u202e\u200b", "\x00\x1b\x7f\t\r\n",
		"\xff\xfe", "<&>", strings.Repeat(`x"`, 40_000),
	}
	odd := model.Table{
		"body": "", "body_bytes": int64(0), "body_encoding": "utf-8",
		"nested": model.Table{"body": "", "body_bytes": int64(0), "body_encoding": "utf-8"},
		"text":   `"body":"","body_encoding":"utf-8","body_bytes":`,
	}
	var entries []plan.Entry
	for i, body := range bodies {
		m := &message.Message{Position: i + 1, RoutingKey: "k", Headers: odd, Body: []byte(body), BodyBytes: len(body)}
		m.Fingerprint = message.FingerprintOf(m)
		entries = append(entries, plan.NewEntry(m, nil, true))
	}
	j := open(t, journal.Options{Path: at(t)})
	id := begin(t, j, record(plan.Drop))
	check(t, j.Write(id, entries, nil))
	got := read(t, j, id)
	must.Equal(t, len(got), len(bodies), "entries")
	for i, e := range got {
		assert.That(t, string(e.Message.Body) == bodies[i] && message.FingerprintOf(e.Message) == entries[i].Fingerprint,
			"%q became %q", bodies[i], e.Message.Body)
		assert.NoDiff(t, cmp.Diff(odd, e.Message.Headers), "headers of %q", bodies[i])
	}
}
