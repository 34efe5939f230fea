package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

const (
	looksVersion = 1
	// looksMark marks the file, in SQLite's application_id: "dlxl".
	looksMark = 0x646c786c
	// looksWait is how long a look waits for another program that writes.
	looksWait = 2 * time.Second
	// looksAge is how long a queue is remembered that nobody looks at.
	looksAge = 90 * 24 * time.Hour
)

// highest is the delivery count that a message of the queue may have. Times are milliseconds since 1970.
const looksSchema = `
CREATE TABLE looks (
	cluster TEXT    NOT NULL,
	vhost   TEXT    NOT NULL,
	queue   TEXT    NOT NULL,
	highest INTEGER NOT NULL,
	most    INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (cluster, vhost, queue)
) WITHOUT ROWID;
`

// endedSchema is of looks that dlxtop did not end itself: how is a model.Ended. Earlier versions did not have it.
const endedSchema = `
CREATE TABLE IF NOT EXISTS ended (
	cluster TEXT    NOT NULL,
	vhost   TEXT    NOT NULL,
	queue   TEXT    NOT NULL,
	how     TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (cluster, vhost, queue)
) WITHOUT ROWID;
`

// Looks remembers what looks at queues have cost, where returns count towards a delivery limit, and how they ended that
// dlxtop did not end: in a file of its own beside the journal, for all dlxtop of a user. It holds the names of queues
// and no messages. Losing it loses little: each look reads the count of a message first. It opens its file when that is
// first needed. It is safe for concurrent use, by several processes too. Its errors are one sentence.
type Looks struct {
	path string
	now  func() time.Time

	mu sync.Mutex
	db *sql.DB
}

// NewLooks does not touch the disk. journal is the path of the journal.
func NewLooks(journal string) *Looks {
	return &Looks{path: filepath.Join(filepath.Dir(journal), "looks.db"), now: time.Now}
}

// Begin notes that messages of a queue are about to be taken: they may come back once more. Nothing is noted, and begun
// is false, when a delivery count above most is known. before is the highest that was known.
func (l *Looks) Begin(ctx context.Context, cluster string, queue model.QueueRef, limit, most int64) (
	before int64, begun bool, err error,
) {
	err = l.within(ctx, func(tx *sql.Tx) error {
		if before, err = highest(ctx, tx, cluster, queue); err != nil || before > most {
			return err
		}
		begun = true
		return l.set(ctx, tx, cluster, queue, before+1, limit)
	})
	return before, begun && err == nil, err
}

// LookedAt is what is remembered of a queue.
func (l *Looks) LookedAt(ctx context.Context, cluster string, queue model.QueueRef) (looked model.Looked, err error) {
	if !l.exists() {
		return looked, nil
	}
	err = l.within(ctx, func(tx *sql.Tx) error {
		if looked.Highest, err = highest(ctx, tx, cluster, queue); err == nil {
			looked.Ended, err = ended(ctx, tx, cluster, queue)
		}
		return err
	})
	return looked, err
}

// Lock waits until nobody else looks at a queue, and keeps others from it until unlock is called, or the program ends.
func (l *Looks) Lock(ctx context.Context, cluster string, queue model.QueueRef) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return nil, l.explain(err)
	}
	// Few files, that are left where they are: whoever removes one that is locked lets two in.
	const files = 64
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %q", cluster, queue.VHost, queue.Name)
	path := fmt.Sprintf("%s-%d.lock", strings.TrimSuffix(l.path, ".db"), h.Sum32()%files)
	for {
		file, ok, err := lock(path)
		if err != nil {
			return nil, l.explain(err)
		}
		if ok {
			return func() { _ = file.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// End notes how a look ended that was begun, and returns the highest delivery count that a message may have now.
func (l *Looks) End(cluster string, queue model.QueueRef, end peek.LookEnd) (after int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*looksWait)
	defer cancel()
	err = l.within(ctx, func(tx *sql.Tx) error {
		before, err := highest(ctx, tx, cluster, queue)
		if err != nil {
			return err
		}
		how, err := ended(ctx, tx, cluster, queue)
		if err != nil {
			return err
		}
		after = end.After(before)
		if err := l.setEnded(ctx, tx, cluster, queue, end.Then(how)); err != nil {
			return err
		}
		const row = `INSERT INTO looks(cluster, vhost, queue, highest, most, at) VALUES(?, ?, ?, ?, 0, ?)
			ON CONFLICT DO UPDATE SET highest = excluded.highest, at = excluded.at`
		_, err = tx.ExecContext(ctx, row, cluster, queue.VHost, queue.Name, after, l.now().UnixMilli())
		return err
	})
	return after, err
}

// ended is how the last look at a queue ended that dlxtop did not end.
func ended(ctx context.Context, tx *sql.Tx, cluster string, queue model.QueueRef) (how model.Ended, err error) {
	var text []byte
	err = tx.QueryRowContext(ctx, `SELECT how FROM ended WHERE cluster = ? AND vhost = ? AND queue = ?`,
		cluster, queue.VHost, queue.Name).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return how, nil
	case err == nil:
		err = json.Unmarshal(text, &how)
	}
	return how, err
}

func (l *Looks) setEnded(ctx context.Context, tx *sql.Tx, cluster string, queue model.QueueRef, how model.Ended) error {
	if !how.Any() {
		return forgetEnded(ctx, tx, cluster, queue)
	}
	text, err := json.Marshal(how)
	if err != nil {
		return err
	}
	const row = `INSERT OR REPLACE INTO ended(cluster, vhost, queue, how, at) VALUES(?, ?, ?, ?, ?)`
	_, err = tx.ExecContext(ctx, row, cluster, queue.VHost, queue.Name, text, l.now().UnixMilli())
	return err
}

func forgetEnded(ctx context.Context, tx *sql.Tx, cluster string, queue model.QueueRef) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM ended WHERE cluster = ? AND vhost = ? AND queue = ?`,
		cluster, queue.VHost, queue.Name)
	return err
}

// Forget notes that a queue is empty.
func (l *Looks) Forget(ctx context.Context, cluster string, queue model.QueueRef) error {
	if !l.exists() {
		return nil
	}
	return l.within(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM looks WHERE cluster = ? AND vhost = ? AND queue = ?`,
			cluster, queue.VHost, queue.Name)
		if err != nil {
			return err
		}
		return forgetEnded(ctx, tx, cluster, queue)
	})
}

// Looked is what is remembered of the queues of a cluster.
func (l *Looks) Looked(ctx context.Context, cluster string) (map[model.QueueRef]model.Looked, error) {
	looked := map[model.QueueRef]model.Looked{}
	if !l.exists() {
		return looked, nil
	}
	db, err := l.open(ctx)
	if err != nil {
		return looked, l.explain(err)
	}
	rows, err := db.QueryContext(ctx, `SELECT vhost, queue, highest, most, how FROM looks
		LEFT JOIN ended USING (cluster, vhost, queue) WHERE cluster = ?`, cluster)
	if err != nil {
		return looked, l.explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		var queue model.QueueRef
		var of model.Looked
		var how []byte // nil: the last look was ended by who looked
		err := rows.Scan(&queue.VHost, &queue.Name, &of.Highest, &of.Limit, &how)
		if err == nil && how != nil {
			err = json.Unmarshal(how, &of.Ended)
		}
		if err != nil {
			return looked, l.explain(err)
		}
		looked[queue] = of
	}
	return looked, l.explain(rows.Err())
}

// Close closes the file.
func (l *Looks) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db == nil {
		return nil
	}
	err := l.db.Close()
	l.db = nil
	return l.explain(err)
}

func highest(ctx context.Context, tx *sql.Tx, cluster string, queue model.QueueRef) (n int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT highest FROM looks WHERE cluster = ? AND vhost = ? AND queue = ?`,
		cluster, queue.VHost, queue.Name).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n, err
}

func (l *Looks) set(ctx context.Context, tx *sql.Tx, cluster string, queue model.QueueRef, highest, limit int64) error {
	now := l.now()
	for _, old := range []string{`DELETE FROM looks WHERE at < ?`, `DELETE FROM ended WHERE at < ?`} {
		if _, err := tx.ExecContext(ctx, old, now.Add(-looksAge).UnixMilli()); err != nil {
			return err
		}
	}
	const row = `INSERT OR REPLACE INTO looks(cluster, vhost, queue, highest, most, at) VALUES(?, ?, ?, ?, ?, ?)`
	_, err := tx.ExecContext(ctx, row,
		cluster, queue.VHost, queue.Name, highest, limit, now.UnixMilli())
	return err
}

func (l *Looks) exists() bool {
	_, err := os.Stat(l.path)
	return !os.IsNotExist(err)
}

func (l *Looks) within(ctx context.Context, work func(*sql.Tx) error) error {
	db, err := l.open(ctx)
	if err != nil {
		return l.explain(err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return l.explain(err)
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback()
		return l.explain(err)
	}
	return l.explain(tx.Commit())
}

// open opens the file, and makes it when there is none.
func (l *Looks) open(ctx context.Context) (*sql.DB, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.db != nil {
		return l.db, nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	source := url.URL{Scheme: "file", Opaque: (&url.URL{Path: l.path}).EscapedPath(), RawQuery: url.Values{
		"_txlock": {"immediate"},
		// A kill of the program loses nothing; a loss of power may lose the last seconds.
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", looksWait.Milliseconds()), "journal_mode(wal)", "synchronous(normal)"},
	}.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, err
	}
	if err := patiently(ctx, func() error { return prepareLooks(ctx, db) }); err != nil {
		_ = db.Close()
		return nil, err
	}
	l.db = db
	return db, nil
}

// prepareLooks makes the table of a new file, and refuses a file that is not ours.
func prepareLooks(ctx context.Context, db *sql.DB) error {
	found, mark, err := markOf(ctx, db)
	if err == nil && found == looksVersion && mark == looksMark {
		_, err = db.ExecContext(ctx, endedSchema)
		return err
	}
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if found, mark, err = markOf(ctx, tx); err != nil || found == looksVersion && mark == looksMark {
		return err // another process was faster
	}
	if found != 0 || mark != 0 {
		return errForeign
	}
	marks := fmt.Sprintf(`PRAGMA user_version = %d; PRAGMA application_id = %d`, looksVersion, looksMark)
	if _, err := tx.ExecContext(ctx, looksSchema+endedSchema+marks); err != nil {
		return err
	}
	return tx.Commit()
}

// explain puts an error into one sentence.
func (l *Looks) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	path := model.Printable(l.path)
	if errors.Is(err, errForeign) {
		return fmt.Errorf("%s was not written by this version of dlxtop: move it away", path)
	}
	return fmt.Errorf("%s cannot be used (%s): only this program remembers the cost of looks; make it "+
		"writable, or move it away", path, model.Printable(err.Error()))
}
