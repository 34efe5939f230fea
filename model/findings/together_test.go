package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/build"
)

// Levels of one ladder share a finding, with the evidence of each; another flow, a level of another kind and what
// happens now stay apart.
func TestEqualFindingsOfBuffersAreOne(t *testing.T) {
	topology := build.Described("3.10.8", `
		queue w consumers=1
		queue w.failed
		queue w.10s ttl=10000 x-expires=20000 dlx= key=w
		queue w.60s ttl=60000 x-expires=120000 dlx= key=w
		queue w.90s ttl=90000 x-expires=180000 dlx= key=w
		queue w.300s ttl=300000 x-expires=600000 dlx= key=w
		queue w.short ttl=10000 x-expires=10000 dlx= key=w
		queue v consumers=1
		queue v.failed
		queue v.10s ttl=10000 x-expires=20000 dlx= key=v
	`)

	found := Of(topology)
	together := Together(topology, found)
	got := codes(together)
	want := []string{"warning buffer-expires w.short", "info buffer-expires v.10s", "info buffer-expires w.10s"}
	must.That(t, slices.Equal(got, want), "together %q of %q", got, codes(found))

	f := together[2]
	assert.List(t, f.Also, []string{"w.300s", "w.60s", "w.90s"})
	assert.That(t, strings.HasSuffix(f.Message, "; the same is true of w.300s, w.60s, w.90s"), "%+v", f)

	for _, evidence := range []string{
		"w.10s: expires 20s", "w.60s: expires 2m", "w.300s: expires 10m",
		"1 more like them",
	} {
		assert.Contains(t, f.Evidence, evidence)
	}

	assert.Equal(t, f.Remedy, found[slices.Index(codes(found), want[2])].Remedy, "the common remedy")
	for _, name := range []string{"w.10s", "w.60s", "w.300s"} {
		ref := build.Ref(name)
		assert.That(t, f.Concerns(ref), "it is not found by %s", name)
		assert.Equal(t, len(NewAbout(together).Queue(ref)), 1, "%v", name)
	}

	for i := range found {
		found[i].Happening = true
	}

	assert.Equal(t, len(Together(topology, found)), len(found), "what happens now")
}

// Many tenants share a finding, and the one whose queue leads elsewhere has its own. A few stay apart.
func TestEqualFindingsOfManyFlowsAreOne(t *testing.T) {
	tenants := func(n int) []Finding {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "queue tenant%02[1]d consumers=1 dlx= key=tenant%02[1]d.retry\n"+
				"queue tenant%02[1]d.retry ttl=%[2]d dlx= key=tenant%02[1]d\n", i, 10_000+i)
		}
		text.WriteString("queue odd consumers=1 dlx= key=odd.retry\nqueue odd.retry ttl=1000 dlx= key=gone\n")
		topology := build.Described("3.10.8", text.String())
		return Together(topology, Of(topology))
	}

	all := tenants(12)
	got := codes(all)
	want := []string{"error dead-letter-unroutable odd.retry", "info rejected-loop tenant00"}
	must.That(t, slices.Equal(got, want), "%q", got)
	assert.Equal(t, len(all[1].Also), 11)
	assert.Contains(t, all[1].Message, "the same is true of tenant01, tenant02, tenant03, 8 more")
	assert.Equal(t, len(NewAbout(all).Queue(build.Ref("tenant11"))), 1, "findings of the last tenant")
	assert.Equal(t, len(tenants(5)), 6, "a few stay apart")
}

// A command has each name as one word, whatever characters it has.
func TestCommandsOfAFinding(t *testing.T) {
	f := Finding{Code: "dead-letter-unroutable", VHost: "a b", Queue: "it's; rm -rf $HOME"}
	text := strings.Join(f.Commands(), "\n")
	for _, want := range []string{
		"rabbitmqctl list_bindings --vhost 'a b' ", `dlxtop peek 'a b/it'\''s; rm -rf $HOME'`,
		"dlxtop explain dead-letter-unroutable",
	} {
		assert.Contains(t, text, want, "commands")
	}

	f = Finding{Code: "memory-alarm", Node: "rabbit@mq1"}
	want := "rabbitmq-diagnostics alarms\ndlxtop explain memory-alarm"
	assert.Equal(t, strings.Join(f.Commands(), "\n"), want, "commands")
}
