package model

import "strings"

// Retriers returns the workers whose failures wait in a buffer, sorted: those whose dead letters go there; otherwise
// those from which peeked messages came; otherwise those whose names begin the buffer's name, the longest of them. Nil
// without such evidence.
func (t *Topology) Retriers(ref QueueRef) []QueueRef {
	var rejected, seen, named []QueueRef
	base, longest := listen(ref.Name).base+" ", 0
	for _, f := range t.flowsOf[ref] {
		worker := f.Worker.Queue
		for _, b := range f.Buffers {
			if !b.Has(ref) {
				continue
			}
			if b.Rejected {
				rejected = append(rejected, worker)
			}
			if t.seenFrom(b, worker) {
				seen = append(seen, worker)
			}

			name := listen(worker.Name).base
			if n := len(name); n > 0 && n >= longest && strings.HasPrefix(base, name+" ") {
				if n > longest {
					named, longest = nil, n
				}
				named = append(named, worker)
			}
		}
	}

	for _, workers := range [][]QueueRef{rejected, seen, named} {
		if len(workers) > 0 {
			return sorted(workers)
		}
	}

	return nil
}
