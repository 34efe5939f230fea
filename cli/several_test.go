package cli_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// severalContract is the JSON of an action on several queues.
type severalContract struct {
	accountContract
	Queues []struct {
		accountContract
		VHost, Refusal string
		Resume         any
	}
}

// of returns "QUEUE counts" of each queue that is not left out, and of the others "QUEUE refused".
func (s severalContract) of() string {
	var all []string
	for _, q := range s.Queues {
		if q.Refusal != "" {
			all = append(all, q.From+" refused")
		} else {
			all = append(all, q.From+" "+q.counts())
		}
	}
	return strings.Join(all, ", ")
}

// failedFlows declares workers with a failed queue each, and messages in these.
func failedFlows(t *testing.T, messages map[string]int) *vhost {
	t.Helper()
	v := newVHost(t)
	for name, n := range messages {
		v.declare(name, amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name + ".failed"})
		v.declare(name+".failed", nil)
		v.fill(name+".failed", n)
	}
	return v
}

// One of four queues has no worker, and one no messages: the others are replayed, listed, and undone as one.
func TestSeveralQueuesAsOne(t *testing.T) {
	t.Parallel()
	v := failedFlows(t, map[string]int{"a": 3, "b": 2, "empty": 0})
	v.declare("orphan.failed", nil)
	v.fill("orphan.failed", 4)

	dry := v.run("replay --queues *.failed --dry-run").ends(t, cli.ExitRefused)
	plan := decode[severalContract](t, dry)
	const planned = "a.failed 3 0 0 0 0 0, b.failed 2 0 0 0 0 0, empty.failed 0 0 0 0 0 0, orphan.failed refused"
	assert.Equal(t, plan.of(), planned)
	assert.Equal(t, plan.counts(), "5 0 0 0 0 0")

	done := v.run("replay --queues *.failed --yes").ends(t, cli.ExitRefused, "not: "+v.name+"/orphan.failed: ")
	all := decode[severalContract](t, done)
	const moved = "a.failed 3 3 0 0 0 0, b.failed 2 2 0 0 0 0, empty.failed 0 0 0 0 0 0, orphan.failed refused"
	assert.Equal(t, all.of(), moved)
	assert.Equal(t, all.counts(), "5 5 0 0 0 0")
	v.holds("a", 3).holds("b", 2).holds("a.failed", 0).holds("b.failed", 0).holds("orphan.failed", 4)

	recorded := func() recordWire { // other tests have records in the same journal
		var listed struct{ Records []recordWire }
		must.Do(t, json.Unmarshal([]byte(v.run("journal -n 1000").out), &listed))
		at := slices.IndexFunc(listed.Records, func(r recordWire) bool { return r.ID == all.JournalID })
		must.That(t, at >= 0, "record %d is not listed", all.JournalID)
		return listed.Records[at]
	}
	assert.Equal(t, recorded().Moved, 5)
	shown := v.run("journal show", fmt.Sprint(all.Queues[1].JournalID)).ends(t, cli.ExitDone)
	assert.Equal(t, strings.Count(shown.out, `"entries"`), 2, "%s", shown.out)

	undone := v.run("journal undo", fmt.Sprint(all.JournalID), "--yes").ends(t, cli.ExitDone)
	assert.Equal(t, decode[severalContract](t, undone).counts(), "5 5 0 0 0 0")
	v.holds("a", 0).holds("b", 0).holds("a.failed", 3).holds("b.failed", 2)
	assert.Equal(t, recorded().Undone, 5)
}

// A limit is on all queues together, and so is the number to type.
func TestLimitAndConsentOfSeveralQueues(t *testing.T) {
	t.Parallel()
	v := failedFlows(t, map[string]int{"a": 70, "b": 60, "c": 1})
	k := startTalk(t, v.on("drop --queues *.failed --limit 110")...)
	k.asked("drop 110 messages of 2 queues: to go on, type 110: ", 1)
	k.answer("110")
	k.ends(cli.ExitDone)
	v.holds("a.failed", 0).holds("b.failed", 20).holds("c.failed", 1)

	for _, args := range []string{
		"drop a.failed --queues *.failed", "drop --queues=", "drop --queues *.nobody --yes", "drop",
		"drop --queues *.failed --plan-out plan",
	} {
		v.run(args).ends(t, cli.ExitUsage)
	}
}

// What ends in one queue leaves the later ones: one resume goes on with all, and one undo takes all of it back.
func TestResumeOfSeveralQueues(t *testing.T) {
	t.Parallel()
	v := failedFlows(t, map[string]int{"a": 2, "b": 160, "c": 3})
	r := v.interrupted("b", 3, "replay --queues *.failed --rate 20/s --yes")
	first := decode[severalContract](t, r)
	must.Contains(t, r.stderr, fmt.Sprintf("`dlxtop journal resume %d` continues it", first.JournalID))
	assert.Equal(t, *first.Planned, 165)
	v.holds("a", 2).holds("c", 0)

	rest := v.run("journal resume", fmt.Sprint(first.JournalID), "--yes").ends(t, cli.ExitDone)
	second := decode[severalContract](t, rest)
	assert.Equal(t, *first.Moved+*second.Moved, 165, "%s", rest.out)
	v.holds("a", 2).holds("b", 160).holds("c", 3)
	v.run("journal undo", fmt.Sprint(second.JournalID), "--yes").ends(t, cli.ExitDone)
	v.holds("a.failed", 2).holds("b.failed", 160).holds("c.failed", 3)
}

// The breaker counts over all queues: one that works well does not hide that the next one fails.
func TestBreakerOfSeveralQueues(t *testing.T) {
	t.Parallel()
	v := failedFlows(t, map[string]int{"a": 90, "b": 300, "c": 2})
	v.consume("a", func(d amqp.Delivery) { _ = d.Ack(false) })
	v.consume("b", func(d amqp.Delivery) { _ = d.Reject(false) })
	r := v.run("replay --queues *.failed --rate 150/s --stop-when 30% --yes").ends(t, cli.ExitRefused, "(--stop-when)")
	all := decode[severalContract](t, r)
	must.Equal(t, len(all.Queues), 3, "%s", r.out)
	assert.Equal(t, all.Queues[0].counts(), "90 90 0 0 0 0")
	assert.That(t, *all.Queues[1].Moved < 300, "it did not stop: %s", r.out)
	assert.Contains(t, all.Stopped, "failed again, and it stops at 30 %")
	assert.Equal(t, all.Queues[2].counts(), "2 0 0 0 0 0")
}

// Each queue is edited, has a canary of its own, and is followed; what is said of it names it.
func TestFurtherFlagsOnSeveralQueues(t *testing.T) {
	t.Parallel()
	v := failedFlows(t, map[string]int{"a": 12, "b": 15})
	edited := func(d amqp.Delivery) {
		if d.Headers["checked"] == true {
			_ = d.Ack(false)
		}
	}
	v.consume("a", edited)
	v.consume("b", edited)
	r := v.run("replay --queues *.failed --follow --canary --canary-wait 1s --edit .headers.checked=true --yes")
	r.ends(t, cli.ExitDone, "message 1 (m-1) of "+v.name+"/b.failed:", v.name+"/a.failed:\ncanary: 11 were taken")
	assert.Equal(t, strings.Count(r.stderr, "after: all taken, none came back"), 2, "%s", r.stderr)
	v.holds("a", 0).holds("b", 0)
}
