package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// The defaults of Options.
const (
	defaultAge  = 90 * 24 * time.Hour
	defaultSize = 2 << 30
)

// Options say where the journal is, and how much of it to keep.
type Options struct {
	Path  string        // of the file; its directory is created if needed
	Age   time.Duration // older finished records are deleted; 0 is 90 days
	Bytes int64         // of the file: beyond that the oldest finished records are deleted; 0 is 2 GiB
	Login string        // the user on this machine
	Now   func() time.Time
}

// Journal records what was done. It opens its file on demand, and tries again after an error. It is safe for concurrent
// use, also by several processes.
type Journal struct {
	options     Options
	full, quick database // the same file; quick does not wait for the disk
	locks       sync.Map // by record that this process works on: a *flock.Flock
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

	j := &Journal{options: o}
	j.full = database{path: o.Path, place: place, pragmas: journalPragmas("full"), schema: journalSchema}
	j.quick = database{path: o.Path, pragmas: journalPragmas("normal"), place: func(ctx context.Context, _ string) error {
		_, err := j.open(ctx)
		return err
	}, schema: journalSchema}

	return j
}

func (j *Journal) open(ctx context.Context) (*sql.DB, error) { return j.full.open(ctx) }

// journalPragmas are SQLite's settings for the journal; synchronous is how far a commit waits for the disk.
func journalPragmas(synchronous string) []string {
	return []string{
		fmt.Sprintf("busy_timeout(%d)", busyLimit.Milliseconds()), "auto_vacuum(incremental)", "journal_mode(wal)",
		"synchronous(" + synchronous + ")", "foreign_keys(on)", "wal_autocheckpoint(4000)", "journal_size_limit(67108864)",
	}
}

// Check proves that the journal is writable.
func (j *Journal) Check(ctx context.Context) error {
	db, err := j.open(ctx)
	if err == nil {
		// A transaction without changes would not touch the disk.
		_, err = db.ExecContext(ctx, `INSERT INTO checks(at) VALUES(?)`, j.options.Now().UnixMilli())
	}

	if err == nil {
		_, err = db.ExecContext(ctx, `DELETE FROM checks`)
	}

	return j.explain("write", err)
}

// Close closes the file.
func (j *Journal) Close() error {
	j.locks.Range(func(id, _ any) bool {
		j.unlock(id.(int64))
		return true
	})

	return j.explain("close", errors.Join(j.quick.close(), j.full.close()))
}

// exists reports whether there is a journal already: reading need not create one. A journal without a path is not an
// empty one: opening it gives the error.
func (j *Journal) exists() bool {
	return j.options.Path == "" || j.full.exists()
}

// read reads the file. Without one there is nothing to read.
func (j *Journal) read(ctx context.Context, work func(*sql.DB) error) error {
	if !j.exists() {
		return nil
	}
	db, err := j.open(ctx)
	if err == nil {
		err = work(db)
	}

	return j.explain("read", err)
}

func (j *Journal) within(ctx context.Context, in *database, attempt string, work func(*sql.Tx) error) error {
	return j.explain(attempt, in.within(ctx, work))
}

func (j *Journal) lockPath(id int64) string {
	return filepath.Join(filepath.Dir(j.options.Path), fmt.Sprintf("running-%d.lock", id))
}
