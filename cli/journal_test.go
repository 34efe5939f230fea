package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model/plan"
)

type recordWire struct {
	ID                                                                int64
	State, Operation                                                  string
	Undoes, Resumes                                                   int64
	ResumedBy                                                         int64 `json:"resumed_by"`
	VHost, From, To, User, Broker, Cluster, Began, Ended              string
	Planned, Moved, Dropped, Refused, Returned, Unknown, Gone, Undone int
	Stopped                                                           string
	Parts                                                             []recordWire
}

// rich returns messages with properties that are easily lost.
func rich(n int) []amqp.Publishing {
	var messages []amqp.Publishing
	for i := range n {
		messages = append(messages, amqp.Publishing{
			MessageId: fmt.Sprint("r-", i), DeliveryMode: 2, Priority: 3, ContentType: "application/octet-stream",
			Body: []byte{0, 0xff, byte(i)},
			Headers: amqp.Table{
				"small": int8(-1), "large": uint32(1 << 31), "text": "a\xffb",
				"nested":  amqp.Table{"$type": "x", "list": []any{int32(1), nil, amqp.Table{}}},
				"x-death": []any{amqp.Table{"queue": "q", "reason": "rejected", "count": int64(2)}},
			},
		})
	}

	return messages
}

// published takes the messages out of a queue, as their publisher wrote them.
func (v *vhost) published(queue string) (taken []amqp.Publishing) {
	v.t.Helper()
	for _, d := range v.take(queue) {
		taken = append(taken, amqp.Publishing{
			MessageId: d.MessageId, DeliveryMode: d.DeliveryMode, Priority: d.Priority, ContentType: d.ContentType,
			Body: d.Body, Headers: d.Headers,
		})
	}

	return taken
}

func (v *vhost) records(n int) []recordWire {
	v.t.Helper()
	return decode[struct{ Records []recordWire }](v.t, v.run("journal -n", fmt.Sprint(n))).Records
}

func TestJournal(t *testing.T) {
	v := newVHost(t, "failed", "worker")
	messages := rich(5)
	dial.Publish(t, v.channel, "failed", messages...)

	dropped := decode[accountContract](t, v.run("drop failed --limit 2 --yes"))
	replayed := decode[accountContract](t, v.run("replay failed --to queue:worker --yes"))
	must.That(t, dropped.JournalID != 0, "%+v %+v", dropped, replayed)
	must.Equal(t, replayed.JournalID, dropped.JournalID+1)
	v.holds("failed", 0)
	moved := v.published("worker")
	must.Equal(t, len(moved), 3, "the worker got %+v", moved)
	must.That(t, strings.HasPrefix(fmt.Sprint(moved[0].Headers["dlxtop-replay"]), "count=1;"), "the worker got %+v", moved)
	must.That(t, moved[0].Headers["x-death"] == nil, "the worker got %+v", moved)
	dial.Publish(t, v.channel, "worker", moved[1:]...)
	records := v.records(2)
	must.Equal(t, len(records), 2, "%+v", records)
	must.Equal(t, records[0].Operation, "replay")
	must.Equal(t, records[0].To, "queue:worker")
	must.Equal(t, records[0].From, "failed")
	must.Equal(t, records[0].User, "guest")
	must.That(t, records[0].Cluster != "", "%+v", records)
	must.Equal(t, records[0].Moved, 3)
	must.Equal(t, records[1].Dropped, 2)
	must.Equal(t, records[1].State, "ended")
	must.Equal(t, records[1].VHost, v.name)

	shown := decode[struct {
		Record  recordWire
		Entries []map[string]any
	}](t, v.run("journal show", fmt.Sprint(dropped.JournalID)))

	must.Equal(t, len(shown.Entries), 2, "%+v", shown)
	assert.That(t, shown.Entries[1]["message_id"] == "r-1", "%+v", shown)
	assert.That(t, shown.Entries[1]["outcome"] == "dropped", "%+v", shown)
	v.run("journal -o table -n 2").shows(t, "WHO", "guest@", "replay", "  worker  ", "3 moved", "2 dropped")

	undo := []string{"journal", "undo", fmt.Sprint(replayed.JournalID)}
	dry := decode[accountContract](t, v.run(append(undo, "--dry-run")...))
	assert.Equal(t, *dry.Planned, 3, "a dry run: %+v", dry)
	v.holds("failed", 0)
	v.holds("worker", 2)
	r := v.run(append(undo, "--yes")...).ends(t, cli.ExitRefused, "taken by a consumer, or expired")
	assert.That(t, *decode[accountContract](t, r).Moved == 2, "%+v", r)
	v.run("journal undo", fmt.Sprint(dropped.JournalID), "--yes").ends(t, cli.ExitDone).account(t, "2 2 0 0 0 0")
	assert.Same(t, []amqp.Publishing{messages[3], messages[4], messages[0], messages[1]},
		v.published("failed"))
	v.run("journal undo", fmt.Sprint(dropped.JournalID), "--yes").ends(t, cli.ExitRefused,
		"nothing to undo; 2 brought back before")

	for _, missing := range [][]string{{"journal", "show", "999999"}, {"journal", "undo", "999999", "--yes"}} {
		v.run(missing...).ends(t, cli.ExitUsage, "no record 999999")
	}
}

// Nothing is done without a journal, unless requested.
func TestUnusableJournal(t *testing.T) {
	v := newVHost(t, "failed")
	v.fill("failed", 2)
	path := filepath.Join(t.TempDir(), "journal.db")
	act := func(args ...string) result {
		return v.runProgram(journalAt(path), args...)
	}
	must.Do(t, os.WriteFile(path, []byte(strings.Repeat("no database ", 100)), 0o600))

	for _, operation := range [][]string{
		{"drop", "failed", "--yes"},
		{"replay", "failed", "--to", "queue:failed", "--yes"},
	} {
		act(operation...).ends(t, cli.ExitRefused, "is damaged", "--no-journal")
		v.holds("failed", 2)
	}

	r := act("drop failed --yes --no-journal --limit 1").ends(t, cli.ExitDone, "no undo")
	assert.Equal(t, decode[accountContract](t, r).JournalID, 0, "%+v", r)
	v.holds("failed", 1)
}

func TestExportAndImport(t *testing.T) {
	v := newVHost(t, "from", "to")
	messages := rich(20)
	dial.Publish(t, v.channel, "from", messages...)
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	r := v.run("export from", path)
	must.Equal(t, r.status, cli.ExitDone, "%+v", r)
	must.Equal(t, r.out, "")
	v.holds("from", 20)
	content, err := os.ReadFile(path)
	must.Do(t, err)
	must.Equal(t, bytes.Count(content, []byte("\n")), 20, "%v %s", err, content)
	v.run("export from", path).ends(t, cli.ExitUsage, "is there already")
	r = v.run("export from -")
	assert.That(t, r.out == string(content) || strings.Contains(r.out, `"redelivered":true`),
		"to standard output: %s", r.out)
	v.run("import", path, "--to", "queue:to", "--dry-run").account(t, "20 0 0 0 0 0")
	v.holds("to", 0)
	v.run("import", path, "--to", "queue:to", "--yes").ends(t, cli.ExitDone).account(t, "20 20 0 0 0 0")
	assert.Same(t, messages, v.published("to"))
	wantImportKept(t, v)

	for _, test := range []struct {
		content []byte
		words   string
	}{
		{content[:len(content)-40], "line 20: it ends in the middle"},
		{
			bytes.Replace(content, []byte(`"int8","value":-1`), []byte(`"int8","value":-999`), 1),
			"line 1: header small: -999 is not a value of type int8",
		},
		{append([]byte("hello\n"), content...), "line 1: it is not JSON"},
	} {
		broken := filepath.Join(t.TempDir(), "broken.jsonl")
		must.Do(t, os.WriteFile(broken, test.content, 0o600))
		v.run("import", broken, "--to", "queue:to", "--yes").ends(t, cli.ExitUsage, test.words, "nothing was imported")
		v.holds("to", 0)
	}
}

// wantImportKept: the journal says who put the messages there, and that an undo is a drop.
func wantImportKept(t *testing.T, v *vhost) {
	t.Helper()
	record := v.records(1)[0]
	assert.Equal(t, record.Operation, "import", "%+v", record)
	assert.Equal(t, record.From, "to")
	assert.Equal(t, record.Moved, 20)
	assert.Equal(t, record.User, "guest")
	assert.Equal(t, record.State, "ended")
	v.run("journal show", fmt.Sprint(record.ID), "-o", "table").shows(t, "20 imported", "r-19")
	v.run("journal undo", fmt.Sprint(record.ID), "--yes").ends(t, cli.ExitRefused,
		"is an import: to remove its messages, drop them from")
}

// elsewhere is a journal of actions on another cluster.
type elsewhere struct{ *journal.Journal }

func (e elsewhere) Record(ctx context.Context, id int64) (plan.Record, error) {
	r, err := e.Journal.Record(ctx, id)
	r.Cluster = "another@one"
	return r, err
}

func (e elsewhere) Chain(ctx context.Context, id int64) ([]plan.Record, error) {
	chain, err := e.Journal.Chain(ctx, id)
	for i := range chain {
		chain[i].Cluster = "another@one"
	}
	return chain, err
}

// An address that leads to another cluster than before, as with port-forwards, is another broker.
func TestJournalOfAnotherCluster(t *testing.T) {
	v := newVHost(t, "failed")
	v.fill("failed", 3)
	id := fmt.Sprint(decode[accountContract](t, v.run("drop failed --limit 2 --yes")).JournalID)

	other := func(p *cli.Program) {
		p.Journal = func(string) cli.Journal {
			return elsewhere{journal.New(journal.Options{Path: journalPath})}
		}
	}

	for _, verb := range []string{"undo", "resume"} {
		v.runProgram(other, "journal", verb, id, "--yes").ends(t, cli.ExitRefused, "(cluster another@one), and this is ")
		v.holds("failed", 1)
	}

	v.runProgram(other, "journal undo", id, "--yes", "--insist").ends(t, cli.ExitDone)
	v.holds("failed", 3)
}

type resumeContract struct {
	accountContract
	Resume struct {
		Resumes                    int64
		Done, Acknowledged, Unsent int
		Undecided                  []struct {
			Record    int64
			Position  int
			MessageID string `json:"message_id"`
			Reason    string
		}
	}
}

// interrupted runs a command until a queue has this many more messages, and then interrupts it.
func (v *vhost) interrupted(queue string, n int, args ...string) result {
	v.t.Helper()
	ctx, cancel := context.WithCancel(v.t.Context())
	defer cancel()
	done := make(chan result)
	before := v.count(queue)
	go func() { done <- runChanged(ctx, func(*cli.Program) {}, v.asJSON(args)...) }()
	must.Await(v.t, "it is in its middle", func() bool { return v.count(queue) >= before+n })
	cancel()

	return <-done
}

// What ended early is resumed: the same selection, by the messages' positions in the queue when it began, and one
// undo of both parts brings back each message once.
func TestResume(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 160) // at 20 a second, a machine that stalls for seconds does not get to the end
	r := v.interrupted("worker", 5, "replay failed --to queue:worker --rate 20/s --filter",
		"position <= 120", "--yes")
	first := decode[accountContract](t, r)
	must.That(t, first.JournalID != 0, "%+v", r)
	must.That(t, *first.Moved >= 5, "%+v", r)
	must.That(t, *first.Moved < 120, "%+v", r)
	must.Contains(t, r.stderr, fmt.Sprintf("`dlxtop journal resume %d` continues it", first.JournalID))
	resume := []string{"journal", "resume", fmt.Sprint(first.JournalID)}
	dry := decode[resumeContract](t, v.run(append(resume, "--dry-run")...))
	assert.Equal(t, dry.Resume.Resumes, first.JournalID, "a dry run: %+v", dry)
	assert.Equal(t, *dry.Planned, 120-*first.Moved)
	v.holds("worker", *first.Moved)

	v.fill("failed", 7) // these are not part of it
	r = v.run(append(resume, "--yes")...)
	second := decode[resumeContract](t, r)
	must.Equal(t, r.status, cli.ExitDone, "%+v", r)
	must.Equal(t, *second.Moved, 120-*first.Moved)
	must.That(t, second.JournalID > first.JournalID, "%+v", r)
	v.holds("worker", 120)
	v.holds("failed", 47)
	v.run(append(resume, "--yes")...).ends(t, cli.ExitRefused, "there is nothing to resume")
	v.run("journal -o table -n 100").shows(t, fmt.Sprintf("replay, on %d", first.JournalID),
		fmt.Sprintf("resumed as %d", second.JournalID))

	v.run("journal undo", fmt.Sprint(second.JournalID), "--yes").ends(t, cli.ExitDone)
	v.holds("failed", 167).holds("worker", 0)
	seen := map[string]int{}
	for _, d := range v.take("failed") {
		seen[d.MessageId]++
	}

	for i := range 160 {
		id := fmt.Sprintf("m-%d", i+1)
		assert.That(t, seen[id] == 1 || i < 7, "%s is there %d times", id, seen[id])
		assert.That(t, seen[id] == 2 || i >= 7, "%s is there %d times", id, seen[id])
	}
}

// A resumed replay is watched with what its first part sent, which came back before the resume began.
func TestResumeIsWatched(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed")
	v.declare("worker", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "failed"})
	v.fill("failed", 60)
	r := v.interrupted("worker", 5, "replay failed --to queue:worker --rate 20/s --yes")
	first := decode[accountContract](t, r)
	must.That(t, *first.Moved >= 5 && *first.Moved < 60, "%+v", r)
	v.consume("worker", func(d amqp.Delivery) { _ = d.Reject(false) })
	v.holds("failed", 60)

	r = v.run("journal resume", fmt.Sprint(first.JournalID), "--yes", "--follow").ends(t, cli.ExitRefused)
	assert.Contains(t, r.stderr, "pace: at most 20/s: ", "the resume keeps the pace")

	var second struct {
		Moved int
		After struct {
			Sent int64
			Back int64 `json:"came_back"`
		}
	}

	must.Do(t, json.Unmarshal([]byte(r.out), &second))
	assert.Equal(t, second.Moved, 60-*first.Moved, "moved: %s", r.stderr)
	assert.Equal(t, second.After.Sent, 60, "sent: %s", r.stderr)
	assert.Equal(t, second.After.Back, 60, "came back: %s", r.stderr)
}

func TestResumeOfAnEarlyDrop(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 150)
	r := v.interrupted("worker", 3, "move failed --to queue:worker --rate 20/s --limit 120 --yes")
	first := decode[accountContract](t, r)
	must.That(t, *first.Moved >= 3 && *first.Moved < 120, "%+v", r)
	v.run("journal resume", fmt.Sprint(first.JournalID), "--yes", "-o", "table").ends(t, cli.ExitDone)
	v.holds("worker", 120)
	v.holds("failed", 30)
}

// Nothing is read for a record that cannot be resumed.
func TestResumeIsRefused(t *testing.T) {
	v := newVHost(t, "failed")
	v.fill("failed", 2)
	done := decode[accountContract](t, v.run("drop failed --yes"))
	id := fmt.Sprint(done.JournalID)
	for _, test := range must.Cases[struct {
		Line, Words string
		Status      int
	}](t, "testdata/refused_resumes.toml") {
		line := strings.Fields(strings.ReplaceAll(test.Line, "ID", id))
		r := v.run(line...).ends(t, test.Status, test.Words)
		assert.Equal(t, r.out, "", "%v", test.Line)
	}

	v.run("journal undo", id, "--yes").ends(t, cli.ExitDone)
	v.run("journal resume", id, "--yes").ends(t, cli.ExitRefused, "was undone")
}

// A resume that is refused because another program resumes the same record has not looked: its look would take away
// what that one has to see.
func TestRefusedResumeHasNotLooked(t *testing.T) {
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 160)
	r := v.interrupted("worker", 5, "move failed --to queue:worker --rate 20/s --yes")
	first := decode[accountContract](t, r)
	v.fill("failed", 1) // a look at the queue would mark it
	other := journal.New(journal.Options{Path: journalPath})
	release := must.Get(other.Reserve(first.JournalID))(t)

	for _, flag := range []string{"--yes", "--dry-run"} {
		r := v.run("journal resume", fmt.Sprint(first.JournalID), flag).ends(t, cli.ExitRefused)
		assert.Contains(t, r.stderr, fmt.Sprintf("is resuming %d: wait for its end", first.JournalID))
	}

	release()
	v.holds("failed", 161-*first.Moved)
	left := v.take("failed")
	assert.That(t, !left[len(left)-1].Redelivered, "it has looked")
}

func TestResumeOfAnImport(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "from", "to")
	const n = 3000
	v.fill("from", n)
	path := filepath.Join(t.TempDir(), "messages.jsonl")
	v.run("export from", path).ends(t, cli.ExitDone)
	r := v.interrupted("to", 1, "import", path, "--to", "queue:to", "--yes")
	first := decode[accountContract](t, r)
	if *first.Moved == n {
		t.Log("it was over before it was interrupted")
		return
	}

	v.run("journal resume", fmt.Sprint(first.JournalID), "--yes").ends(t, cli.ExitDone)
	v.holds("to", n)
	seen := map[string]bool{}
	for _, d := range v.take("to") {
		seen[d.MessageId] = true
	}

	assert.Equal(t, len(seen), n, "different ones")
}

// ownJournal is a vhost with a journal of its own, whose file can be changed to that of another dlxtop.
type ownJournal struct {
	*vhost
	path string
}

func (o *ownJournal) run(args ...string) result {
	o.t.Helper()
	return o.runProgram(journalAt(o.path), args...)
}

func (o *ownJournal) act(args ...string) (id string) {
	o.t.Helper()
	r := o.run(append(args, "--yes")...).ends(o.t, cli.ExitDone)
	return fmt.Sprint(decode[accountContract](o.t, r).JournalID)
}

func (o *ownJournal) change(steps ...string) {
	o.t.Helper()
	db := must.Get(sql.Open("sqlite", o.path))(o.t)
	defer db.Close()
	for _, step := range steps {
		_, err := db.Exec(step)
		must.That(o.t, err == nil, "%s: %v", step, err)
	}
}

func (o *ownJournal) wantRefused(words string, args ...string) {
	o.t.Helper()
	worker := o.count("worker")
	failed := o.count("failed")
	r := o.run(append(args, "--yes")...).ends(o.t, cli.ExitRefused, words,
		"an earlier version made their fingerprints in another way")
	assert.Equal(o.t, o.count("worker"), worker, "%q: %+v", args, r)
	assert.Equal(o.t, o.count("failed"), failed)
}

// A damaged entry is named, and the others are brought back.
func TestDamagedEntryIsLeftOut(t *testing.T) {
	t.Parallel()
	o := &ownJournal{newVHost(t, "failed", "worker"), filepath.Join(t.TempDir(), "journal.db")}
	for _, id := range []string{"a", "b", "c"} {
		o.publish("", "failed", amqp.Publishing{MessageId: id, Body: []byte(id)})
	}

	o.holds("failed", 3)
	dropped := o.act("drop failed")
	o.change(`UPDATE entries SET content = replace(content, '"message_id":"b"', '"message_id":"b')`)
	o.run("journal undo", dropped, "--yes").says(t, "1 message damaged in the journal")
	o.holds("failed", 2)
	o.run("journal show", dropped, "-o", "table").shows(t, "damaged in the journal: ")
}

// What an earlier dlxtop recorded is shown, and undone if nothing has to be found. If messages must be recognized it is
// refused, and the next step in the refusal works.
func TestJournalOfOtherFingerprints(t *testing.T) {
	t.Parallel()
	o := &ownJournal{newVHost(t, "failed", "worker"), filepath.Join(t.TempDir(), "journal.db")}
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		o.publish("", "failed", amqp.Publishing{MessageId: id, Body: bytes.Repeat([]byte(id), 16<<10)})
	}

	dropped := o.act("drop failed --id a")
	unsure := o.act("drop failed --id b")
	replayed := o.act("replay failed --to queue:worker --id c")
	killed := o.act("replay failed --to queue:worker --id d")
	o.change("UPDATE records SET fingerprints = 1, version = 5",
		"UPDATE outcomes SET outcome = 'unknown' WHERE record = "+unsure,
		"DELETE FROM outcomes WHERE record = "+killed,
		"UPDATE records SET ended = NULL, account = NULL WHERE id = "+killed)

	o.run("journal -o table").shows(t, "1 unknown; unfinished", "1 dropped", "1 moved")
	undo := func(id string) []string { return []string{"journal", "undo", id} }
	o.wantRefused("`dlxtop journal show "+replayed+"` lists them, and `dlxtop move` brings back", undo(replayed)...)
	o.wantRefused("`dlxtop journal show "+replayed+"` lists them", append(undo(replayed), "--insist")...)
	o.wantRefused("where they were sent to", undo(killed)...)
	o.wantRefused("look which of those left in", "journal resume", killed)
	o.run("journal show", replayed, "-o", "table").shows(t, "(default) worker", "c ")
	o.act("move worker --to queue:failed --id c")
	o.act(undo(dropped)...)
	o.wantRefused("1 message may already be in the queue", undo(unsure)...)
	o.act(append(undo(unsure), "--insist")...)
	o.holds("worker", 1).holds("failed", 5)

	now := o.act("replay failed --to queue:worker --id e")
	o.act(undo(now)...)
	o.run(append(undo(dropped), "--yes")...).says(t, "1 brought back before")
	o.holds("failed", 5)
	assert.Equal(t, ids(o.take("failed")), "f c a b e", "the queue")
}
