package resume

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Whole returns the records of the action that ends with a record, the last one first: it, those of the other queues,
// and what these resume.
func Whole(ctx context.Context, j Journal, id int64) (parts []plan.Record, err error) {
	last, ids := id, []int64{id}
	for i := 0; i < len(ids); i++ {
		if slices.Contains(ids[:i], ids[i]) {
			continue
		}
		chain, err := j.Chain(ctx, ids[i])
		if err != nil {
			return nil, err
		}

		for _, r := range chain {
			if r.ID == id {
				last = slices.Max(append(r.Parts, id))
			}
		}

		for _, r := range chain {
			known := slices.ContainsFunc(parts, func(p plan.Record) bool { return p.ID == r.ID })
			if r.ID <= last && !known {
				parts = append(parts, r)
				ids = append(ids, r.Parts...)
			}
		}
	}

	slices.SortFunc(parts, func(a, b plan.Record) int { return cmp.Compare(b.ID, a.ID) })
	return parts, nil
}

// Open returns the records by which the action with a record goes on: it, or those of several queues that did not end.
func Open(ctx context.Context, j Journal, id int64) (ids []int64, err error) {
	r, err := j.Record(ctx, id)
	for _, part := range r.Parts {
		chain, err := j.Chain(ctx, part)
		if err != nil {
			return nil, err
		}
		last := &chain[len(chain)-1]
		if last.Resumable() && !slices.Contains(ids, last.ID) {
			ids = append(ids, last.ID)
		}
	}

	if len(ids) == 0 {
		ids = append(ids, id) // why it cannot be resumed is said of it
	}
	return ids, err
}

// Told is an action as the journal lists it: its record, or what its records for several queues have together.
type Told struct {
	plan.Record
	Of []plan.Record // the records for several queues, the first one first; empty: one queue
}

// Tell makes one of the records of an action on several queues. They are the newest first.
func Tell(records []plan.Record) (all []Told) {
	for r := range model.Each(records) {
		same := func(t Told) bool { return len(r.Parts) > 1 && slices.Contains(r.Parts, t.ID) }
		at := slices.IndexFunc(all, same)
		if at < 0 {
			all = append(all, Told{Record: *r})
			continue
		}

		t := &all[at]
		if len(t.Of) == 0 {
			t.Of = []plan.Record{t.Record}
		}
		t.Of = slices.Insert(t.Of, 0, *r)
	}

	for i := range all {
		if len(all[i].Of) > 0 {
			all[i].merge()
		}
	}

	return all
}

// merge adds up the records.
func (t *Told) merge() {
	t.Record = t.Of[0]
	t.Account = plan.Account{Operation: t.Operation}
	t.Planned, t.Entries, t.Undone = 0, 0, 0
	queues := model.QueueSet{}
	unfinished := false
	for r := range model.Each(t.Of) {
		own := r.Account
		own.Unknown = r.Uncertain()
		t.Account = t.Account.With(own)
		if !slices.Contains(r.Parts, r.Resumes) {
			t.Planned += r.Planned
		}

		t.Undone += r.Undone
		t.Undoes = min(t.Undoes, r.Undoes)
		t.ResumedBy = max(t.ResumedBy, r.ResumedBy)
		t.Running = t.Running || r.Running
		unfinished = unfinished || r.Ended.IsZero()
		if r.Ended.After(t.Ended) {
			t.Ended = r.Ended
		}
		if r.To != t.To {
			t.To = "several"
		}
		queues[r.From] = true
	}

	if unfinished {
		t.Ended = time.Time{}
	}
	t.Account.Planned = t.Planned
	t.From.Name = model.Plural(len(queues), "queue")
}

// Texts returns the texts in which it is searched.
func (t *Told) Texts() []string {
	texts := t.Record.Texts()
	for i := range t.Of {
		texts = append(texts, t.Of[i].Texts()...)
	}
	return texts
}
