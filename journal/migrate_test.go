package journal_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Existing files were made by this, so it must never change; new migrations are appended.
func TestPublishedMigrationsStay(t *testing.T) {
	sum := sha256.Sum256([]byte(journal.FirstMigration))
	assert.Equal(t, hex.EncodeToString(sum[:8]), "a0e3a44e7b8650fa")
}

// A record names the program that changed its messages, and its intent has it for a resume.
func TestEditOfARecord(t *testing.T) {
	program := must.Get(mend.Parse(`.body = "é"`))(t)
	j := open(t, journal.Options{Path: at(t)})
	id := begin(t, j, plan.Record{
		Operation: plan.Replay, From: build.Ref("q"), Intent: &plan.Intent{Options: plan.Options{Mend: program}},
	})
	chain, err := j.Chain(t.Context(), id)
	must.Do(t, err)
	assert.Equal(t, chain[0].Edit, program.Text, "%+v %v", chain, err)
	must.That(t, chain[0].Intent.Mend != nil, "%+v %v", chain, err)
	assert.Equal(t, chain[0].Intent.Mend.Text, program.Text)
	id = begin(t, j, record(plan.Drop))
	old, err := j.Record(t.Context(), id)
	must.Do(t, err)
	assert.Equal(t, old.Edit, "", "%+v %v", old, err)
}

// made returns a closed journal with one record.
func made(t *testing.T) string {
	t.Helper()
	path := at(t)
	j := journal.New(journal.Options{Path: path})
	id := begin(t, j, record(plan.Drop))
	check(t, j.Write(id, dropped(1, 2, 3), nil), j.Finish(id, nil, plan.Account{}), j.Close())
	return path
}

// withOthers returns a journal with a drop and an undo of one of its messages, 1 and 2, and a killed replay, 3, that
// another version of dlxtop wrote: with other fingerprints.
func withOthers(t *testing.T) (j *journal.Journal, db *sql.DB) {
	t.Helper()
	path := at(t)
	j = open(t, journal.Options{Path: path})
	drop := begin(t, j, record(plan.Drop))
	undo := begin(t, j, undoOf(drop))
	replay := record(plan.Replay)
	replay.To = "queue:worker"
	replay.Cluster = "rabbit@a"
	replay.Planned = 2
	killed := begin(t, j, replay)

	sent := restored(1, 2)
	for i := range sent {
		sent[i].Undoes = 0
		sent[i].Sent.Reached = []string{"worker"}
	}

	check(t, j.Write(drop, dropped(1, 2, 3), settled(plan.Dropped, 1, 2, 3)),
		j.Finish(drop, nil, plan.Account{Dropped: 3}),
		j.Write(undo, restored(2), settled(plan.Moved, 2)), j.Finish(undo, nil, plan.Account{Moved: 1}),
		j.Write(killed, sent, settled(plan.Moved, 1)), j.Close())

	db = must.Get(sql.Open("sqlite", path))(t)
	t.Cleanup(func() { db.Close() })
	must.Get(db.Exec(`UPDATE records SET fingerprints = 1, version = 5`))(t)

	return open(t, journal.Options{Path: path}), db
}

// A record with another kind of fingerprints is listed and shown like others; new records have this program's kind. A
// drop that needs no search can be undone.
func TestFingerprintsOfBefore(t *testing.T) {
	j, _ := withOthers(t)
	id := begin(t, j, record(plan.Replay))
	records, err := j.Records(t.Context(), 0)
	must.Do(t, err)
	must.Equal(t, len(records), 4, "%+v %v", records, err)
	must.Equal(t, records[0].ID, id)
	must.That(t, !records[0].OtherPrints, "%+v %v", records, err)
	for _, r := range records[1:] {
		assert.That(t, r.OtherPrints, "%d has the fingerprints of now", r.ID)
	}

	r := records[1]
	assert.Equal(t, r.ID, 3, "%+v: %s", r, r.Told())
	assert.Equal(t, r.To, "queue:worker")
	assert.Equal(t, r.Cluster, "rabbit@a")
	assert.Equal(t, r.Entries, 2)
	assert.Equal(t, r.Uncertain(), 1)
	assert.Equal(t, r.Told(), "1 moved, 1 unknown; unfinished")
	got := read(t, j, 3)
	must.Equal(t, len(got), 2, "%+v", got)
	assert.Equal(t, got[0].Sent.Reached[0], "worker")
	assert.Equal(t, got[0].Outcome, plan.Moved)
	chain, err := j.Chain(t.Context(), 3)
	must.Do(t, err)
	must.Equal(t, len(chain), 1, "%+v %v", chain, err)
	assert.That(t, chain[0].OtherPrints, "%+v %v", chain, err)
	assert.Equal(t, records[3].Account.Dropped, 3, "%+v", records)
	assert.Equal(t, records[3].Undone, 1)
	assert.Equal(t, records[2].Undoes, 1)
	got = read(t, j, 1)
	must.Equal(t, len(got), 3, "%+v", got)
	assert.That(t, !got[0].Undone, "%+v", got)
	assert.That(t, got[1].Undone, "%+v", got)
	assert.Equal(t, got[2].Outcome, plan.Dropped)
	undo, granted, err := j.Claim(t.Context(), undoOf(1), plan.Claim{Positions: []int{1, 2, 3}})
	must.Do(t, err)

	assert.Equal(t, undo, id+1, "%d %v %v", undo, granted, err)
	assert.Equal(t, len(granted), 2)
}

// A program that has had the file open since before an upgrade continues to write records of its own kind. It cannot
// undo or resume one of another kind, as it would not find the messages. One that knows the kind, but not later
// versions, can undo a record, but not resume it.
func TestOlderProgramBesides(t *testing.T) {
	j, db := withOthers(t)
	id := begin(t, j, record(plan.Replay))
	insert := func(prints int, undoes, resumes int64) error {
		_, err := db.Exec(`INSERT INTO records(operation, vhost, queue, target, user, broker, began, planned, undoes, resumes,
			session, edit, cluster, fingerprints, version, login, reason)
			VALUES('drop', '/', 'q', '', 'guest', 'b', 1, 1, ?, ?, '', '', '', ?, 5, '', '')`, undoes, resumes, prints)
		return err
	}

	check(t, insert(1, 0, 0), insert(1, 1, 0), insert(1, 0, 3))

	for _, err := range []error{insert(1, id, 0), insert(1, 0, id), insert(message.FingerprintKind, 0, id)} {
		assert.Fails(t, err, "start dlxtop again", "%v", err)
	}

	records, err := j.Records(t.Context(), 3)
	ours := func(r plan.Record) bool { return !r.OtherPrints }
	must.Do(t, err)
	assert.Equal(t, len(records), 3, "%+v %v", records, err)
	assert.That(t, !slices.ContainsFunc(records, ours), "%+v %v", records, err)
	check(t, insert(message.FingerprintKind, id, 0))
}

// wantError wants one sentence that names the file and what to do.
func wantError(t *testing.T, err error, path string, words ...string) {
	t.Helper()
	must.That(t, errors.Is(err, plan.ErrJournal), "%v", err)
	for _, want := range append(words, path) {
		assert.Contains(t, err.Error(), want)
	}
	assert.Lacks(t, err.Error(), "\n")
	assert.That(t, len(err.Error()) <= 400, "that is no sentence: %v", err)
}

func TestUnusableFiles(t *testing.T) {
	pragma := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			j := journal.New(journal.Options{Path: path})
			check(t, j.Pragma(t.Context(), text), j.Close())
		}
	}

	for _, test := range []struct {
		name   string
		damage func(t *testing.T, path string)
		words  []string
	}{
		{"no database", func(t *testing.T, path string) {
			check(t, os.WriteFile(path, []byte(strings.Repeat("this is a shopping list\n", 100)), 0o600))
		}, []string{"damaged", "move it away"}},
		{"damaged in the middle", func(t *testing.T, path string) {
			content := must.Get(os.ReadFile(path))(t)
			for i := 4096 / 2; i < len(content); i++ {
				content[i] = 0xa5
			}

			check(t, os.WriteFile(path, content, 0o600))
		}, []string{"damaged", "move it away"}},
		{"newer", pragma("user_version = 1000"), []string{"newer version of dlxtop"}},
		{"older", pragma("user_version = 6"), []string{"before its version 1.0.0", "move the file away"}},
		{"of another program", pragma("application_id = 7"), []string{"not a journal of dlxtop", "move the file away"}},
		{"empty", func(t *testing.T, path string) {
			check(t, os.Truncate(path, 0))
		}, []string{"is empty (0 bytes)", "remove it"}},
		{"a directory", func(t *testing.T, path string) {
			check(t, os.Remove(path), os.Mkdir(path, 0o700))
		}, []string{"in its way"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := made(t)
			test.damage(t, path)

			j := open(t, journal.Options{Path: path})
			_, err := j.Begin(t.Context(), record(plan.Drop))
			wantError(t, err, path, test.words...)

			wantError(t, j.Check(t.Context()), path, test.words...)
		})
	}
}

func TestUnusableDirectory(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "state"), nil, 0o600))
	path := filepath.Join(dir, "state", "dlxtop", "journal.db")
	wantError(t, open(t, journal.Options{Path: path}).Check(t.Context()), path, "in its way", "XDG_STATE_HOME")

	path = "/proc/dlxtop/journal.db" // read-only even for root
	err := open(t, journal.Options{Path: path}).Check(t.Context())
	assert.That(t, errors.Is(err, plan.ErrJournal), "%v", err)
}

// A record that does not fit is not written at all, and what was there before stays.
func TestWhatDoesNotFitLeavesTheRecordAsItWas(t *testing.T) {
	path := made(t)
	j := open(t, journal.Options{Path: path})
	id := begin(t, j, record(plan.Drop))
	check(t, j.Pragma(t.Context(), "max_page_count = 40"))
	large := dropped(1, 2)
	large[1].Message.Body = make([]byte, 500_000)
	wantError(t, j.Write(id, large, nil), path, "the disk is full", "make room")
	check(t, j.Pragma(t.Context(), "max_page_count = 1000000"), j.Write(id, dropped(7), nil))
	got := read(t, j, id)
	must.Equal(t, len(got), 1, "%+v", got)
	assert.Equal(t, got[0].Position, 7)
	assert.Equal(t, len(read(t, j, 1)), 3, "entries are left of what was there before")
}

// Rows damaged on disk give an error in one sentence, or a record that can be shown, but never a crash.
func FuzzRows(f *testing.F) {
	path := filepath.Join(f.TempDir(), "journal.db")
	j := journal.New(journal.Options{Path: path})
	f.Cleanup(func() { j.Close() })
	// A drop with an unfinished undo.
	first := must.Get(j.Begin(f.Context(), record(plan.Drop)))(f)
	second := must.Get(j.Begin(f.Context(), undoOf(first)))(f)
	must.Do(f, j.Write(second, restored(1, 2), settled(plan.Moved, 1)))
	db := must.Get(sql.Open("sqlite", path+"?_pragma=synchronous(off)"))(f)
	f.Cleanup(func() { db.Close() })

	for _, query := range []string{
		fmt.Sprintf(`INSERT INTO entries(record, count, content) VALUES(%d, 1, '')`, first),
		fmt.Sprintf(`INSERT INTO outcomes(record, outcome, reason, count, positions) VALUES(%d, '', '', 1, '')`, first),
	} {
		must.Get(db.Exec(query))(f)
	}

	lines := func(entries []plan.Entry) string {
		var b strings.Builder
		for i := range entries {
			line := must.Get(json.Marshal(entries[i].JSON()))(f)
			b.Write(append(line, '\n'))
		}
		return b.String()
	}

	account := `{"moved":0,"dropped":2,"refused":0,"returned":0,"unknown":0,"gone":0,"stopped":"the disk is full"}`
	f.Add(lines(dropped(1, 2, 3)), lines(restored(1, 2)), "dropped", uint16(1), uint16(3), account, "1767225600000", "3")
	f.Add(lines(dropped(1)), `{"position":2,"fingerprint":"00112233445566778899aabbccddeeff","exchange":"","routing_key":"q","undoes":1}`, "moved", uint16(1), uint16(1), "", "", "-1")
	f.Add("{}\n\n[", "null", "\x1b[2J", uint16(9), uint16(9), "null", "soon", "9223372036854775807")

	f.Fuzz(func(t *testing.T, content, undoing, outcome string, from, to uint16, account, ended, planned string) {
		for _, change := range []struct {
			query  string
			values []any
		}{
			{`UPDATE entries SET content = ? WHERE record = ?`, []any{content, first}},
			{`UPDATE entries SET content = ? WHERE record = ?`, []any{undoing, second}},
			{
				`UPDATE outcomes SET outcome = ?, positions = ? WHERE record = ?`,
				[]any{outcome, fmt.Sprintf("%d-%d", from, to), first},
			},
			{`UPDATE records SET account = nullif(?, ''), ended = nullif(?, ''), planned = ?`, []any{account, ended, planned}},
		} {
			must.Get(db.Exec(change.query, change.values...))(t)
		}

		limit.Check(t, len(content)+len(undoing)+len(account), func() {
			records, err := j.Records(t.Context(), 0)
			checkSentence(t, err)
			for i := range records {
				assert.That(t, records[i].Told() != "", "nothing is said of %+v", records[i])
			}

			_, err = j.Unfinished(t.Context())
			checkSentence(t, err)
			for _, id := range []int64{first, second} {
				err := j.Entries(t.Context(), id, func(e *plan.Entry) error {
					_, err := json.Marshal(e.JSON())
					return err
				})
				checkSentence(t, err)
			}
		})
	})
}

func checkSentence(t *testing.T, err error) {
	t.Helper()
	assert.That(t, err == nil || model.Printable(err.Error()) == err.Error() && len(err.Error()) <= 1000,
		"that is no sentence: %q", err)
}
