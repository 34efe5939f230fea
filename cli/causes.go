package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/naming"
	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// causesJSON is the JSON of `dlxtop causes`. A queue is named as peek takes it: VHOST/NAME, in / its name alone.
type (
	causesJSON struct {
		Read    int              `json:"read"`            // messages that were read
		Ready   model.Opt[int64] `json:"ready,omitzero"`  // in the failed queues; absent where one is unknown
		Parked  int64            `json:"parked,omitzero"` // messages in parked queues, which count apart
		Causes  []causeJSON      `json:"causes"`          // the causes, the most frequent first
		Earlier []earlierJSON    `json:"earlier"`         // queues among them of which an earlier reading is shown
		NotRead []notReadJSON    `json:"not_read"`        // queues that were not read
	}
	causeJSON struct {
		ID        cause.ID `json:"id"`               // by which `--cause` takes it
		Cause     string   `json:"cause"`            // in one line
		Kind      string   `json:"kind,omitempty"`   // the type of the error
		Text      string   `json:"text,omitempty"`   // the error without what differs
		Frame     string   `json:"frame,omitempty"`  // the place in the application
		Evidence  string   `json:"evidence"`         // error, x-death or nothing
		Coarse    string   `json:"coarse,omitempty"` // what was grouped although it differs
		State     string   `json:"state"`            // new, seen, resolved, back or ignored
		Note      string   `json:"note,omitempty"`   // that a person wrote
		Messages  int      `json:"messages"`         // messages that failed for it
		Different int      `json:"different"`        // of these, without copies of the same one in other queues
		Queues    []string `json:"queues"`           // where they are
		Workers   []string `json:"workers"`          // whose they are
		First     string   `json:"first,omitempty"`  // when the first of them failed
		Last      string   `json:"last,omitempty"`   // when the last of them failed
		Sample    string   `json:"sample,omitempty"` // the error of one message as it was written
	}
	earlierJSON struct {
		Queue    string `json:"queue"`    // its name
		Messages int    `json:"messages"` // messages of it
		At       string `json:"at"`       // when they were read
		Why      string `json:"why"`      // why they were not read again
		at       time.Time
	}
	notReadJSON struct {
		Queue    string           `json:"queue"`             // its name
		Messages model.Opt[int64] `json:"messages,omitzero"` // messages in it
		Why      string           `json:"why"`               // a sentence
	}
)

// mostCauseMessages is how many messages of each queue are read by default.
const mostCauseMessages = 10_000

type causing struct {
	pattern string
	limit   int
	limited bool // the limit was given
	costly  bool
	again   bool
	output  format
}

func (p *Program) causesCommand() *cobra.Command {
	c := &causing{limit: mostCauseMessages}
	cmd := &cobra.Command{
		Use:     "causes",
		Short:   "What failed and why: the messages of all failed queues, grouped by their cause",
		GroupID: toLook,
		Example: "dlxtop causes\ndlxtop causes --read-costly -o json",
		Long: `Read the failed queues and group their messages by cause: the type of the error, its text without what
differs from message to message (numbers, ids, addresses, quoted values), and the topmost place of
its stack trace that is in the application's own code. A message without an error is grouped by
the reason and the queue of its death. peek, replay, move, drop and export take --cause ID.
STATE is what was said of a cause in the dashboard: new, seen, resolved, back (it came again after
it was resolved) or ignored.

A queue is read where a look has no cost but the mark redelivered: classic queues, quorum queues from
4.3, streams. What a look at the others would cost is shown, and --read-costly reads them, too: all of
each, as a look at all costs no more than one at the first. looks in the configuration says which are
read without it. What was read of them earlier, by any command or the dashboard, is shown as of that
time, unless messages have left the queue since; --again reads it again. All others are read each
time: the statistics cannot prove that a queue is unchanged. One queue is read at a time. Exit status 1
when a queue could not be read because of an error.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.limit < 1 || c.limit > mostPeeked {
				return usage("--limit %d: between 1 and %d messages of a queue can be read", c.limit, mostPeeked)
			}
			c.limited = cmd.Flags().Changed("limit")
			return p.read(cmd.Context(), func(s *session, t *model.Topology) error {
				return s.causes(cmd.Context(), t, c)
			})
		},
	}

	set := cmd.Flags()
	set.StringVar(&c.pattern, "queues", "", "only failed queues with such names: `GLOB`, with * and ?")
	_ = cmd.RegisterFlagCompletionFunc("queues", p.onBroker("", queueNames))
	set.IntVar(&c.limit, "limit", c.limit, "at most this many messages of each queue, from its head")
	set.BoolVar(&c.costly, "read-costly", false, "also read queues where a look has a cost, as peek does")
	registerAgain(cmd, &c.again)
	c.output.register(cmd)

	return cmd
}

// reading is what was read of the failed queues so far.
type reading struct {
	topology *model.Topology
	kept     *sharedPeeks
	groups   *cause.Groups
	ready    int64
	unknown  bool // the depth of a queue is unknown
	earlier  []earlierJSON
	recalls  model.QueueSet // their queues
	index    cause.Kept
	notRead  []notReadJSON
	looked   int   // queues that were peeked at
	failed   error // the first error of reading one
	states   cause.States
}

func (s *session) causes(ctx context.Context, t *model.Topology, c *causing) error {
	refs, err := naming.Matching(c.pattern, t.FailedQueues(), "failed queue")
	if err != nil {
		return usage("%w", err)
	}
	r := &reading{
		kept: s.shared(ctx, t, c.again), topology: t, groups: cause.NewGroups(), recalls: model.QueueSet{}, index: s.kept(t),
	}

	entered := map[string]error{}
	for _, ref := range refs {
		q := t.Known(ref)
		depth, known := q.Ready.Get()
		r.ready += depth
		r.unknown = r.unknown || !known
		if _, checked := entered[ref.VHost]; !checked {
			entered[ref.VHost] = s.checkCluster(ctx, ref.VHost, t.Snapshot.Overview)
		}

		if held := heldByConsumers(q); held > 0 {
			r.noteUnread(ref, model.Some(held), whyHeld)
		}

		err := entered[ref.VHost]
		if err == nil {
			err = s.readCauses(ctx, t, ref, c, r)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if isKind(err, trouble.Unreachable, trouble.NoSuchHost, trouble.TwoBrokers) {
				return err
			}
			r.noteUnread(ref, q.Ready, err.Error())
			if r.failed == nil {
				r.failed = err
			}
		}
	}

	if r.failed != nil && r.looked == 0 {
		return r.failed
	}
	r.states = s.statesOf(t)
	if err := s.showCauses(r, len(refs), &c.output); err != nil || r.failed == nil {
		return err
	}

	return &exit{status: ExitRefused}
}

// kept is what was read of the failed queues earlier, by any program.
func (s *session) kept(t *model.Topology) cause.Kept {
	kept := cause.Kept{Broker: t.Snapshot.Overview.ClusterName}
	if s.Index != nil {
		kept.Index = s.Index(s.connection)
	}
	return kept
}

// readCauses reads one queue, if that is free or was asked for.
func (s *session) readCauses(
	ctx context.Context, t *model.Topology, ref model.QueueRef, c *causing, r *reading,
) error {
	look := peek.For(t, ref, s.wants(peek.Want{Limit: c.limit, Whole: !c.limited}))
	look, begins := s.connection.Looks.Begins(look)
	if look.Counts && r.share(t, ref, c.costly || begins) {
		return nil
	}
	if !look.Allowed() || !look.Free { // otherwise the look finds out
		if empty, err := s.emptyNow(ctx, t, ref, r); empty || err != nil {
			return err
		}
	}

	ready := t.Known(ref).Ready
	switch {
	case !look.Allowed():
		r.recall(t, ref, look.Refusal.Words())
		return nil
	case !look.Free && !c.costly && !begins:
		r.recall(t, ref, "a look has a cost: "+look.Cost)
		return nil
	}

	began := time.Now()
	peeked, err := s.broker.Peek(ctx, look)
	s.tellRescued(peeked.Rescued)
	var limit peek.RefusedLook
	switch {
	case errors.As(err, &limit):
		r.noteUnread(ref, ready, limit.Refusal().Words())
		return nil
	case err != nil:
		return err
	}

	defer peeked.Messages.Close()
	r.looked++
	peek.Note(t.Snapshot, &peeked)
	err = message.Each(peeked.Messages, shownBody, func(m *message.Message) { r.groups.Add(ref, m) })
	if err != nil {
		return err
	}

	depth := max(t.Known(ref).Ready.Or(0), int64(peeked.Messages.Len()))
	r.index.Save(r.groups, ref, cause.Earlier{At: began, Depth: peeked.Depth.Or(depth)})
	r.noteRest(ref, &peeked, look.Limit, ready)
	return nil
}

// share adds what an earlier look has read of a queue, if the queue still has it. What came since is named, unless the
// queue may be read: then it is to be read again.
func (r *reading) share(t *model.Topology, ref model.QueueRef, may bool) bool {
	r.kept.whole = may
	r.kept.silent = true
	p, ok, _ := r.kept.Lend(ref, 0)
	if !ok {
		return false
	}
	defer p.Messages.Close()
	if message.Each(p.Messages, shownBody, func(m *message.Message) { r.groups.Add(ref, m) }) != nil {
		r.groups.Forget(ref)
		return false
	}

	read := p.Messages.Len()
	r.recalls[ref] = true
	r.earlier = append(r.earlier, earlierJSON{
		ref.String(), read, message.JSONTime(p.TakenAt), "read then by a look with a cost; --again looks again", p.TakenAt,
	})
	r.ready += p.Depth.Or(0) - t.Known(ref).Ready.Or(0)
	if rest := p.Depth.Or(0) - int64(read); rest > 0 {
		r.noteUnread(ref, model.Some(rest), cmp.Or(p.Stopped, "they came since, and a look has a cost: "+p.Plan.Cost))
	}

	return true
}

// emptyNow counts a queue that is empty by the statistics, which lag.
func (s *session) emptyNow(ctx context.Context, t *model.Topology, ref model.QueueRef, r *reading) (bool, error) {
	q := t.Known(ref)
	if !q.Ready.Known() || q.Ready.Or(0) > 0 {
		return false, nil
	}
	began := time.Now()
	counts, err := s.broker.Count(ctx, []model.QueueRef{ref})
	if err != nil {
		return false, err
	}
	count, there := counts[ref]
	n, answered := count.Ready.Get()
	if answered {
		q.Ready, q.CountedAt = count.Ready, began
		r.ready += n
	}

	return !there || answered && n == 0, nil
}

func (r *reading) noteUnread(ref model.QueueRef, messages model.Opt[int64], why string) {
	r.notRead = append(r.notRead, notReadJSON{ref.String(), messages, why})
}

// noteRest records what a look has left unread. The look counts the queue later than the statistics did.
func (r *reading) noteRest(ref model.QueueRef, peeked *peek.Peeked, limit int, ready model.Opt[int64]) {
	read := int64(peeked.Messages.Len())
	depth, known := peeked.Depth.Get()
	if !known {
		return
	}
	r.ready += depth - ready.Or(0)
	switch {
	case depth <= read:
		r.ready += read - depth
	case peeked.Stopped != "":
		r.noteUnread(ref, model.Some(depth-read), peeked.Stopped)
	case read >= int64(limit):
		r.noteUnread(ref, model.Some(depth-read), model.Sayf("the first %v message(s) of the queue were read", limit))
	default:
		r.noteUnread(ref, model.Some(depth-read), "they are not ready any more")
	}
}

func (p *Program) showCauses(r *reading, queues int, output *format) error {
	list := r.groups.List()
	cause.MostFirst(list)
	if output.json() {
		return print.JSON(p.Out, causesOf(r, list))
	}
	if len(list) > 0 {
		if err := causesTable(list, r).Write(p.Out); err != nil {
			return err
		}
	}

	for _, e := range r.earlier {
		p.note("as of %s: %v message(s) of %v: %s", seenAt(model.Some(e.at)), e.Messages,
			e.Queue, e.Why)
	}

	for _, missed := range r.notRead {
		messages := "the messages"
		if n, known := missed.Messages.Get(); known {
			messages = model.Plural(n, "message")
		}
		p.note("not read: %s of %v: %s", messages, missed.Queue, missed.Why)
	}

	coarse := map[cause.Level]bool{}
	for i := range list {
		if level := list[i].Cause.Level; level != cause.Whole && !coarse[level] {
			coarse[level] = true
			p.note("a cause that ends in … has %s", level.Words())
		}
	}

	if parked := r.topology.ParkedQueues(); len(parked) > 0 {
		p.note("not counted: %v message(s) in %v parked queue(s) (%s)", r.topology.Parked(),
			len(parked), parked)
	}

	if abandoned := r.topology.Abandoned(); len(abandoned) > 0 {
		p.note("nothing consumes %s: if failures end there, say so in the configuration ([roles], \"failed\")",
			abandoned)
	}

	switch {
	case queues == 0:
		p.note("there is no failed queue")
	case r.unknown:
		p.note("%v message(s) read in %v failed queue(s)", r.groups.Read(), queues)
	default:
		p.note("%v of %v message(s) in %v failed queue(s) read", r.groups.Read(), r.ready,
			queues)
	}

	return nil
}

func causesOf(r *reading, list []cause.Group) causesJSON {
	out := causesJSON{Read: r.groups.Read(), Causes: []causeJSON{}, Earlier: []earlierJSON{}, NotRead: []notReadJSON{}}
	out.Earlier = append(out.Earlier, r.earlier...)
	out.NotRead = append(out.NotRead, r.notRead...)
	out.Parked = r.topology.Parked()
	if !r.unknown {
		out.Ready = model.Some(r.ready)
	}

	for g := range model.Each(list) {
		one := causeJSON{
			ID:        g.ID,
			Cause:     g.Cause.String(),
			Kind:      g.Cause.Kind,
			Text:      g.Cause.Text,
			Frame:     g.Cause.Frame,
			Evidence:  string(g.Cause.Evidence),
			Coarse:    g.Cause.Level.Words(),
			Messages:  g.Messages,
			Different: g.Different,
			State:     string(r.state(g)),
			Note:      r.states.Of(g.ID).Note,
			Queues:    []string{},
			Workers:   g.WorkerNames(r.topology),
			Sample:    g.Sample.Text,
			First:     message.JSONTime(g.First.Or(time.Time{})),
			Last:      message.JSONTime(g.Last.Or(time.Time{})),
		}

		for _, q := range g.Queues {
			one.Queues = append(one.Queues, q.Of.String())
		}

		out.Causes = append(out.Causes, one)
	}

	return out
}

// statesOf returns the states of a broker's causes, as marked in the dashboard. If the file cannot be read, it says so,
// and all are new.
func (s *session) statesOf(t *model.Topology) cause.States {
	if s.States == nil || s.connection.NoJournal {
		return cause.States{}
	}
	text, err := s.States(s.connection.JournalDir)
	var states cause.States
	if err == nil {
		states, err = cause.StatesIn(text, t.Snapshot.Overview.ClusterName)
	}

	if err != nil {
		s.note("the states of causes cannot be read: %s", err)
		return cause.States{}
	}

	return states
}

func causesTable(list []cause.Group, r *reading) *print.Table {
	table := &print.Table{Right: []bool{false, false, true}}
	table.Add("ID", "STATE", "MESSAGES", "FIRST", "LAST", "QUEUES", "WORKERS", "CAUSE")
	for g := range model.Each(list) {
		var queues []string
		for _, q := range g.Queues {
			queues = append(queues, q.Of.String())
		}
		count := strconv.Itoa(g.Messages)
		if g.Different != g.Messages {
			count += fmt.Sprintf(" (%d different)", g.Different)
		}
		table.Add(string(g.ID), string(r.state(g)), count, seenAt(g.First), seenAt(g.Last), named(queues),
			named(g.WorkerWords(r.topology)), print.Cell(g.Cause.String(), 120))
	}

	return table
}

// named returns the first names of a list, and how many more there are; "?" for none.
func named(names []string) string {
	const shown = 2
	if len(names) == 0 {
		return "?"
	}
	text := print.Cell(strings.Join(names[:min(len(names), shown)], ", "), 40)
	if more := len(names) - shown; more > 0 {
		text += model.Sayf(" and %d more", more)
	}

	return text
}

// seenAt returns a time of day on this machine's clock; "?" when unknown.
func seenAt(t model.Opt[time.Time]) string {
	at, known := t.Get()
	if !known {
		return "?"
	}
	return at.Local().Format(time.DateTime)
}

// recall adds what was kept of a queue that is not read now, and why; the rest of it counts as unread. If messages have
// left it since, it is unknown which ones, so nothing is added.
func (r *reading) recall(t *model.Topology, ref model.QueueRef, why string) {
	q := t.Known(ref)
	e, ok := r.index.Recall(r.groups, ref, q.Ready, q.CountedAt)
	if !ok || e.Messages == 0 {
		r.noteUnread(ref, q.Ready, why)
		return
	}

	r.recalls[ref] = true
	r.earlier = append(r.earlier, earlierJSON{ref.String(), e.Messages, message.JSONTime(e.At), why, e.At})
	depth := e.Depth // a count from before the reading is older than the reading's own
	if ready, known := q.Ready.Get(); known && q.CountedAt.After(e.At) {
		depth = ready
	}

	r.ready += depth - q.Ready.Or(0)
	if rest := depth - int64(e.Messages); rest > 0 {
		r.noteUnread(ref, model.Some(rest), why)
	}
}

// state returns the state of a cause, given what was read now.
func (r *reading) state(g *cause.Group) cause.State {
	read := cause.Without([]cause.Group{*g}, r.recalls)
	return r.states.Now(&read[0], time.Now()).State
}
