package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"time"

	"modernc.org/sqlite" // also registers the driver "sqlite"
	lib "modernc.org/sqlite/lib"
)

// database is a SQLite file, which is opened on demand, and again after an error.
type database struct {
	path    string
	place   func(ctx context.Context, path string) error // creates the file if it does not exist
	pragmas []string
	schema  schema

	sync.Mutex
	db *sql.DB
}

func (d *database) exists() bool {
	_, err := os.Stat(d.path)
	return !os.IsNotExist(err)
}

func (d *database) open(ctx context.Context) (*sql.DB, error) {
	d.Lock()
	defer d.Unlock()
	if d.db != nil {
		return d.db, nil
	}
	if err := d.place(ctx, d.path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source(d.path, d.pragmas))
	if err != nil {
		return nil, err
	}
	if err := patiently(ctx, func() error { return d.schema.prepare(ctx, db) }); err != nil {
		_ = db.Close()
		return nil, err
	}

	d.db = db
	return db, nil
}

func (d *database) close() (err error) {
	d.Lock()
	defer d.Unlock()
	if d.db != nil {
		err, d.db = d.db.Close(), nil
	}
	return err
}

// within runs work in one transaction.
func (d *database) within(ctx context.Context, work func(*sql.Tx) error) error {
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := work(tx); err != nil {
		_ = tx.Rollback()
		return err
	}

	return tx.Commit()
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, values ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, values ...any) *sql.Row
}

// scanner reads the columns of a row into variables.
type scanner = func(...any) error

// eachRow calls each with every row that a query finds, until an error.
func eachRow(
	ctx context.Context, q queryer, query string, values []any, row func(scanner) error,
) error {
	rows, err := q.QueryContext(ctx, query, values...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}

	return errors.Join(rows.Err(), rows.Close())
}

// busyLimit is how long one program waits for another to finish writing.
const busyLimit = 10 * time.Second

// patiently tries again while another program creates the same file: SQLite itself does not wait for a change to WAL
// mode.
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

// source returns the data source name with which SQLite opens a file.
func source(path string, pragmas []string) string {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String()
}

// schema describes one of dlxtop's database files. The first migration makes a file of the first version, and each of
// the others upgrades one by a version. The version is in SQLite's user_version, and mark is in its application_id.
type schema struct {
	mark, first int
	migrations  []string
}

func (s schema) version() int { return s.first + len(s.migrations) - 1 }

// errNewer, errOlder and errForeign mean that this program must not touch a file.
var (
	errNewer   = errors.New("newer")
	errOlder   = errors.New("older")
	errForeign = errors.New("foreign")
)

// prepare creates the tables of a new file, upgrades an older one to this version, and refuses a foreign file.
func (s schema) prepare(ctx context.Context, db *sql.DB) error {
	found, mark, err := markOf(ctx, db)
	if err == nil && (found != s.version() || mark != s.mark) {
		err = s.migrate(ctx, db)
	}
	return err
}

func (s schema) migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	// Another process may have been faster.
	found, mark, err := markOf(ctx, tx)
	if err != nil {
		return err
	}
	var tables int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master`).Scan(&tables); err != nil {
		return err
	}

	done := 0 // migrations
	isNew := tables == 0 && found == 0 && mark == 0
	switch {
	case !isNew && (mark != s.mark || found < 1):
		return errForeign
	case !isNew && found < s.first:
		return errOlder
	case found > s.version():
		return errNewer
	case !isNew:
		done = found - s.first + 1
	}

	for _, migration := range s.migrations[done:] {
		if _, err := tx.ExecContext(ctx, migration); err != nil {
			return err
		}
	}

	marks := fmt.Sprintf(`PRAGMA user_version = %d; PRAGMA application_id = %d`, s.version(), s.mark)
	if _, err := tx.ExecContext(ctx, marks); err != nil {
		return err
	}

	return tx.Commit()
}

func markOf(ctx context.Context, q queryer) (found, mark int, err error) {
	if err = q.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&found); err == nil {
		err = q.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&mark)
	}
	return found, mark, err
}
