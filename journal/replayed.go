package journal

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Replayed returns the copies that replays on a broker have sent, without those that an undo has brought back.
func (j *Journal) Replayed(ctx context.Context, broker, cluster string) (*plan.Doubles, error) {
	const query = `SELECT id, vhost, queue, broker, cluster, began, ended IS NOT NULL,
		coalesce(json_extract(intent, '$.mark'), 0), resumes
		FROM records WHERE operation = ? AND fingerprints = ? ORDER BY began, id`
	d := plan.NewDoubles()
	var replays []plan.Record
	resumedBy := map[int64]int64{}

	return d, j.read(ctx, func(db *sql.DB) error {
		values := []any{plan.Replay, message.FingerprintKind}
		if err := eachRow(ctx, db, query, values, func(scan scanner) error {
			r := plan.Record{Intent: &plan.Intent{}}
			var began int64
			var ended bool
			err := scan(&r.ID, &r.From.VHost, &r.From.Name, &r.Broker, &r.Cluster, &began, &ended, &r.Intent.Mark, &r.Resumes)
			r.Began = time.UnixMilli(began)
			if ended {
				r.Ended = r.Began // only that it has ended matters
			}
			if r.On(broker, cluster) {
				replays = append(replays, r)
			}
			if r.Resumes > 0 {
				resumedBy[r.Resumes] = r.ID
			}
			return err
		}); err != nil {
			return err
		}

		for r := range model.Each(replays) {
			sender := plan.Sender{From: r.From, Began: r.Began, Marked: r.Intent.Mark, Record: r.ID}
			running, err := j.state(ctx, db, r)
			if err != nil {
				return err
			}

			for resumedBy[sender.Record] > 0 {
				sender.Record = resumedBy[sender.Record]
				running = j.running(sender.Record)
			}
			if running {
				sender.Record = 0
			}

			d.Sender(sender)
			if err := j.copies(ctx, db, r.ID, !r.Ended.IsZero(), d.Add); err != nil {
				return err
			}
		}

		return nil
	})
}

// copies calls each with every copy that a record has sent, or may have sent: after a kill an intended one may be sent,
// but one without an outcome in an ended record is untouched. sure: it was sent.
func (j *Journal) copies(
	ctx context.Context, db *sql.DB, id int64, ended bool, each func(c plan.Copy, sure bool),
) error {
	outcomes, undos, err := j.fates(ctx, db, id)
	if err != nil {
		return err
	}

	return lines(ctx, db, id, func(line string) error {
		n, text, found := cutPosition(line)
		text, ok := strings.CutPrefix(text, `,"copies":"`)
		s, settled := outcomes.at(n)
		sent := s.Outcome == plan.Moved || s.Outcome == plan.Unsure || !settled && !ended
		if !found || !ok || !sent {
			return nil
		}
		e := plan.Entry{Position: n}
		for _, undo := range undos {
			undo.settleEntry(&e)
		}
		if e.Undone || e.Claimed > 0 || len(e.Undoing) > 0 {
			return nil
		}
		text, _, _ = strings.Cut(text, `"`)
		copies, _ := plan.ParseCopies(text) // for a damaged entry those that can be read
		for _, c := range copies {
			each(c, s.Outcome == plan.Moved)
		}

		return nil
	})
}

// cutPosition splits the position off an entry's line. Parsing each entry of a large journal completely would take
// seconds.
func cutPosition(line string) (position int, rest string, ok bool) {
	text, found := strings.CutPrefix(line, `{"position":`)
	digits := strings.IndexByte(text, ',')
	if !found || digits < 0 {
		return 0, "", false
	}
	position, err := strconv.Atoi(text[:digits])
	return position, text[digits:], err == nil
}
