package cli_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// mendable fills a queue with messages that a program can mend, one that needs nothing, and one that it fails on.
func (v *vhost) mendable(queue string, n int) {
	v.t.Helper()
	for i := range n {
		v.publish("", queue, amqp.Publishing{
			MessageId: fmt.Sprintf("m-%d", i+1), Priority: 4, Timestamp: time.Unix(1_700_000_000, 0),
			Headers: amqp.Table{"tries": int32(i), "at": time.Unix(1_600_000_000, 0), "raw": []byte{0xff, 1}},
			Body:    fmt.Appendf(nil, "{ \"id\": %d.0, \"n\": \"%d\",\n \"tags\": [1,  2] }", i, i),
		})
	}
	v.publish("", queue, amqp.Publishing{MessageId: "whole", Body: []byte(`{"n":7}`)})
	v.publish("", queue, amqp.Publishing{MessageId: "broken", Body: []byte(`{"n":"seven"}`)})
}

const mending = `if .body.n | type == "string" then .body.n |= tonumber | .headers.tries = 7 else . end`

// wholeOf is all of a message, for a comparison.
func wholeOf(d *amqp.Delivery) string {
	headers := maps.Clone(d.Headers)
	delete(headers, "dlxtop-replay")
	return fmt.Sprintf("%q %q %#v %d %v", d.MessageId, d.Body, headers, d.Priority, d.Timestamp.Unix())
}

func wholes(deliveries []amqp.Delivery) (all []string) {
	for i := range deliveries {
		all = append(all, wholeOf(&deliveries[i]))
	}
	slices.Sort(all)
	return all
}

func TestReplayEdited(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	for _, queue := range []string{"failed", "worker", "copy"} {
		v.declare(queue, nil)
	}
	const n = 600
	v.mendable("failed", n)
	v.mendable("copy", n)
	want := wholes(v.take("copy"))

	dry := v.run("replay", "failed", "--to", "queue:worker", "--edit", mending, "--dry-run", "-o", "json")
	plan := decode[accountContract](t, dry)
	e := plan.Edit
	if dry.status != cli.ExitDone || e == nil || e.Changed != n || e.Unchanged != 1 || e.Failed != 1 ||
		len(plan.Resets) != 1 || plan.Resets[0].Name != "tries" || plan.Resets[0].Most != n-1 ||
		len(e.Reasons) != 1 || !strings.Contains(e.Reasons[0].Why, "the jq program failed: ") || len(e.Samples) != 5 {
		t.Fatalf("exit status %d: %s%s", dry.status, dry.out, dry.stderr)
	}
	second := e.Samples[1]
	got, lines := strings.Join(second.Differences, "\n"), "header tries: 0 → 7\n- \"n\": \"1\",\n+ \"n\": 1,"
	assert.That(t, second.MessageID == "m-2" && got == lines, "%s:\n%s\nwant\n%s", second.MessageID, got, lines)
	before, after := second.Before.Body, second.After.Body
	assert.That(t, second.Before.Position == 2 && strings.Contains(before, `"n": "1",`) &&
		strings.Replace(before, `"1"`, "1", 1) == after, "before %q, after %q", before, after)
	table := v.run("replay", "failed", "--to", "queue:worker", "--edit", mending, "--dry-run", "-o", "table")
	for _, want := range []string{
		"edit: 600 of 602 messages are changed, 1 is published unchanged, 1 stays in the queue", "message 2 (m-2):",
		`  + "n": 1,`, "1 of them stays: the jq program failed",
	} {
		assert.That(t, strings.Contains(table.stderr, want), "%q is not in\n%s", want, table.stderr)
	}
	await(t, "the dry runs changed nothing", func() bool { return v.count("failed") == n+2 && v.count("worker") == 0 })

	r := v.run("replay", "failed", "--to", "queue:worker", "--edit", mending, "--yes", "-o", "json")
	account := decode[accountContract](t, r)
	must.That(t, r.status == cli.ExitRefused && account.counts() == fmt.Sprint(n+2, n+1, 0, 1, 0, 0) &&
		account.Edit != nil && account.Edit.Changed == n, "exit status %d: %s%s", r.status, r.out, r.stderr)
	d, ok, err := v.channel.Get("worker", false)
	if want := "{ \"id\": 0.0, \"n\": 0,\n \"tags\": [1,  2] }"; err != nil || !ok || string(d.Body) != want ||
		d.Headers["tries"] != int32(7) || d.Priority != 4 || d.Headers["at"] != time.Unix(1_600_000_000, 0) {
		t.Errorf("%v %t %q %#v", err, ok, d.Body, d.Headers)
	}
	must.Do(t, d.Nack(false, true))
	await(t, "it is back", func() bool { return v.count("worker") == n+1 })
	shown := v.run("journal", "show", fmt.Sprint(account.JournalID), "-o", "table")
	assert.That(t, strings.Contains(shown.stderr, "changed by the jq program if .body.n") &&
		strings.Contains(shown.out, "the body ("), "the journal shows %s%s", shown.out, shown.stderr)
	undo := v.run("journal", "undo", fmt.Sprint(account.JournalID), "--yes")
	assert.That(t, undo.status == cli.ExitDone, "exit status %d: %s", undo.status, undo.stderr)
	await(t, "all are back", func() bool { return v.count("failed") == n+2 })
	if got := wholes(v.take("failed")); !slices.Equal(got, want) {
		for i := range got {
			must.Equal(t, got[i], want[i], "it came back as")
		}
		t.Errorf("%d came back", len(got))
	}
}

func TestEditIsRefused(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("failed", nil)
	v.declare("worker", nil)
	v.fill("failed", 3)
	v.declare("texts", nil)
	v.publish("", "texts", amqp.Publishing{Body: []byte("no JSON")})
	await(t, "it is there", func() bool { return v.count("texts") == 1 })
	for _, test := range []struct {
		edit   string
		status int
		want   string
	}{
		{"", cli.ExitUsage, "missing query"},
		{".body.", cli.ExitUsage, "the jq program is not complete"},
		{".body.nope(1)", cli.ExitUsage, "this is not a jq program"},
		{"empty", cli.ExitRefused, "the jq program gives nothing for it"},
		{"., .", cli.ExitRefused, "more than one value"},
		{`"text"`, cli.ExitRefused, "gives a text instead of the message"},
		{`.colour = "red"`, cli.ExitRefused, "gives colour, which no message has"},
		{"def f: f; f", cli.ExitRefused, "did not end within 1 million steps"},
		{`.body = "x" * (17 * 1048576)`, cli.ExitRefused, "the broker takes at most"},
		{`.headers.CC = ["worker"]`, cli.ExitRefused, "would send it to further queues"},
		{`.exchange = "nope"`, cli.ExitRefused, "the exchange nope does not exist"},
	} {
		queue := "failed"
		if test.want == "the broker takes at most" {
			queue = "texts" // JSON of that size would take more memory than a program gets
			if strings.HasPrefix(node.Version(), "3.") {
				test.edit = strings.Replace(test.edit, "17", "129", 1)
			}
		}
		r := v.run("replay", queue, "--to", "queue:worker", "--edit", test.edit, "--yes")
		assert.That(t, r.status == test.status && r.out == "" && strings.Contains(r.stderr, test.want),
			"%s: exit status %d: %s%s", test.edit, r.status, r.out, r.stderr)
	}
	await(t, "nothing was changed", func() bool { return v.count("failed") == 3 && v.count("worker") == 0 })
	r := v.run("move", "failed", "--to", "queue:worker", "--edit", `.body.n += 1`, "--yes")
	if account := decode[accountContract](t, r); r.status != cli.ExitDone || account.counts() != "3 3 0 0 0 0" {
		t.Errorf("exit status %d: %s%s", r.status, r.out, r.stderr)
	}
	got := v.take("worker")
	assert.That(t, len(got) == 3 && string(got[0].Body) == `{"n":2}`, "%d messages are there", len(got))
}

// TestEditedCanary: a canary that comes back stops what a program has changed, too, and what was sent is undone.
func TestEditedCanary(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("failed", nil)
	v.declare("worker", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "failed"})
	v.fill("failed", 14)
	v.consume("worker", func(d amqp.Delivery) { _ = d.Reject(false) })
	r := v.run("replay", "failed", "--to", "queue:worker", "--edit", `.body.fixed = true`, "--canary", "--canary-wait",
		"1s", "--yes")
	account := decode[accountContract](t, r)
	assert.That(t, r.status == cli.ExitRefused && account.counts() == "14 1 0 0 0 0" && *account.CameBack == 1,
		"exit status %d: %s%s", r.status, r.out, r.stderr)
	await(t, "all are in the queue", func() bool { return v.count("failed") == 14 })
	mended := 0
	for _, d := range v.take("failed") {
		if strings.Contains(string(d.Body), "fixed") {
			mended++
		}
	}
	assert.Equal(t, mended, 1, "messages were changed")
}

// TestResumeOfAnEdit: what is left is changed by the same program.
func TestResumeOfAnEdit(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("failed", nil)
	v.declare("worker", nil)
	v.fill("failed", 120)
	r := v.interrupted("worker", 3, "replay", "failed", "--to", "queue:worker", "--rate", "20/s", "--edit",
		`.body.fixed = true`, "--yes")
	first := decode[accountContract](t, r)
	must.That(t, first.JournalID != 0 && *first.Moved < 120, "%+v", r)
	r = v.run("journal", "resume", fmt.Sprint(first.JournalID), "--yes")
	if second := decode[resumeContract](t, r); r.status != cli.ExitDone || *second.Moved != 120-*first.Moved {
		t.Errorf("exit status %d: %s%s", r.status, r.out, r.stderr)
	}
	got := v.take("worker")
	for _, d := range got {
		assert.That(t, strings.Contains(string(d.Body), `,"fixed":true}`), "%s was not changed", d.Body)
	}
	assert.Equal(t, len(got), 120, "arrived")
}
