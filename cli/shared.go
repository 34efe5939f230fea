package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// registerAgain adds the flag that reads again what was read before.
func registerAgain(cmd *cobra.Command, again *bool) {
	cmd.Flags().BoolVar(again, "again", false, "read again what a look with a cost has read before")
}

// sharedPeeks has what any dlxtop of this user has read of queues where each peek uses up a delivery limit, as far as
// they still have it. The broker's client saves what is read.
type sharedPeeks struct {
	*session
	ctx      context.Context // of the command
	store    PeekStore       // nil: nothing is shared
	topology *model.Topology
	whole    bool // only queues to which nothing has come since
	silent   bool
	lent     map[model.QueueRef]peek.Peeked
}

// shared returns the peeks for one command. again shares none.
func (s *session) shared(ctx context.Context, t *model.Topology, again bool) *sharedPeeks {
	p := &sharedPeeks{session: s, ctx: ctx, topology: t, lent: map[model.QueueRef]peek.Peeked{}}
	if s.Store != nil && !again {
		p.store = s.Store(s.connection)
	}
	return p
}

// Has reports whether what was read of a queue can be used instead of a peek.
func (s *sharedPeeks) Has(queue model.QueueRef) bool {
	if _, ok := s.lent[queue]; ok {
		return true
	}
	q, there := s.topology.Queue(queue)
	cluster := s.topology.Snapshot.Overview.ClusterName
	if s.store == nil || !there || cluster == "" {
		return false
	}
	p, ok := s.store.Load(cluster, queue)
	if !ok {
		return false
	}

	counts, err := s.broker.Count(s.ctx, []model.QueueRef{queue}) // exactly, now
	now, known := counts[queue].Ready.Get()
	depth := p.Depth.Or(0)
	counted := err == nil && known
	usable := counted && now >= depth && p.MayHold(q)
	if !usable || s.whole && (now > depth || p.Stopped != "") {
		_ = p.Messages.Close()
		return false
	}

	p.Depth = model.Some(now)
	s.lent[queue] = p
	return true
}

// Lend says what it lends, unless silent.
func (s *sharedPeeks) Lend(queue model.QueueRef, _ int) (p peek.Peeked, ok bool, err error) {
	if !s.Has(queue) {
		return p, false, nil
	}
	p = s.lent[queue]
	delete(s.lent, queue) // its reader closes it
	if !s.silent {
		s.note("as of %s: %v message(s) of %s, without another look (--again looks)", seenAt(model.Some(p.TakenAt)),
			p.Messages.Len(), queue)
	}
	return p, true, nil
}

func (s *sharedPeeks) Add(p peek.Peeked) peek.Peeked { return p }
