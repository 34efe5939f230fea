package journal

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model/plan"
)

// finder finds entries of one record by position. It keeps their locations, and the entries of one Write.
type finder struct {
	journal *Journal
	record  int64
	rows    positions // by position: the index in writes, from 1
	writes  []int64   // rows of the table
	held    int32     // the write whose entries are in memory, as in rows
	entries map[int]plan.Entry
}

// Find returns a function that finds the entries of a record by position, as they were written. Its memory does not
// depend on their content. It is fast if consecutive positions are near each other, and not safe for concurrent use.
func (j *Journal) Find(ctx context.Context, record int64) (func(position int) (plan.Entry, error), error) {
	f := &finder{journal: j, record: record, rows: positions{}}
	err := j.read(ctx, func(db *sql.DB) error {
		return writes(ctx, db, record, func(row int64, content string) error {
			f.writes = append(f.writes, row)
			for line := range strings.Lines(content) {
				if position, _, ok := cutPosition(line); ok {
					f.rows.set(position, int32(len(f.writes)))
				}
			}
			return nil
		})
	})

	return func(position int) (plan.Entry, error) { return f.find(ctx, position) }, err
}

func (f *finder) find(ctx context.Context, position int) (plan.Entry, error) {
	if at := f.rows.get(position); at > 0 && at != f.held {
		if err := f.read(ctx, at); err != nil {
			return plan.Entry{}, err
		}
	}

	e, ok := f.entries[position]
	if !ok {
		return e, fmt.Errorf("the journal's entry of this message is damaged: `dlxtop journal show %d` lists the others",
			f.record)
	}

	return e, nil
}

// read reads the entries of one Write into memory.
func (f *finder) read(ctx context.Context, at int32) error {
	var content string
	if err := f.journal.read(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT content FROM entries WHERE rowid = ?`, f.writes[at-1]).Scan(&content)
	}); err != nil {
		return err
	}

	f.held, f.entries = at, map[int]plan.Entry{}
	for line := range strings.Lines(content) {
		if e, err := plan.ParseEntry([]byte(line)); err == nil {
			f.entries[e.Position] = e
		}
	}

	return nil
}
