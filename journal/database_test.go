package journal

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// A file of an earlier version is upgraded once, also when several programs open it at once, and keeps what it has. A
// failed migration leaves it as it was.
func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.db")
	with := func(migrations ...string) *database {
		d := &database{
			path: path, pragmas: journalPragmas("full"), schema: schema{mark: 1, first: 7, migrations: migrations},
			place: func(context.Context, string) error { return nil },
		}
		t.Cleanup(func() { d.close() })
		return d
	}

	const first = `CREATE TABLE a (n INTEGER); INSERT INTO a VALUES(1)`
	const second = `ALTER TABLE a ADD COLUMN m INTEGER DEFAULT 2`
	must.Get(with(first).open(t.Context()))(t)
	_, err := with(first, second+`; CREATE TABLE a (n INTEGER)`).open(t.Context())
	assert.That(t, err != nil, "no error")
	db := must.Get(with(first).open(t.Context()))(t)
	found, mark, err := markOf(t.Context(), db)
	_, columns := db.Query(`SELECT m FROM a`)
	must.Do(t, err)
	assert.Equal(t, found, 7, "version %d of %d: %v", found, mark, err)
	assert.Equal(t, mark, 1)
	assert.That(t, columns != nil, "version %d of %d: %v", found, mark, err)

	var all sync.WaitGroup
	for range 4 {
		d := with(first, second)
		all.Go(func() {
			var n, m int
			db, err := d.open(t.Context())
			if err == nil {
				err = db.QueryRow(`SELECT n, m FROM a`).Scan(&n, &m)
			}
			assert.Succeeds(t, err)
			assert.List(t, []int{n, m}, []int{1, 2})
		})
	}

	all.Wait()
	_, err = with(first).open(t.Context())
	assert.That(t, errors.Is(err, errNewer), "%v", err)
}
