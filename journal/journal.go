package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite" // and the driver "sqlite"
	lib "modernc.org/sqlite/lib"
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
	options Options

	mu    sync.Mutex
	db    *sql.DB
	quick *sql.DB            // does not wait for the disk; nil before it is needed
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
	return &Journal{options: o, locks: map[int64]*os.File{}}
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
	if j.db == nil {
		return nil
	}
	var err error
	if j.quick != nil {
		err = j.quick.Close()
	}
	err = errors.Join(err, j.db.Close())
	j.db, j.quick = nil, nil
	return j.explain("close", err)
}

// exists reports whether there is a journal already: looking at it need not make one. One that has no place is no
// journal without records: it is opened, and refuses.
func (j *Journal) exists() bool {
	if j.options.Path == "" {
		return true
	}
	_, err := os.Stat(j.options.Path)
	return !os.IsNotExist(err)
}

// open opens the file, and makes it when there is none.
func (j *Journal) open(ctx context.Context) (*sql.DB, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.db != nil {
		return j.db, nil
	}
	path := j.options.Path
	if err := place(ctx, path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source(path, "full"))
	if err != nil {
		return nil, err
	}
	if err := patiently(ctx, func() error { return prepare(ctx, db) }); err != nil {
		_ = db.Close()
		return nil, err
	}
	j.db = db
	return db, nil
}

// busyLimit is how long one program waits for another that writes.
const busyLimit = 10 * time.Second

// patiently tries again while another program makes the same journal: SQLite does not wait by itself for what changes a
// file to WAL.
func patiently(ctx context.Context, try func() error) error {
	for began := time.Now(); ; {
		err := try()
		var database *sqlite.Error
		if !errors.As(err, &database) || database.Code()&0xff != lib.SQLITE_BUSY || time.Since(began) > busyLimit {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// source is how SQLite opens the file. synchronous is how far a commit waits for the disk.
func source(path, synchronous string) string {
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyLimit.Milliseconds()), "auto_vacuum(incremental)", "journal_mode(wal)",
			"synchronous(" + synchronous + ")", "foreign_keys(on)",
			"wal_autocheckpoint(4000)", "journal_size_limit(67108864)",
		},
	}.Encode()}
	return file.String()
}

// quickly opens the file for what need not be on the disk when it is committed.
func (j *Journal) quickly(ctx context.Context) (*sql.DB, error) {
	if _, err := j.open(ctx); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.quick != nil {
		return j.quick, nil
	}
	quick, err := sql.Open("sqlite", source(j.options.Path, "normal"))
	if err == nil {
		j.quick = quick
	}
	return quick, err
}

// within runs work in one transaction of what open opens.
func (j *Journal) within(
	ctx context.Context, open func(context.Context) (*sql.DB, error), attempt string, work func(*sql.Tx) error,
) error {
	db, err := open(ctx)
	if err != nil {
		return j.explain(attempt, err)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return j.explain(attempt, err)
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback()
		return j.explain(attempt, err)
	}
	return j.explain(attempt, tx.Commit())
}

func (j *Journal) lockPath(id int64) string {
	return filepath.Join(filepath.Dir(j.options.Path), fmt.Sprintf("running-%d.lock", id))
}
