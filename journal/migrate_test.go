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
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Existing files were made by these, so they must never change; new ones are appended.
func TestPublishedMigrationsStay(t *testing.T) {
	sum := sha256.Sum256([]byte(journal.Migrations(0, 7)))
	assert.Equal(t, hex.EncodeToString(sum[:8]), "693d9358eff81dd1")
}

// firstRows are a drop of three messages in a file of the first version, and the undo of one of them.
const firstRows = `
PRAGMA user_version = 1; PRAGMA application_id = 1684830324;
INSERT INTO records VALUES(7, 'drop', '/', 'failed', '', 'guest', 'localhost:5672', 4102444800000, 4102444801000, 3, 0, '{"dropped":3}');
INSERT INTO entries VALUES(7, 3, '{"position":1,"message_id":"a","fingerprint":"01010101010101010101010101010101","exchange":"","routing_key":"k","message":{"exchange":"","routing_key":"k","redelivered":false,"properties":{},"headers":{},"body":"a","body_encoding":"utf-8","body_bytes":1}}
{"position":2,"message_id":"b","fingerprint":"02020202020202020202020202020202","exchange":"","routing_key":"k","message":{"exchange":"","routing_key":"k","redelivered":false,"properties":{},"headers":{},"body":"b","body_encoding":"utf-8","body_bytes":1}}
{"position":3,"message_id":"c","fingerprint":"03030303030303030303030303030303","exchange":"","routing_key":"k","message":{"exchange":"","routing_key":"k","redelivered":false,"properties":{},"headers":{},"body":"c","body_encoding":"utf-8","body_bytes":1}}
');
INSERT INTO outcomes VALUES(7, 'dropped', '', 3, '1-3');
INSERT INTO records VALUES(9, 'undo', '/', 'failed', '', 'guest', 'localhost:5672', 4102444802000, 4102444803000, 1, 7, '{"moved":1}');
INSERT INTO entries VALUES(9, 1, '{"position":2,"fingerprint":"02020202020202020202020202020202","exchange":"","routing_key":"k","undoes":2,"sent":{"fingerprint":"04040404040404040404040404040404","exchange":"","routing_key":"failed"}}
');
INSERT INTO outcomes VALUES(9, 'moved', '', 1, '2');
`

func firstVersion(t *testing.T) (path string) {
	t.Helper()
	path = at(t)
	check(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600))
	db, err := sql.Open("sqlite", path)
	check(t, err)
	defer db.Close()
	_, err = db.Exec(journal.Migrations(0, 1) + firstRows)
	check(t, err)
	return path
}

// A file of the first version is read and upgraded, also when several programs open it at once.
func TestFirstVersion(t *testing.T) {
	path := firstVersion(t)
	var all sync.WaitGroup
	for range 4 {
		j := open(t, journal.Options{Path: path})
		all.Go(func() {
			records, err := j.Records(t.Context(), 0)
			assert.That(t, err == nil && len(records) == 2 && records[1].Account.Dropped == 3 && records[1].Undone == 1 &&
				records[0].Undoes == 7, "%+v %v", records, err)
		})
	}
	all.Wait()
	j := open(t, journal.Options{Path: path})
	got := read(t, j, 7)
	assert.That(t, len(got) == 3 && !got[0].Undone && got[1].Undone && got[2].Outcome == plan.Dropped, "%+v", got)
	id, granted, err := j.Claim(t.Context(), undoOf(7), plan.Claim{Positions: []int{1, 2, 3}})
	assert.That(t, err == nil && id == 10 && len(granted) == 2, "%d %v %v", id, granted, err)
}

// A failed migration leaves the file as it was.
func TestMigrationIsWhole(t *testing.T) {
	path := firstVersion(t)
	db, err := sql.Open("sqlite", path)
	check(t, err)
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE claims (in_the_way TEXT)`)
	check(t, err)
	assert.That(t, open(t, journal.Options{Path: path}).Check(t.Context()) != nil, "no error")
	var version, columns int
	check(t, db.QueryRow(`PRAGMA user_version`).Scan(&version),
		db.QueryRow(`SELECT count(*) FROM pragma_table_info('records')`).Scan(&columns))
	assert.That(t, version == 1 && columns == 12, "version %d with %d columns", version, columns)
}

// A record names the program that changed its messages, and its intent has it for a resume. An older dlxtop, which
// would resume without it, refuses the file because of its version.
func TestEditOfARecord(t *testing.T) {
	program := must.Get(mend.Parse(`.body = "é"`))(t)
	path := firstVersion(t)
	j := open(t, journal.Options{Path: path})
	id, err := j.Begin(t.Context(), plan.Record{
		Operation: plan.Replay, From: model.QueueRef{VHost: "/", Name: "q"}, Intent: &plan.Intent{Mend: program},
	})
	check(t, err)
	chain, err := j.Chain(t.Context(), id)
	assert.That(t, err == nil && chain[0].Edit == program.Text && chain[0].Intent.Mend != nil &&
		chain[0].Intent.Mend.Text == program.Text, "%+v %v", chain, err)
	old, err := j.Record(t.Context(), 7)
	assert.That(t, err == nil && old.Edit == "", "%+v %v", old, err)
	db := must.Get(sql.Open("sqlite", path))(t)
	defer db.Close()
	var version int
	check(t, db.QueryRow(`PRAGMA user_version`).Scan(&version))
	assert.That(t, version >= 3, "the version is %d", version)
}

// fourthRows are a replay in a file of the fourth version, the last one without the kind of fingerprints.
const fourthRows = `
PRAGMA user_version = 4;
INSERT INTO records(id, operation, vhost, queue, target, user, broker, began, planned, undoes, cluster)
	VALUES(11, 'replay', '/', 'failed', 'queue:worker', 'guest', 'localhost:5672', 4102444804000, 2, 0, 'rabbit@a');
INSERT INTO entries VALUES(11, 2, '{"position":1,"message_id":"d","fingerprint":"05050505050505050505050505050505","exchange":"","routing_key":"k","sent":{"fingerprint":"06060606060606060606060606060606","exchange":"","routing_key":"worker","reached":["worker"]}}
{"position":2,"message_id":"e","fingerprint":"07070707070707070707070707070707","exchange":"","routing_key":"k","sent":{"fingerprint":"08080808080808080808080808080808","exchange":"","routing_key":"worker","reached":["worker"]}}
');
INSERT INTO outcomes VALUES(11, 'moved', '', 1, '1');
`

func fourthVersion(t *testing.T) (path string, db *sql.DB) {
	t.Helper()
	path = firstVersion(t)
	db, err := sql.Open("sqlite", path)
	check(t, err)
	t.Cleanup(func() { db.Close() })
	_, err = db.Exec(journal.Migrations(1, 4) + fourthRows)
	check(t, err)
	return path, db
}

// A record in a file without kinds of fingerprints has the first kind, and is listed and shown as before; new records
// have this program's kind. A drop that needs no search can be undone.
func TestFingerprintsOfBefore(t *testing.T) {
	path, db := fourthVersion(t)
	j := open(t, journal.Options{Path: path})
	id := begin(t, j, record(plan.Replay))
	records, err := j.Records(t.Context(), 0)
	must.That(t, err == nil && len(records) == 4 && records[0].ID == id && !records[0].OtherPrints, "%+v %v", records, err)
	for _, r := range records[1:] {
		assert.That(t, r.OtherPrints, "%d has the fingerprints of now", r.ID)
	}
	if r := records[1]; r.ID != 11 || r.To != "queue:worker" || r.Cluster != "rabbit@a" || r.Entries != 2 ||
		r.Uncertain() != 1 || r.Told() != "1 moved, 1 unknown; unfinished" {
		t.Errorf("%+v: %s", r, r.Told())
	}
	got := read(t, j, 11)
	assert.That(t, len(got) == 2 && got[0].Sent.Reached[0] == "worker" && got[0].Outcome == plan.Moved, "%+v", got)
	chain, err := j.Chain(t.Context(), 11)
	assert.That(t, err == nil && len(chain) == 1 && chain[0].OtherPrints, "%+v %v", chain, err)
	_, granted, err := j.Claim(t.Context(), undoOf(7), plan.Claim{Positions: []int{1, 3}})
	assert.That(t, err == nil && len(granted) == 2, "%v %v", granted, err)
	var version int
	check(t, db.QueryRow(`PRAGMA user_version`).Scan(&version))
	assert.That(t, version >= 5, "the version is %d", version)
}

// A program that has had the file open since before the upgrade continues to write records of its own kind. It cannot
// undo or resume one of another kind, as it would not find the messages. One that knows the kind, but not later
// versions, can undo a record, but not resume it.
func TestOlderProgramBesides(t *testing.T) {
	path, older := fourthVersion(t)
	j := open(t, journal.Options{Path: path})
	id := begin(t, j, record(plan.Replay))
	insert := func(undoes, resumes int64) error {
		_, err := older.Exec(`INSERT INTO records(operation, vhost, queue, target, user, broker, began, planned, undoes,
			resumes, session, intent, edit, cluster) VALUES('drop', '/', 'q', '', 'guest', 'b', 1, 1, ?, ?, '', NULL, '', '')`,
			undoes, resumes)
		return err
	}
	check(t, insert(0, 0), insert(7, 0), insert(0, 11))
	for _, err := range []error{insert(id, 0), insert(0, id)} {
		assert.That(t, err != nil && strings.Contains(err.Error(), "start dlxtop again"),
			"it goes on with a newer record: %v", err)
	}
	insertFifth := func(undoes, resumes int64) error {
		_, err := older.Exec(`INSERT INTO records(operation, vhost, queue, target, user, broker, began, planned, undoes,
			resumes, fingerprints) VALUES('undo', '/', 'q', '', 'guest', 'b', 1, 1, ?, ?, ?)`, undoes, resumes,
			message.FingerprintKind)
		return err
	}
	if err := insertFifth(0, id); err == nil || !strings.Contains(err.Error(), "start dlxtop again") {
		t.Errorf("the fifth version resumes a newer record: %v", err)
	}
	records, err := j.Records(t.Context(), 3)
	ours := func(r plan.Record) bool { return !r.OtherPrints }
	assert.That(t, err == nil && len(records) == 3 && !slices.ContainsFunc(records, ours), "%+v %v", records, err)
	check(t, insertFifth(id, 0))
}

// wantError wants one sentence that names the file and what to do.
func wantError(t *testing.T, err error, path string, words ...string) {
	t.Helper()
	must.That(t, errors.Is(err, plan.ErrJournal), "%v", err)
	for _, want := range append(words, path) {
		assert.That(t, strings.Contains(err.Error(), want), "%q is not in: %v", want, err)
	}
	assert.That(t, !strings.Contains(err.Error(), "\n") && len(err.Error()) <= 400, "that is no sentence: %v", err)
}

// made is a closed journal with one record.
func made(t *testing.T) string {
	t.Helper()
	path := at(t)
	j := journal.New(journal.Options{Path: path})
	id := begin(t, j, record(plan.Drop))
	check(t, j.Write(id, dropped(1, 2, 3), nil), j.Finish(id, nil, plan.Account{}), j.Close())
	return path
}

func TestUnusableFiles(t *testing.T) {
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
		{"newer", func(t *testing.T, path string) {
			j := journal.New(journal.Options{Path: path})
			check(t, j.Pragma(t.Context(), "user_version = 1000"), j.Close())
		}, []string{"newer version of dlxtop"}},
		{"of another program", func(t *testing.T, path string) {
			j := journal.New(journal.Options{Path: path})
			check(t, j.Pragma(t.Context(), "application_id = 7"), j.Close())
		}, []string{"not a journal of dlxtop", "move the file away"}},
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
	assert.That(t, len(got) == 1 && got[0].Position == 7, "%+v", got)
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
		limit.Keep(t, len(content)+len(undoing)+len(account), func() {
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
