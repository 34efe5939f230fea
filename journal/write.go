package journal

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/gofrs/flock"
)

// accountJSON is the part of an account that is kept when an action ends.
type accountJSON struct {
	Moved    int    `json:"moved"`
	Dropped  int    `json:"dropped"`
	Refused  int    `json:"refused"`
	Returned int    `json:"returned"`
	Unknown  int    `json:"unknown"`
	Arrived  int    `json:"arrived,omitempty"` // those of them whose copies the broker confirmed
	Gone     int    `json:"gone"`
	Held     int    `json:"held,omitempty"`
	Stopped  string `json:"stopped,omitempty"`
	// Queues outside the plan that messages may have reached.
	Strayed []strayJSON `json:"strayed,omitempty"`
	// Copies of refused messages, by the full queue.
	Copies []copiesJSON `json:"copies,omitempty"`
}

type copiesJSON struct {
	Queue    string   `json:"queue"`
	In       []string `json:"in"`
	Messages int      `json:"messages"`
	AtMost   bool     `json:"at_most,omitempty"`
}

type strayJSON struct {
	Exchange   string `json:"exchange"`
	RoutingKey string `json:"routing_key"`
	Queue      string `json:"queue"`
	Messages   int    `json:"messages"`
}

// count returns the counter of an outcome; one that nobody reads for any other.
func (a *accountJSON) count(o plan.Outcome) *int {
	switch o {
	case plan.Moved:
		return &a.Moved
	case plan.Dropped:
		return &a.Dropped
	case plan.Refused:
		return &a.Refused
	case plan.Returned:
		return &a.Returned
	case plan.Unsure:
		return &a.Unknown
	}

	return new(int)
}

// Begin records the beginning of an action, and returns its number: that of the record, if it was begun before, as one
// of several. First it deletes old records.
func (j *Journal) Begin(ctx context.Context, r plan.Record) (int64, error) {
	if err := j.retain(ctx); err != nil {
		return 0, err
	}
	return j.begin(ctx, r, func(*sql.Tx) error { return nil }, func(*sql.Tx, int64) error { return nil })
}

// begin begins a record, unless may refuses, and does the related work in the same transaction.
func (j *Journal) begin(
	ctx context.Context, r plan.Record, may func(*sql.Tx) error, also func(*sql.Tx, int64) error,
) (id int64, err error) {
	first := model.FirstOf(ctx)
	if r.Operation == plan.Rescue {
		first = nil
	}

	err = j.within(ctx, &j.full, "begin", func(tx *sql.Tx) error {
		if err := may(tx); err != nil {
			return err
		}
		var intent any
		var edit string
		if r.Intent != nil {
			text, err := json.Marshal(r.Intent)
			if err != nil {
				return err
			}
			intent = string(text)
			if p := r.Intent.Mend; p != nil {
				edit = p.Text
			}
		}

		if r.ID > 0 {
			id = r.ID
			_, err := tx.ExecContext(ctx, `UPDATE records SET began = ?, planned = ?, target = ?, intent = ? WHERE id = ?`,
				j.options.Now().UnixMilli(), r.Planned, r.To, intent, id)
			return err
		}

		result, err := tx.ExecContext(ctx,
			`INSERT INTO records(operation, vhost, queue, target, user, broker, began, planned, undoes, resumes, session, intent,
			edit, cluster, fingerprints, version, login, reason) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.Operation, r.From.VHost, r.From.Name, r.To, r.User, r.Broker, j.options.Now().UnixMilli(), r.Planned,
			r.Undoes, r.Resumes, r.Session, intent, edit, r.Cluster, message.FingerprintKind, journalSchema.version(),
			j.options.Login, r.Reason)

		if err == nil {
			id, err = result.LastInsertId()
		}
		if err == nil && first != nil {
			_, err = tx.ExecContext(ctx, `UPDATE records SET part_of = ? WHERE id = ?`, cmp.Or(*first, id), id)
		}
		if err == nil {
			err = also(tx, id)
		}
		if err != nil {
			return err
		}
		lock := flock.New(j.lockPath(id)) // the system releases it when the process ends in any way
		ok, err := lock.TryLock()
		if err == nil && !ok {
			err = fmt.Errorf("another program holds %s", lock.Path())
		}
		if err == nil {
			j.locks.Store(id, lock)
		}

		return err
	})
	if err != nil {
		j.unlock(id)
		return 0, err
	}
	if first != nil {
		*first = cmp.Or(*first, id)
	}

	return id, nil
}

// Write records intentions and outcomes: they are durable when it returns nil, and otherwise none of them is there. Of
// two outcomes of an entry the later one counts.
func (j *Journal) Write(id int64, entries []plan.Entry, settled []plan.Settled) error {
	if len(entries)+len(settled) == 0 {
		return nil
	}
	content, err := encode(entries)
	if err != nil {
		return j.explain("write", err)
	}
	ctx := context.Background() // what was begun is written, or it fails

	return j.within(ctx, &j.full, "write", func(tx *sql.Tx) error {
		if len(entries) > 0 {
			if _, err := tx.ExecContext(ctx, `INSERT INTO entries(record, count, content) VALUES(?, ?, ?)`, id,
				len(entries), content); err != nil {
				return err
			}
		}
		if copies := packCopies(entries); len(copies) > 0 {
			if _, err := tx.ExecContext(ctx, `INSERT INTO copies(record, content) VALUES(?, ?)`, id, copies); err != nil {
				return err
			}
		}

		return writeOutcomes(ctx, tx, id, settled)
	})
}

// Settle records outcomes without waiting for the disk: when it returns nil they survive a kill of the program, and a
// power failure once a later Write or Finish has returned.
func (j *Journal) Settle(id int64, settled []plan.Settled) error {
	if len(settled) == 0 {
		return nil
	}
	ctx := context.Background()
	return j.within(ctx, &j.quick, "write", func(tx *sql.Tx) error { return writeOutcomes(ctx, tx, id, settled) })
}

// Finish records how an action ended.
func (j *Journal) Finish(id int64, settled []plan.Settled, a plan.Account) error {
	var strayed []strayJSON
	for _, s := range a.Strayed {
		strayed = append(strayed, strayJSON{s.Way.Exchange, s.Way.RoutingKey, s.Queue.Name, s.Messages})
	}

	var copies []copiesJSON
	for _, c := range a.Copies {
		left := copiesJSON{Queue: c.By.Name, Messages: c.Messages, AtMost: c.AtMost}
		for _, in := range c.In {
			left.In = append(left.In, in.Name)
		}
		copies = append(copies, left)
	}

	account, err := json.Marshal(accountJSON{
		a.Moved, a.Dropped, a.Refused, a.Returned, a.Unknown, a.Arrived, a.Gone, a.Held, a.Stopped, strayed, copies,
	})
	if err != nil {
		return j.explain("write", err)
	}
	ctx := context.Background()
	err = j.within(ctx, &j.full, "write", func(tx *sql.Tx) error {
		if err := writeOutcomes(ctx, tx, id, settled); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE records SET ended = ?, planned = ?, account = ? WHERE id = ?`,
			j.options.Now().UnixMilli(), a.Planned, string(account), id)
		return err
	})

	j.unlock(id)

	return err
}

// Follow records what happened to the messages of a replay afterwards. The last call counts.
func (j *Journal) Follow(id int64, s plan.Sequel) error {
	text, err := json.Marshal(s)
	if err != nil {
		return j.explain("write", err)
	}
	ctx := context.Background()
	return j.within(ctx, &j.quick, "write", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE records SET sequel = ? WHERE id = ?`, string(text), id)
		return err
	})
}

// unlock shows others that this process no longer works on a record.
func (j *Journal) unlock(id int64) {
	if locked, ok := j.locks.LoadAndDelete(id); ok {
		lock := locked.(*flock.Flock)
		_ = os.Remove(lock.Path())
		_ = lock.Close()
	}
}

// usualLine is how many bytes an entry of a replay has that keeps no content.
const usualLine = 600

// encode writes entries as JSON lines.
func encode(entries []plan.Entry) (string, error) {
	var lines strings.Builder
	lines.Grow(len(entries) * usualLine)
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for i := range entries {
		if err := encoder.Encode(entries[i].JSON()); err != nil {
			return "", err
		}
	}

	return lines.String(), nil
}

// writeOutcomes writes a row for each outcome and reason, with the positions that have it.
func writeOutcomes(ctx context.Context, tx *sql.Tx, id int64, settled []plan.Settled) error {
	type kind struct {
		outcome plan.Outcome
		reason  string
	}

	positions := map[kind][]int{}
	for _, s := range settled {
		k := kind{s.Outcome, s.Reason}
		positions[k] = append(positions[k], s.Position)
	}

	kinds := slices.SortedFunc(maps.Keys(positions), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.reason, b.reason))
	})
	for _, k := range kinds {
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO outcomes(record, outcome, reason, count, positions) VALUES(?, ?, ?, ?, ?)`,
			id, k.outcome, k.reason, len(positions[k]), ranges(positions[k])); err != nil {
			return err
		}
	}

	return nil
}

// ranges abbreviates positions: "1-500 502".
func ranges(positions []int) string {
	slices.Sort(positions)
	var b strings.Builder
	for i := 0; i < len(positions); {
		first, last := positions[i], positions[i]
		for i++; i < len(positions) && positions[i] <= last+1; i++ {
			last = positions[i]
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}

		b.WriteString(strconv.Itoa(first))
		if last > first {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(last))
		}
	}

	return b.String()
}

// mostPositions bounds what eachIn reads from one text: a position damaged on disk must not fill the memory.
const mostPositions = 10_000_000

// eachIn calls f with every position in the output of ranges.
func eachIn(text string, f func(position int)) error {
	left := mostPositions
	for part := range strings.FieldsSeq(text) {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		last := first
		if isRange && err == nil {
			last, err = strconv.Atoi(to)
		}
		if err != nil || last < first || last-first >= left {
			return fmt.Errorf("%.40q is not a range of positions", part)
		}
		left -= last - first + 1
		for i := range last - first + 1 {
			f(first + i)
		}
	}

	return nil
}
