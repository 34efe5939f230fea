package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

const recordColumns = `r.id, r.operation, r.vhost, r.queue, r.target, r.user, r.broker, r.began, r.ended,
	r.planned, r.undoes, coalesce(r.account, 'null'), r.resumes, r.session, r.edit, r.cluster, r.fingerprints, r.login,
	r.reason, coalesce(r.sequel, 'null'),
	coalesce((SELECT id FROM records n WHERE n.resumes = r.id), 0),
	(SELECT coalesce(sum(count), 0) FROM entries WHERE record = r.id),
	(SELECT json_group_array(p.id) FROM records p WHERE p.part_of = r.part_of AND p.part_of > 0)`

const oneRecord = `SELECT ` + recordColumns + ` FROM records r WHERE r.id = ?`

// Records returns the records of the newest actions, newest first; limit 0 is all of them. Without a journal there are
// none.
func (j *Journal) Records(ctx context.Context, limit int) ([]plan.Record, error) {
	if limit <= 0 {
		limit = -1
	}
	return j.query(ctx, `SELECT `+recordColumns+` FROM records r WHERE r.id >=
		(SELECT min(id) FROM (SELECT id FROM records o WHERE o.part_of = 0 OR o.id =
		(SELECT min(p.id) FROM records p WHERE p.part_of = o.part_of AND p.part_of > 0) ORDER BY o.id DESC LIMIT ?))
		ORDER BY r.id DESC`, limit)
}

// Record returns one record, with its intent. The error wraps plan.ErrNoRecord when there is none with this number.
func (j *Journal) Record(ctx context.Context, id int64) (plan.Record, error) {
	records, err := j.query(ctx, oneRecord, id)
	switch {
	case err != nil:
		return plan.Record{}, err
	case len(records) == 0:
		return plan.Record{}, fmt.Errorf("%w %d: `dlxtop journal` lists what there is", plan.ErrNoRecord, id)
	}

	r := records[0]
	err = j.read(ctx, func(db *sql.DB) error {
		var text sql.NullString // NULL when it was not kept
		err := db.QueryRowContext(ctx, `SELECT intent FROM records WHERE id = ?`, id).Scan(&text)
		if err == nil && text.Valid {
			r.Intent, err = plan.ParseIntent([]byte(text.String))
		}
		return err
	})

	return r, err
}

// tellFor is how long each start reports an unfinished action. Records lists it for longer.
const tellFor = 7 * 24 * time.Hour

// Unfinished returns the records of the last week whose program ended in the middle, newest first, unless they were
// undone.
func (j *Journal) Unfinished(ctx context.Context) ([]plan.Record, error) {
	records, err := j.query(ctx, `SELECT `+recordColumns+` FROM records r WHERE r.ended IS NULL AND r.began > ?
		AND NOT EXISTS (SELECT 1 FROM records u WHERE u.undoes = r.id AND u.ended IS NOT NULL) ORDER BY r.id DESC`,
		j.options.Now().Add(-tellFor).UnixMilli())
	return slices.DeleteFunc(records, func(r plan.Record) bool { return !r.Unfinished() }), err
}

func (j *Journal) query(ctx context.Context, query string, values ...any) (records []plan.Record, err error) {
	err = j.read(ctx, func(db *sql.DB) error {
		err := eachRow(ctx, db, query, values, func(scan scanner) error {
			r, err := scanRecord(scan)
			records = append(records, r)
			return err
		})

		for i := 0; err == nil && i < len(records); i++ {
			err = j.complete(ctx, db, &records[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}

	return records, nil
}

func scanRecord(scan scanner) (plan.Record, error) {
	var r plan.Record
	var began int64
	var ended sql.NullInt64
	var account, sequel, parts []byte
	var prints int
	if err := scan(&r.ID, &r.Operation, &r.From.VHost, &r.From.Name, &r.To, &r.User, &r.Broker, &began, &ended, &r.Planned,
		&r.Undoes, &account, &r.Resumes, &r.Session, &r.Edit, &r.Cluster, &prints, &r.Login, &r.Reason, &sequel, &r.ResumedBy,
		&r.Entries, &parts); err != nil {
		return r, err
	}
	var a accountJSON
	if err := errors.Join(json.Unmarshal(parts, &r.Parts), json.Unmarshal(sequel, &r.Sequel),
		json.Unmarshal(account, &a)); err != nil {
		return r, err
	}

	r.Began = time.UnixMilli(began)
	r.OtherPrints = prints != message.FingerprintKind
	r.Account = plan.Account{
		JournalID: r.ID, Operation: r.Operation, From: r.From, Planned: r.Planned,
		Moved: a.Moved, Dropped: a.Dropped, Refused: a.Refused, Returned: a.Returned, Unknown: a.Unknown,
		Arrived: a.Arrived, Gone: a.Gone, Held: a.Held, Stopped: a.Stopped,
	}
	if ended.Valid {
		r.Ended = time.UnixMilli(ended.Int64)
		r.Account.Elapsed = r.Ended.Sub(r.Began)
	}

	for _, s := range a.Strayed {
		queue := r.From.Beside(s.Queue)
		way := model.Address{Exchange: s.Exchange, RoutingKey: s.RoutingKey}
		r.Account.Strayed = append(r.Account.Strayed, plan.Stray{Way: way, Queue: queue, Messages: s.Messages})
	}

	for _, c := range a.Copies {
		left := plan.LeftCopies{
			By: r.From.Beside(c.Queue), Messages: c.Messages, AtMost: c.AtMost,
		}
		for _, in := range c.In {
			left.In = append(left.In, r.From.Beside(in))
		}
		r.Account.Copies = append(r.Account.Copies, left)
	}

	return r, nil
}

// complete works out what a record does not contain itself: the outcomes before its end, and what undos brought back.
func (j *Journal) complete(ctx context.Context, db *sql.DB, r *plan.Record) error {
	running, err := j.state(ctx, db, r)
	if err != nil {
		return err
	}
	undos, err := undosOf(ctx, db, r.ID)
	if err != nil {
		return err
	}

	for id := range undos {
		outcomes, err := readOutcomes(ctx, db, id)
		if err != nil {
			return err
		}
		outcomes.each(func(o plan.Outcome) {
			if o == plan.Moved {
				r.Undone++
			}
		})
	}

	if !r.Ended.IsZero() {
		return nil
	}
	r.Running = running
	outcomes, err := readOutcomes(ctx, db, r.ID)
	outcomes.each(func(o plan.Outcome) { r.Account.Add(o, &message.Message{}, "") })
	return err
}

// state reports whether a program works on a record. One without an end that no program works on may have ended after
// it was read, which comes before its lock is free: it is read again.
func (j *Journal) state(ctx context.Context, db *sql.DB, r *plan.Record) (running bool, err error) {
	if !r.Ended.IsZero() || j.running(r.ID) {
		return r.Ended.IsZero(), nil
	}
	return false, eachRow(ctx, db, oneRecord, []any{r.ID}, func(scan scanner) (err error) {
		*r, err = scanRecord(scan)
		return err
	})
}

func readOutcomes(ctx context.Context, db queryer, id int64) (o outcomes, err error) {
	const query = `SELECT outcome, reason, positions FROM outcomes WHERE record = ? ORDER BY rowid`
	o.of = positions{}
	places := map[plan.Settled]int32{}
	err = eachRow(ctx, db, query, []any{id}, func(scan scanner) error {
		var s plan.Settled
		var text string
		if err := scan(&s.Outcome, &s.Reason, &text); err != nil {
			return err
		}
		if places[s] == 0 {
			o.kinds = append(o.kinds, s)
			places[s] = int32(len(o.kinds))
		}

		return eachIn(text, func(p int) { o.of.set(p, places[s]) })
	})

	return o, err
}

// Entries calls each with every entry of a record, in the order of writing, with its outcome and those of undoing it;
// for an unreadable one, with the reason. An error of each ends it. The entries of one Write are in memory at a time.
func (j *Journal) Entries(ctx context.Context, id int64, each plan.VisitEntry) error {
	var stop error
	err := j.read(ctx, func(db *sql.DB) error {
		outcomes, undos, err := j.fates(ctx, db, id)
		if err != nil {
			return err
		}
		inOrder := slices.Sorted(maps.Keys(undos))
		return entries(ctx, db, id, func(e *plan.Entry) error {
			s, _ := outcomes.at(e.Position)
			e.Outcome, e.Reason = s.Outcome, s.Reason
			for _, undo := range inOrder {
				undos[undo].settleEntry(e)
			}
			stop = each(e)
			return stop
		})
	})

	return cmp.Or(stop, err)
}

// fates returns the outcomes of a record's entries, and what its undos did with them.
func (j *Journal) fates(ctx context.Context, db *sql.DB, id int64) (outcomes, map[int64]attempt, error) {
	undos := map[int64]attempt{}
	o, err := readOutcomes(ctx, db, id)
	if err == nil {
		err = j.attempts(ctx, db, id, undos)
	}
	return o, undos, err
}

// entries reads the entries of a record as they were written.
func entries(ctx context.Context, db queryer, id int64, each plan.VisitEntry) error {
	return lines(ctx, db, id, func(line string) error {
		e, err := plan.ParseEntry([]byte(line))
		if err != nil {
			e = plan.Entry{Position: e.Position, Damaged: err.Error()}
		}
		return each(&e)
	})
}

// lines reads the entries of a record as JSON.
func lines(ctx context.Context, db queryer, id int64, each func(line string) error) error {
	return writes(ctx, db, id, func(_ int64, content string) error {
		for line := range strings.Lines(content) {
			if err := each(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// writes reads every Write of a record: its row, and the entries as JSON lines.
func writes(ctx context.Context, db queryer, id int64, each func(row int64, content string) error) error {
	const query = `SELECT rowid, content FROM entries WHERE record = ? ORDER BY rowid`
	return eachRow(ctx, db, query, []any{id}, func(scan scanner) error {
		var row int64
		var content string
		if err := scan(&row, &content); err != nil {
			return err
		}
		return each(row, content)
	})
}
