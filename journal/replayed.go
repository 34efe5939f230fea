package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Replayed returns the copies that replays on a broker have sent, without those that an undo has brought back.
func (j *Journal) Replayed(ctx context.Context, broker, cluster string) (*plan.Doubles, error) {
	const query = `SELECT id, vhost, queue, broker, cluster, began, ended IS NOT NULL,
		coalesce(json_extract(intent, '$.mark'), 0), resumes, version
		FROM records WHERE operation = ? AND fingerprints = ? ORDER BY began, id`
	d := plan.NewDoubles()
	var replays []plan.Record
	resumedBy := map[int64]int64{}
	packed := map[int64]bool{}

	return d, j.read(ctx, func(db *sql.DB) error {
		values := []any{plan.Replay, message.FingerprintKind}
		if err := eachRow(ctx, db, query, values, func(scan scanner) error {
			r := plan.Record{Intent: &plan.Intent{}}
			var began int64
			var ended bool
			var version int
			err := scan(&r.ID, &r.From.VHost, &r.From.Name, &r.Broker, &r.Cluster, &began, &ended, &r.Intent.Mark, &r.Resumes,
				&version)
			r.Began = time.UnixMilli(began)
			if ended {
				r.Ended = r.Began // only that it has ended matters
			}
			if r.On(broker, cluster) {
				replays = append(replays, r)
				packed[r.ID] = version >= copiesSince
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
			s := sent{record: r.ID, ended: !r.Ended.IsZero(), packed: packed[r.ID]}
			if err := s.read(ctx, j, db, d.Add); err != nil {
				return err
			}
		}

		return nil
	})
}
