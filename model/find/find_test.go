package find_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/message"
)

func TestMatch(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(`{"order":"A-121"}`))
	_ = w.Close()
	in := base64.StdEncoding.EncodeToString(packed.Bytes())
	for _, c := range []struct {
		text, body, where, excerpt string
	}{
		{"a-121", `{"order":` + "\n\t" + `"A-121"}`, "body", `{"order": "[A-121]"}`},
		{"a-121", packed.String(), "body, gzip", `{"order":"[A-121]"}`},
		{"a-121", in, "body, base64 → gzip", `{"order":"[A-121]"}`},
		{in[:10], in, "body", ""},
		{"=json.order == 'A-121'", `{"order":"A-121"}`, "expression", `[]{"order":"A-121"}`},
		{"=json.order == 'A-121'", packed.String(), "", ""}, // expressions see the body as it lies there
		{"b-121", in, "", ""},
		{"\x1b[31m", "red \x1b[31m\u202e here", "body", `red [\x1b[31m]\u{202e} here`},
	} {
		condition := must.Get(filter.Parse(c.text))(t)
		m := &message.Message{Position: 7, RoutingKey: "key", Body: []byte(c.body), BodyBytes: len(c.body)}
		assert.That(t, find.Matches(condition, m) == (c.where != ""), "%q in %q: it does not match", c.text, c.body)
		hit, ok := find.Match(condition, model.QueueRef{VHost: "/", Name: "q"}, m)
		if ok != (c.where != "") {
			t.Errorf("%q in %q: %v", c.text, c.body, ok)
			continue
		}
		if !ok {
			continue
		}
		before, found, after := hit.Excerpt()
		if hit.Where() != c.where || c.excerpt != "" && before+"["+found+"]"+after != c.excerpt || hit.Position != 7 {
			t.Errorf("%q in %q: %q %q[%q]%q", c.text, c.body, hit.Where(), before, found, after)
		}
	}
}

func TestQueues(t *testing.T) {
	topology := build.TopologyOf("4.0.5",
		build.Queue("a-worker", build.DLX("dead"), build.Ready(3), build.Consumers(1)),
		build.Queue("b.failed", build.Ready(2)),
		build.Queue("c-retry", build.DLX(""), build.DeadKey("a-worker"), build.TTL(30_000), build.Ready(1)),
		build.Queue("limited", build.Ready(5), build.OfType(model.Quorum)),
		build.Queue("limited-empty", build.OfType(model.Quorum)),
		build.Queue("empty"),
		build.Queue("log", build.OfType(model.Stream)),
		build.Exchange("direct", "dead"), build.Bind("dead", "a-worker", "b.failed"),
	)
	names := func(want find.Want) string {
		var all []string
		for _, q := range find.Queues(topology, want) {
			name := q.Ref.Name
			if q.Skipped() != "" {
				name = "-" + name
			}
			all = append(all, name)
		}
		return strings.Join(all, " ")
	}
	assert.Equal(t, names(find.Want{}), "b.failed c-retry a-worker empty -limited -limited-empty log")
	assert.Equal(t, names(find.Want{Costly: true}), "b.failed c-retry a-worker empty limited limited-empty log")
	assert.Equal(t, names(find.Want{Queue: func(q model.QueueRef) bool { return q.Name == "limited" }}), "-limited")
}

func TestReasons(t *testing.T) {
	ref := func(name string) model.QueueRef { return model.QueueRef{VHost: "/", Name: name} }
	reasons := find.Reasons([]find.NotRead{
		{ref("a"), model.Some[int64](1), "cost", true},
		{ref("b"), model.Some[int64](2), "cost", true},
		{ref("c"), model.Unknown[int64](), "gone", false},
		{ref("d"), model.Some[int64](3), "cost", true},
		{ref("e"), model.Some[int64](4), "cost", true},
	})
	var words []string
	for i := range reasons {
		words = append(words, reasons[i].Words())
	}
	assert.Equal(t, strings.Join(words, "\n"), "10 messages of a, b, d and 1 more queue: cost\nc: gone")
}
