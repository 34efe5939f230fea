package journal

import (
	"context"
	"fmt"
)

// Pragma sets something that only a test needs, on every open connection.
func (j *Journal) Pragma(ctx context.Context, text string) error {
	db, err := j.open(ctx)
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.ExecContext(ctx, "PRAGMA "+text)
	}

	return err
}

// Damage makes the text of the entry at a position unreadable.
func (j *Journal) Damage(ctx context.Context, position int) error {
	db, err := j.open(ctx)
	if err == nil {
		_, err = db.ExecContext(ctx, `UPDATE entries SET content = replace(content, ?, ?)`,
			fmt.Sprintf(`{"position":%d,`, position), fmt.Sprintf(`{"position":%d;`, position))
	}

	return err
}

// FirstMigration makes a journal of dlxtop 1.0.0.
var FirstMigration = migrations[0]

// TurnsIn returns turns in another directory.
func TurnsIn(dir, command string) *Turns {
	t := NewTurns(command)
	t.dir = dir
	return t
}

// File returns the name of a turn's file.
func (t *Turns) File(name string) string { return t.file(name) }
