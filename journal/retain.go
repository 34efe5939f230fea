package journal

import (
	"context"
	"database/sql"
	"os"

	"github.com/gofrs/flock"
)

// unneeded are records that no running undo or resume needs.
const unneeded = `NOT EXISTS (SELECT 1 FROM records AS r WHERE r.ended IS NULL AND
	(r.undoes = records.id OR r.resumes = records.id))`

// retain deletes records that are too old, and the oldest ones if the file is too large. An unfinished record is only
// deleted because of its age.
func (j *Journal) retain(ctx context.Context) error {
	db, err := j.open(ctx)
	if err != nil {
		return j.explain("open", err)
	}
	oldest := j.options.Now().Add(-j.options.Age).UnixMilli()
	forgotten, err := j.forget(ctx, db, `SELECT id FROM records WHERE began < ? AND `+unneeded, oldest)
	for err == nil {
		var used int64
		if used, err = size(ctx, db); err != nil || used <= j.options.Bytes {
			break
		}
		var n int
		n, err = j.forget(ctx, db, `SELECT id FROM records WHERE ended IS NOT NULL AND `+unneeded+` ORDER BY id LIMIT 1`)
		if forgotten += n; n == 0 {
			break
		}
	}

	if err == nil && forgotten > 0 {
		_, err = db.ExecContext(ctx, `PRAGMA incremental_vacuum`)
	}

	return j.explain("forget old records of", err)
}

func (j *Journal) forget(ctx context.Context, db *sql.DB, query string, values ...any) (n int, err error) {
	var ids []int64
	if err := eachRow(ctx, db, query, values, func(scan scanner) error {
		var id int64
		err := scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return 0, err
	}

	for _, id := range ids {
		if j.running(id) {
			continue
		}
		if _, err := db.ExecContext(ctx, `DELETE FROM records WHERE id = ?`, id); err != nil {
			return n, err
		}
		_ = os.Remove(j.lockPath(id)) // from a program that was killed
		n++
	}

	return n, nil
}

// size returns how many bytes of the file are in use.
func size(ctx context.Context, db *sql.DB) (int64, error) {
	var pages, free, bytes int64
	for pragma, to := range map[string]*int64{"page_count": &pages, "freelist_count": &free, "page_size": &bytes} {
		if err := db.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(to); err != nil {
			return 0, err
		}
	}

	return (pages - free) * bytes, nil
}

// running reports whether a process works on a record.
func (j *Journal) running(id int64) bool {
	if _, ours := j.locks.Load(id); ours {
		return true
	}

	// A shared lock, so that two simultaneous questions do not mistake each other for the process, on a file that exists.
	lock := flock.New(j.lockPath(id), flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	free, err := lock.TryRLock()
	return err == nil && !free
}
