package act

import (
	"context"
	"fmt"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// undoingAll is the undo of one action on several queues: of its records, one after the other. Those of which nothing
// can be brought back are said, and left out.
type undoingAll []Undoing

func (u undoingAll) plan(ctx context.Context, e *shell.Env, t *model.Topology, insist bool) (FollowUp, error) {
	return u.each(func(one Undoing) (FollowUp, error) { return one.plan(ctx, e, t, insist) })
}

func (u undoingAll) again(ctx context.Context, e *shell.Env, t *model.Topology) (FollowUp, error) {
	return u.each(func(one Undoing) (FollowUp, error) { return one.again(ctx, e, t) })
}

func (u undoingAll) each(make func(Undoing) (FollowUp, error)) (FollowUp, error) {
	planned := append(undoingAll{}, u...)
	for i := range u {
		one, err := make(u[i])
		if err != nil {
			return u, fmt.Errorf("record %d: %w", u[i].Id, err)
		}
		planned[i] = one.(Undoing)
	}
	return planned, nil
}

// ready are the undos that are possible.
func (u undoingAll) ready() (ready undoingAll, messages int) {
	for _, one := range u {
		if !one.Undo.Refusal.Refused() {
			ready, messages = append(ready, one), messages+one.Undo.Planned()
		}
	}
	return ready, messages
}

func (u undoingAll) turn() FollowUp { return u }

func (u undoingAll) promise() (all plan.Promise) {
	ready, _ := u.ready()
	for _, one := range ready {
		p := one.Undo.Promise()
		all.Takes, all.Losses = append(all.Takes, p.Takes...), append(all.Losses, p.Losses...)
		all.Again, all.Messages = append(all.Again, p.Again...), all.Messages+p.Messages
	}
	return all
}

func (u undoingAll) offer(d *shell.Dialog) *shell.Offer {
	ready, messages := u.ready()
	if len(ready) == 0 || d.Err != nil || d.Env.ReadOnly {
		return u[0].offer(d)
	}
	o := &shell.Offer{Does: "bring back"}
	if d.Env.Careful(messages) {
		o.Carefully(d.Env, messages, "bring "+model.Plural(messages, "message")+" back to "+u.where())
	}
	return o
}

func (u undoingAll) where() string { return model.Plural(len(u), "queue") }

func (u undoingAll) run(e *shell.Env) (begun plan.Account, run shell.AccountRun) {
	ready, messages := u.ready()
	begun = plan.Account{Operation: plan.Undo, Planned: messages}
	return begun, func(ctx context.Context, progress func(plan.Account)) (plan.Account, error) {
		all := begun
		for _, one := range ready {
			_, run := one.run(e)
			a, err := run(ctx, func(a plan.Account) { progress(all.With(a)) })
			if all = all.With(a); err != nil || a.Stopped != "" {
				return all, err
			}
		}
		return all, nil
	}
}

func (u undoingAll) did(e *shell.Env, a *plan.Account) {
	for _, one := range u {
		part := plan.Account{}
		if a.Complete() {
			part.Moved = one.Undo.Planned()
		}
		one.did(e, &part)
	}
}

func (u undoingAll) say(l *shell.DialogLines) (title string) {
	_, messages := u.ready()
	for i := range u {
		p := &u[i].Undo
		words := fmt.Sprintf("%s: %s of the %s %d, to its end", model.Printable(p.Back.String()),
			model.Plural(p.Planned(), "message"), p.Record.Operation, p.Record.ID)
		if p.Refusal.Refused() {
			l.Stress("not", model.Printable(p.Record.From.String())+": "+model.Printable(p.Refusal.Words()), l.Styles.Warning)
			continue
		}
		l.Say("back to", words, l.Styles.Strong)
		l.Warn(p.Warnings)
	}
	return fmt.Sprintf("Undo all %d: bring back %s", len(u), model.Plural(messages, "message"))
}

func (u undoingAll) running(a *plan.Account) string { return u[0].running(a) }

func (u undoingAll) tell(d *shell.Dialog, l *shell.DialogLines) {
	ready, _ := u.ready()
	u[0].tellTo(d, l, ready.where())
}
