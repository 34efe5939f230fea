package journal

import "context"

// Pragma sets something that only a test needs, on every connection that there is.
func (j *Journal) Pragma(ctx context.Context, text string) error {
	db, err := j.open(ctx)
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.ExecContext(ctx, "PRAGMA "+text)
	}
	return err
}
