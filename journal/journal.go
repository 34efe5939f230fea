package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// What holds where Options name nothing.
const (
	defaultAge  = 90 * 24 * time.Hour
	defaultSize = 2 << 30
)

// Options say where the journal is, and how much of it is kept.
type Options struct {
	Path  string        // of the file; its directory is made when it is not there
	Age   time.Duration // finished records that are older are forgotten; 0 is 90 days
	Bytes int64         // of the file: above that the oldest finished records are forgotten; 0 is 2 GiB
	Login string        // the user of this machine
	Now   func() time.Time
}

// Journal is what was done. It opens its file when that is first needed, and tries again after an error. It is safe for
// concurrent use, by several processes too.
type Journal struct {
	options     Options
	full, quick database // the same file; quick does not wait for the disk

	mu    sync.Mutex
	locks map[int64]*os.File // of the records that this process works on
}

// New does not touch the disk.
func New(o Options) *Journal {
	if o.Age <= 0 {
		o.Age = defaultAge
	}
	if o.Bytes <= 0 {
		o.Bytes = defaultSize
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	j := &Journal{options: o, locks: map[int64]*os.File{}}
	j.full = database{path: o.Path, place: place, pragmas: journalPragmas("full"), schema: journalSchema}
	j.quick = database{path: o.Path, pragmas: journalPragmas("normal"), place: func(ctx context.Context, _ string) error {
		_, err := j.open(ctx)
		return err
	}, schema: journalSchema}
	return j
}

func (j *Journal) open(ctx context.Context) (*sql.DB, error) { return j.full.open(ctx) }

// journalPragmas say how SQLite opens the journal; synchronous is how far a commit waits for the disk.
func journalPragmas(synchronous string) []string {
	return []string{
		fmt.Sprintf("busy_timeout(%d)", busyLimit.Milliseconds()), "auto_vacuum(incremental)", "journal_mode(wal)",
		"synchronous(" + synchronous + ")", "foreign_keys(on)", "wal_autocheckpoint(4000)", "journal_size_limit(67108864)",
	}
}

// Check proves that the journal can be written.
func (j *Journal) Check(ctx context.Context) error {
	db, err := j.open(ctx)
	if err == nil {
		// A transaction that changes nothing would not touch the disk.
		_, err = db.ExecContext(ctx, `INSERT INTO checks(at) VALUES(?)`, j.options.Now().UnixMilli())
	}
	if err == nil {
		_, err = db.ExecContext(ctx, `DELETE FROM checks`)
	}
	return j.explain("write", err)
}

// Close closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id := range j.locks {
		j.unlock(id)
	}
	return j.explain("close", errors.Join(j.quick.close(), j.full.close()))
}

// exists reports whether there is a journal already: looking at it need not make one. One that has no place is no
// journal without records: it is opened, and refuses.
func (j *Journal) exists() bool {
	return j.options.Path == "" || j.full.exists()
}

// within runs work in one transaction.
func (j *Journal) within(ctx context.Context, in *database, attempt string, work func(*sql.Tx) error) error {
	return j.explain(attempt, in.within(ctx, work))
}

func (j *Journal) lockPath(id int64) string {
	return filepath.Join(filepath.Dir(j.options.Path), fmt.Sprintf("running-%d.lock", id))
}
