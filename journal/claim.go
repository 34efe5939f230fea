package journal

import (
	"context"
	"database/sql"
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// attempt is how far one undo of a record got, by the positions of the entries that it undoes.
type attempt struct {
	id      int64
	running bool
	of      positions                   // claimed or done
	unsure  map[int]message.Fingerprint // intended, with an unknown outcome; the fingerprint is of what it published
}

// What an undo has done with an entry. claimed is for a running one: no other may touch the entry.
const (
	claimed = 1
	done    = 2
)

// settleEntry records in an entry what this undo did with it.
func (a attempt) settleEntry(e *plan.Entry) {
	sent, unsure := a.unsure[e.Position]
	switch {
	case a.of.get(e.Position) == done:
		e.Undone = true
	case a.running && (a.of.get(e.Position) == claimed || unsure):
		e.Claimed = a.id
	case unsure:
		e.Undoing = append(e.Undoing, plan.Attempt{By: a.id, Sent: sent})
	}
}

// Claim begins an undo of the record r.Undoes and claims for it, in the same transaction, those of the positions that
// no other undo has. The error is a *plan.ClaimedError when there are none: then nothing was begun. It deletes no old
// records: r.Undoes could be one.
func (j *Journal) Claim(ctx context.Context, r plan.Record, c plan.Claim) (id int64, granted []int, err error) {
	// Ended undos do not change any more: they need not be read while all others wait.
	over := map[int64]attempt{}
	db, err := j.open(ctx)
	if err == nil {
		err = j.attempts(ctx, db, r.Undoes, over)
	}
	if err != nil {
		return 0, nil, j.explain("claim", err)
	}
	for v, a := range over {
		if a.running {
			delete(over, v)
		}
	}

	id, err = j.begin(ctx, r, func(tx *sql.Tx) error {
		by, err := j.resumer(ctx, tx, r.Undoes)
		if err == nil && by > 0 {
			return &plan.ClaimedError{Record: r.Undoes, By: by, State: plan.ClaimResumed}
		}
		if err == nil {
			err = j.attempts(ctx, tx, r.Undoes, over)
		}
		if err != nil {
			return err
		}
		var refusal *plan.ClaimedError
		if granted, refusal = free(over, r.Undoes, c); len(granted) == 0 {
			return refusal
		}
		return nil
	}, func(tx *sql.Tx, id int64) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO claims(record, claimant, positions) VALUES(?, ?, ?)`, r.Undoes, id,
			ranges(slices.Clone(granted)))
		return err
	})

	return id, granted, err
}

// free returns the unclaimed positions of a claim. The refusal names the owner of the others.
func free(before map[int64]attempt, record int64, c plan.Claim) (granted []int, refusal *plan.ClaimedError) {
	refusal = &plan.ClaimedError{Record: record, State: plan.ClaimDone}
	for _, p := range c.Positions {
		mine := true
		for id, a := range before {
			_, unsure := a.unsure[p]
			state := plan.ClaimDone
			switch {
			case a.of.get(p) == done:
			case a.running && (a.of.get(p) == claimed || unsure):
				state = plan.ClaimRunning
			case unsure && !slices.Contains(c.Known, id):
				state = plan.ClaimUncertain
			default:
				continue
			}

			mine = false
			if refusal.By == 0 || state < refusal.State {
				refusal.By, refusal.State = id, state
			}
		}

		if mine {
			granted = append(granted, p)
		}
	}

	return granted, refusal
}

// attempts adds the undos of a record to those already known.
func (j *Journal) attempts(ctx context.Context, q queryer, record int64, known map[int64]attempt) error {
	undos, err := undosOf(ctx, q, record)
	if err != nil {
		return err
	}
	for id, ended := range undos {
		if _, ok := known[id]; ok {
			continue
		}
		a := attempt{id: id, running: !ended && j.running(id), of: positions{}, unsure: map[int]message.Fingerprint{}}
		if a.running {
			if err := readClaims(ctx, q, record, id, a.of); err != nil {
				return err
			}
		}

		outcomes, err := readOutcomes(ctx, q, id)
		if err != nil {
			return err
		}
		if err := entries(ctx, q, id, func(e *plan.Entry) error {
			if err := e.Readable(id); err != nil {
				return err
			}
			s, _ := outcomes.at(e.Position)
			switch {
			case s.Outcome == plan.Moved:
				a.of.set(e.Undoes, done)
			case s.Outcome == plan.Unsure, s.Outcome == "" && !ended:
				a.unsure[e.Undoes] = e.Sent.Fingerprint
			}

			return nil
		}); err != nil {
			return err
		}

		known[id] = a
	}

	return nil
}

// undosOf returns the undos of a record, and whether each has ended.
func undosOf(ctx context.Context, q queryer, record int64) (map[int64]bool, error) {
	undos := map[int64]bool{}
	return undos, eachRow(ctx, q, `SELECT id, ended IS NOT NULL FROM records WHERE undoes = ?`, []any{record},
		func(scan scanner) error {
			var id int64
			var ended bool
			err := scan(&id, &ended)
			undos[id] = ended
			return err
		})
}

func readClaims(ctx context.Context, q queryer, record, claimant int64, of positions) error {
	const query = `SELECT positions FROM claims WHERE record = ? AND claimant = ?`
	return eachRow(ctx, q, query, []any{record, claimant}, func(scan scanner) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		return eachIn(text, func(p int) { of.set(p, claimed) })
	})
}
