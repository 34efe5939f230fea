package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

const (
	// looksWait is how long a look waits for another program to finish writing.
	looksWait = 2 * time.Second
	// looksAge is how long a queue is remembered without looks.
	looksAge = 90 * 24 * time.Hour
)

// looksSchema describes the file; its mark is "dlxl". highest is the delivery count that a message of the queue may
// have. Times are milliseconds since 1970. ended is for looks that dlxtop did not end itself: how is a model.Ended.
var looksSchema = schema{mark: 0x646c786c, first: 1, migrations: []string{`
CREATE TABLE looks (
	cluster TEXT    NOT NULL,
	vhost   TEXT    NOT NULL,
	queue   TEXT    NOT NULL,
	highest INTEGER NOT NULL,
	most    INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (cluster, vhost, queue)
) WITHOUT ROWID;
`, `
CREATE TABLE IF NOT EXISTS ended (
	cluster TEXT    NOT NULL,
	vhost   TEXT    NOT NULL,
	queue   TEXT    NOT NULL,
	how     TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	PRIMARY KEY (cluster, vhost, queue)
) WITHOUT ROWID;
`}}

// PeekLedger remembers what looks at queues have cost, where returns count towards a delivery limit, and how looks
// ended that dlxtop did not end: in a separate file beside the journal, for every dlxtop of a user. It contains names
// of queues but no messages. Losing it loses little: each look first reads the count of a message. It opens its file on
// demand. It is safe for concurrent use, also by several processes. Its errors are one sentence.
type PeekLedger struct {
	database
	now func() time.Time
}

// NewPeekLedger does not touch the disk. journal is the path of the journal.
func NewPeekLedger(journal string) *PeekLedger {
	return &PeekLedger{now: time.Now, database: database{
		path: filepath.Join(filepath.Dir(journal), "looks.db"), schema: looksSchema,
		place: func(_ context.Context, path string) error {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			return file.Close()
		},
		// A kill of the program loses nothing; a power failure may lose the last seconds.
		pragmas: []string{
			fmt.Sprintf("busy_timeout(%d)", looksWait.Milliseconds()), "journal_mode(wal)", "synchronous(normal)",
		},
	}}
}

// Change updates with how what is remembered of a queue, in one transaction: no other program changes it meanwhile. how
// may be called several times, and the last call counts.
func (l *PeekLedger) Change(ctx context.Context, cluster string, queue model.QueueRef, how func(*model.Looked)) error {
	var none, change model.Looked
	if !l.exists() {
		if how(&change); change == none {
			return nil
		}
	}

	return l.explain(l.within(ctx, func(tx *sql.Tx) error {
		all, err := remembered(ctx, tx, cluster, queue)
		if err != nil {
			return err
		}
		change = all[queue]
		if how(&change); change == all[queue] {
			return nil
		}
		exec := func(query string, values ...any) {
			if err == nil {
				_, err = tx.ExecContext(ctx, query, append([]any{cluster, queue.VHost, queue.Name}, values...)...)
			}
		}

		now := l.now()
		for _, table := range []string{"looks", "ended"} {
			exec(`DELETE FROM `+table+` WHERE cluster = ? AND vhost = ? AND queue = ? OR at < ?`, now.Add(-looksAge).UnixMilli())
		}

		if change != none {
			exec(`INSERT INTO looks(cluster, vhost, queue, highest, most, at) VALUES(?, ?, ?, ?, ?, ?)`,
				change.Highest, change.Limit, now.UnixMilli())
		}

		if change.Ended.Any() {
			text, _ := json.Marshal(change.Ended) // texts and numbers
			exec(`INSERT INTO ended(cluster, vhost, queue, how, at) VALUES(?, ?, ?, ?, ?)`, text, now.UnixMilli())
		}

		return err
	}))
}

// Looked returns what is remembered of the queues of a cluster.
func (l *PeekLedger) Looked(ctx context.Context, cluster string) (model.LookedByQueue, error) {
	looked := model.LookedByQueue{}
	if !l.exists() {
		return looked, nil
	}
	db, err := l.open(ctx)
	if err != nil {
		return looked, l.explain(err)
	}
	looked, err = remembered(ctx, db, cluster)
	return looked, l.explain(err)
}

// remembered returns what is remembered of these queues of a cluster; of all when none is named.
func remembered(
	ctx context.Context, q queryer, cluster string, queues ...model.QueueRef,
) (model.LookedByQueue, error) {
	query := `SELECT vhost, queue, highest, most, how FROM looks
		LEFT JOIN ended USING (cluster, vhost, queue) WHERE cluster = ?`
	values := []any{cluster}
	for _, queue := range queues {
		query += ` AND vhost = ? AND queue = ?`
		values = append(values, queue.VHost, queue.Name)
	}

	looked := model.LookedByQueue{}

	return looked, eachRow(ctx, q, query, values, func(scan scanner) error {
		var queue model.QueueRef
		var of model.Looked
		var how []byte // nil: dlxtop itself ended the last look
		err := scan(&queue.VHost, &queue.Name, &of.Highest, &of.Limit, &how)
		if err == nil && how != nil {
			err = json.Unmarshal(how, &of.Ended)
		}
		if err == nil {
			looked[queue] = of
		}
		return err
	})
}

// Close closes the file.
func (l *PeekLedger) Close() error { return l.explain(l.close()) }

// explain words an error in one sentence.
func (l *PeekLedger) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	path := model.Printable(l.path)
	if errors.Is(err, errForeign) || errors.Is(err, errNewer) {
		return fmt.Errorf("%s was not written by this version of dlxtop: move it away", path)
	}

	return model.Errorf("%s cannot be used (%v): only this program remembers the cost of looks; make it "+
		"writable, or move it away", path, err.Error())
}
