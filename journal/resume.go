package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/dlxtop/dlxtop/model/plan"
)

// killed is why a record ended whose program did not say so.
const killed = "dlxtop ended in the middle of it"

// Chain returns the records that resume each other, including the one with this number, from the first one on, with
// their intents. The error wraps plan.ErrNoRecord when there is none with this number.
func (j *Journal) Chain(ctx context.Context, id int64) ([]plan.Record, error) {
	r, err := j.Record(ctx, id)
	chain := []plan.Record{r}
	for err == nil && chain[0].Resumes > 0 {
		if r, err = j.Record(ctx, chain[0].Resumes); errors.Is(err, plan.ErrNoRecord) { // deleted because of its age
			err = nil
			break
		}
		chain = slices.Insert(chain, 0, r)
	}

	for err == nil && chain[len(chain)-1].ResumedBy > 0 {
		if r, err = j.Record(ctx, chain[len(chain)-1].ResumedBy); err == nil {
			chain = append(chain, r)
		}
	}

	if err != nil {
		return nil, err
	}

	return chain, nil
}

// Reserve keeps other programs from planning to resume a record until release is called, or this program ends: their
// looks would be for nothing. The error is a *plan.BeingResumed.
func (j *Journal) Reserve(id int64) (release func(), err error) {
	path, err := filepath.Abs(j.options.Path)
	if err != nil {
		path = j.options.Path
	}

	release, by, err := NewTurns("dlxtop journal resume").Try(fmt.Sprintf("%q resumes %d", path, id))
	switch {
	case err != nil: // the turns at its queues are not shared either
		return func() {}, nil
	case release == nil:
		return nil, &plan.BeingResumed{Record: id, By: by}
	}

	return release, nil
}

// Resume begins a record that resumes r.Resumes, and records in the same transaction what was found out about the
// messages of earlier records; unfinished ones then end. The error is a *plan.ClaimedError when another record resumes
// it, or an undo of it is bringing messages back: then nothing was begun. It deletes no old records: r.Resumes could be
// one.
func (j *Journal) Resume(ctx context.Context, r plan.Record, found map[int64][]plan.Settled) (id int64, err error) {
	return j.begin(
		ctx,
		r,
		func(tx *sql.Tx) error { return j.mayResume(ctx, tx, r.Resumes) },
		func(tx *sql.Tx, _ int64) error {
			for _, record := range slices.Sorted(maps.Keys(found)) {
				if err := j.amend(ctx, tx, record, found[record]); err != nil {
					return err
				}
			}
			return nil
		},
	)
}

// Amend records what was found out about messages of a record that has ended.
func (j *Journal) Amend(id int64, settled []plan.Settled) error {
	ctx := context.Background()
	return j.within(ctx, &j.full, "write", func(tx *sql.Tx) error { return j.amend(ctx, tx, id, settled) })
}

// mayResume refuses to resume what another action resumes or undoes.
func (j *Journal) mayResume(ctx context.Context, tx *sql.Tx, id int64) error {
	var by int64
	row := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM records WHERE resumes = ?`, id)
	if err := row.Scan(&by); err != nil {
		return err
	}
	if by > 0 {
		return &plan.ClaimedError{Record: id, By: by, State: plan.ClaimResumed}
	}
	for ; id > 0; id = by {
		undos := map[int64]attempt{}
		if err := j.attempts(ctx, tx, id, undos); err != nil {
			return err
		}
		for undo, a := range undos {
			switch {
			case a.running:
				return &plan.ClaimedError{Record: id, By: undo, State: plan.ClaimRunning}
			case len(a.of)+len(a.unsure) > 0:
				return &plan.ClaimedError{Record: id, By: undo, State: plan.ClaimDone}
			}
		}

		err := tx.QueryRowContext(ctx, `SELECT resumes FROM records WHERE id = ?`, id).Scan(&by)
		switch {
		case errors.Is(err, sql.ErrNoRows): // deleted
			return nil
		case err != nil:
			return err
		}
	}

	return nil
}

// resumer returns the running record that resumes a record, directly or indirectly; 0 for none.
func (j *Journal) resumer(ctx context.Context, q queryer, id int64) (int64, error) {
	for {
		var ended bool
		err := q.QueryRowContext(ctx, `SELECT id, ended IS NOT NULL FROM records WHERE resumes = ?`, id).Scan(&id, &ended)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return 0, nil
		case err != nil:
			return 0, err
		case !ended && j.running(id):
			return id, nil
		}
	}
}

// amend writes outcomes of a record whose program is gone, and updates its account.
func (j *Journal) amend(ctx context.Context, tx *sql.Tx, id int64, settled []plan.Settled) error {
	var text sql.NullString
	if err := tx.QueryRowContext(ctx, `SELECT account FROM records WHERE id = ?`, id).Scan(&text); err != nil {
		return err
	}
	before, err := readOutcomes(ctx, tx, id)
	if err != nil {
		return err
	}
	account := accountJSON{Stopped: killed}
	if text.Valid {
		if err := json.Unmarshal([]byte(text.String), &account); err != nil {
			return err
		}
	} else {
		before.each(func(o plan.Outcome) {
			*account.count(o)++
		})
	}

	account.Arrived = 0 // a resume has found out more
	for _, s := range settled {
		was, _ := before.at(s.Position)
		*account.count(was.Outcome)--
		*account.count(s.Outcome)++
	}

	if err := writeOutcomes(ctx, tx, id, settled); err != nil {
		return err
	}
	content, err := json.Marshal(account)
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE records SET ended = coalesce(ended, ?), account = ? WHERE id = ?`,
			j.options.Now().UnixMilli(), string(content), id)
	}

	return err
}
