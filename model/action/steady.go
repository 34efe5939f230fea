package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

const (
	// MostResumes is how often an action resumes by itself.
	MostResumes = 3
	// backLimit bounds each wait: a node with large queues takes minutes to start.
	backLimit = 3 * time.Minute
	backEvery = time.Second
	// apiLag is how long the management API of a node that has just started may not know a queue.
	apiLag = 10 * time.Second
)

// Steady runs actions. One whose connection, or the node of a queue, is lost it resumes as `dlxtop journal resume`
// does, with the same checks. The account is that of all its records.
type Steady struct {
	Broker
	Importer
	On    resume.On
	Watch Watcher // nil: no breaker
	Most  int     // resumes; 0: none
	// Settled returns the topology once the broker has noticed that the connections of a record are gone.
	Settled func(ctx context.Context, r *plan.Record) (*model.Topology, error)
	Planned int  // messages of all its actions, which the breaker judges together
	alarmed bool // the breaker stopped it because of messages of others
	past    []*breaker
}

func (s *Steady) Execute(ctx context.Context, run plan.Run, progress plan.Progress) (plan.Account, error) {
	a, err := s.breaking(ctx, run, progress, func(ctx context.Context, progress plan.Progress) (plan.Account, error) {
		return s.Broker.Execute(ctx, run, progress)
	})
	return s.goOn(ctx, a, progress), err
}

func (s *Steady) Undo(ctx context.Context, p plan.UndoPlan, progress plan.Progress) (plan.Account, error) {
	a, err := s.Broker.Undo(ctx, p, progress)
	return s.goOn(ctx, a, progress), err
}

func (s *Steady) Resume(ctx context.Context, run resume.Run, progress plan.Progress) (plan.Account, error) {
	a, err := s.resumeRest(ctx, run, progress)
	return s.goOn(ctx, a, progress), err
}

func (s *Steady) resumeRest(ctx context.Context, run resume.Run, progress plan.Progress) (plan.Account, error) {
	do := func(ctx context.Context, progress plan.Progress) (plan.Account, error) {
		return s.Broker.Resume(ctx, run, progress)
	}

	return s.breaking(ctx, run.RestOn(), progress, do)
}

func (s *Steady) Import(
	ctx context.Context, p resume.ImportPlan, messages message.Walk, progress plan.Progress,
) (plan.Account, error) {
	a, err := s.Importer.Import(ctx, p, messages, progress)
	return s.goOn(ctx, a, progress), err
}

// goOn resumes an action until it ends for another reason than a loss.
func (s *Steady) goOn(ctx context.Context, a plan.Account, progress plan.Progress) plan.Account {
	if a.Lost && s.Most > 0 && a.JournalID == 0 {
		a.Stopped += "; without a journal it is not resumed"
	}

	began := time.Now().Add(-a.Elapsed)
	for n := 1; a.Lost && n <= s.Most; n++ {
		if !a.Resumable() || ctx.Err() != nil {
			break
		}

		waits := func(why string) {
			waiting := a
			waiting.Waiting = fmt.Sprintf("for %s, resuming %d of %d: %s", s.On.Broker.Address(), n, s.Most, why)
			progress(waiting)
		}
		waits(a.Stopped)

		all, err := s.resume(ctx, a, waits, progress)
		if err != nil && ctx.Err() == nil {
			a.Stopped += "; not resumed: " + err.Error()
		}
		if err != nil {
			break
		}
		a = all
		a.Elapsed = time.Since(began)
	}

	return a
}

// resume resumes an action once, and returns the account of all of it. An error means that nothing was done.
func (s *Steady) resume(
	ctx context.Context, before plan.Account, waits func(why string), progress plan.Progress,
) (plan.Account, error) {
	id := before.JournalID
	run, release, err := s.await(ctx, id, waits)
	if err != nil {
		return before, err
	}
	defer release()
	if run.Refusal.Refused() {
		return before, errors.New(run.Refusal.Words())
	}

	others, err := s.recorded(ctx, id, id)
	if err != nil {
		return before, err
	}
	known := before.Without(&others).Without(&run.Record.Account) // of parts of an undo that are over
	known.Problems, known.Stopped, known.Lost = nil, "", false

	shown := run.Known(before)
	account, err := s.resumeRest(ctx, run, func(now plan.Account) { progress(shown.With(now)) })
	if err != nil {
		return before, err
	}
	found, err := s.recorded(ctx, id, account.JournalID)
	if err != nil {
		account.Stopped = err.Error()
	}

	all := known.With(found).With(account)
	all.Planned = max(before.Planned, all.Done())
	all.Resumed, all.Earlier = before.Resumed+1, id
	all.Canary, all.Changes, all.Unguarded = account.Canary, account.Changes, account.Unguarded
	all.Released = account.Released
	return all, nil
}

// recorded counts what the journal says of the messages of an action's records, without one of these.
func (s *Steady) recorded(ctx context.Context, id, without int64) (a plan.Account, err error) {
	chain, err := s.On.Journal.Chain(ctx, id)
	for i := 0; i < len(chain) && err == nil; i++ {
		if chain[i].ID != without {
			err = s.On.Journal.Entries(ctx, chain[i].ID, func(e *plan.Entry) error {
				a.AddEntry(e)
				return nil
			})
		}
	}

	return a, err
}

// await plans the resume of a record as soon as the broker and the queues are back, and tells why they are not.
func (s *Steady) await(
	ctx context.Context, id int64, waits func(why string),
) (run resume.Run, release func(), err error) {
	pause := backEvery
	for began := time.Now(); ; {
		var t *model.Topology
		waited := time.Since(began)
		q, release, err := s.On.Inquire(ctx, id, false, func(last *plan.Record) (_ *model.Topology, err error) {
			if last.ID != id {
				return nil, &plan.BeingResumed{Record: id}
			}
			if t, err = s.Settled(ctx, last); err == nil && waited < backLimit { // after that the plan says it
				err = last.Down(t)
			}
			return t, err
		})

		if err == nil {
			run, err = q.Plan(ctx, t, "")
			early := waited < apiLag && q.Barred(t).Refused() || waited < backLimit && run.Unsettled
			if err == nil && !early {
				return run, release, nil
			}
			release()
			pause = min(2*pause, backLimit/4) // a look may count towards a delivery limit
		}

		why := run.Unclear()
		if err != nil {
			why = err.Error()
		}
		waits(why)

		taken := new(plan.BeingResumed)
		final := errors.As(err, &taken) || errors.Is(err, plan.ErrJournal) || errors.Is(err, message.ErrFile)
		if final || waited > backLimit {
			return run, nil, err
		}
		select {
		case <-ctx.Done():
			return run, nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}
