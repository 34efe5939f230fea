package model

import "slices"

// Retriers are the workers whose failures wait in a buffer, sorted: those whose dead letters come there; else those
// from which messages that were looked at came; else those that have its name. None where nothing of it tells.
func (t *Topology) Retriers(ref QueueRef) []QueueRef {
	base := listen(ref.Name).base
	for _, is := range []func(*Buffer, QueueRef) bool{
		func(b *Buffer, _ QueueRef) bool { return b.Rejected },
		t.seenFrom,
		func(_ *Buffer, worker QueueRef) bool { return base != "" && listen(worker.Name).base == base },
	} {
		var workers []QueueRef
		for _, f := range t.flowsOf[ref] {
			for _, b := range f.Buffers {
				if b.Has(ref) && is(b, f.Worker.Queue) {
					workers = append(workers, f.Worker.Queue)
				}
			}
		}
		if len(workers) > 0 {
			slices.SortFunc(workers, compareRefs)
			return slices.Compact(workers)
		}
	}
	return nil
}
