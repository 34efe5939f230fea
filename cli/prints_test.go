package cli_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// olderJournal is a journal in a file that can be made one of the version before the kind of fingerprints was kept.
type olderJournal struct {
	*vhost
	path string
}

func (o *olderJournal) run(args ...string) result {
	o.t.Helper()
	return o.runProgram(journalAt(o.path), args...)
}

func (o *olderJournal) act(args ...string) (id string) {
	o.t.Helper()
	r := o.run(append(args, "--yes")...).ends(o.t, cli.ExitDone)
	return fmt.Sprint(decode[accountContract](o.t, r).JournalID)
}

// age makes the file older, with what else is to be changed in it.
func (o *olderJournal) age(changes ...string) {
	o.t.Helper()
	o.change(append([]string{
		`DROP TRIGGER newer`, `DROP TRIGGER older`,
		`ALTER TABLE records DROP COLUMN fingerprints`, `ALTER TABLE records DROP COLUMN version`,
		`ALTER TABLE records DROP COLUMN login`, `ALTER TABLE records DROP COLUMN reason`,
		`ALTER TABLE records DROP COLUMN sequel`, `PRAGMA user_version = 4`,
	}, changes...)...)
}

// change does steps of SQL in the file.
func (o *olderJournal) change(steps ...string) {
	o.t.Helper()
	db := must.Get(sql.Open("sqlite", o.path))(o.t)
	defer db.Close()
	for _, step := range steps {
		_, err := db.Exec(step)
		must.That(o.t, err == nil, "%s: %v", step, err)
	}
}

func (o *olderJournal) wantRefused(words string, args ...string) {
	o.t.Helper()
	worker, failed := o.count("worker"), o.count("failed")
	r := o.run(append(args, "--yes")...).ends(o.t, cli.ExitRefused, words,
		"an earlier version made their fingerprints in another way")
	assert.That(o.t, o.count("worker") == worker && o.count("failed") == failed, "%q: %+v", args, r)
}

// A damaged entry is named, and the others are brought back.
func TestDamagedEntryIsLeftOut(t *testing.T) {
	t.Parallel()
	o := &olderJournal{newVHost(t), filepath.Join(t.TempDir(), "journal.db")}
	o.declare("failed", nil)
	o.declare("worker", nil)
	for _, id := range []string{"a", "b", "c"} {
		o.publish("", "failed", amqp.Publishing{MessageId: id, Body: []byte(id)})
	}
	must.Await(t, "they are there", func() bool { return o.count("failed") == 3 })
	dropped := o.act("drop", "failed")
	o.change(`UPDATE entries SET content = replace(content, '"message_id":"b"', '"message_id":"b')`)
	r := o.run("journal", "undo", dropped, "--yes")
	if !strings.Contains(r.stderr, "1 message damaged in the journal") || o.count("failed") != 2 {
		t.Errorf("%d are back: %+v", o.count("failed"), r)
	}
	o.run("journal", "show", dropped, "-o", "table").shows(t, "damaged in the journal: ")
}

// TestJournalOfOtherFingerprints: what an earlier dlxtop recorded is shown, and undone where nothing has to be found.
// Where the messages have to be recognized it is refused, and the next step that the refusal names works.
func TestJournalOfOtherFingerprints(t *testing.T) {
	o := &olderJournal{newVHost(t), filepath.Join(t.TempDir(), "journal.db")}
	o.declare("failed", nil)
	o.declare("worker", nil)
	fill := func(ids ...string) {
		t.Helper()
		var messages []amqp.Publishing
		for _, id := range ids {
			messages = append(messages, amqp.Publishing{MessageId: id, Body: bytes.Repeat([]byte(id), 16<<10)})
		}
		dial.Publish(t, o.channel, "failed", messages...)
	}
	fill("a", "b", "c", "d", "e", "f")
	dropped := o.act("drop", "failed", "--id", "a")
	unsure := o.act("drop", "failed", "--id", "b")
	replayed := o.act("replay", "failed", "--to", "queue:worker", "--id", "c")
	killed := o.act("replay", "failed", "--to", "queue:worker", "--id", "d")
	o.age("UPDATE outcomes SET outcome = 'unknown' WHERE record = "+unsure,
		"DELETE FROM outcomes WHERE record = "+killed,
		"UPDATE records SET ended = NULL, account = NULL WHERE id = "+killed)

	r := o.run("journal", "-o", "table")
	assert.That(t, strings.Contains(r.out, "1 unknown; unfinished") && strings.Contains(r.out, "1 dropped") &&
		strings.Contains(r.out, "1 moved"), "%+v", r)
	undo := func(id string) []string { return []string{"journal", "undo", id} }
	o.wantRefused("`dlxtop journal show "+replayed+"` lists them, and `dlxtop move` brings back", undo(replayed)...)
	o.wantRefused("`dlxtop journal show "+replayed+"` lists them", append(undo(replayed), "--insist")...)
	o.wantRefused("where they were sent to", undo(killed)...)
	o.wantRefused("look which of those left in", "journal", "resume", killed)
	r = o.run("journal", "show", replayed, "-o", "table")
	assert.That(t, strings.Contains(r.out, "(default) worker") && strings.Contains(r.out, "c "), "%+v", r)
	o.act("move", "worker", "--to", "queue:failed", "--id", "c")
	o.act(undo(dropped)...)
	o.wantRefused("1 message may already be in the queue", undo(unsure)...)
	o.act(append(undo(unsure), "--insist")...)
	if o.count("worker") != 1 || o.count("failed") != 5 {
		t.Errorf("%v", o.counts("worker", "failed"))
	}

	now := o.act("replay", "failed", "--to", "queue:worker", "--id", "e")
	o.act(undo(now)...)
	r = o.run(append(undo(dropped), "--yes")...)
	assert.That(t, strings.Contains(r.stderr, "1 brought back before"), "%+v", r)
	seen := ""
	for _, d := range o.take("failed") {
		seen += d.MessageId
	}
	assert.Equal(t, seen, "fcabe", "the queue")
}
