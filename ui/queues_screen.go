package ui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"dlxtop/model"
)

// queuesScreen lists all queues with what decides where their messages go.
type queuesScreen struct {
	env    *env
	list   list[model.QueueRef, queueRow]
	latest topologyMsg
}

// queueRow is a queue with its part in a flow. What takes long to work out is worked out for the rows that are seen.
type queueRow struct {
	*model.Queue
	name  string // printable
	role  model.Role
	moves model.Movement
	topo  *model.Topology
}

func newQueuesScreen(e *env) screen {
	rows := newTable(e, func(r queueRow) model.QueueRef { return r.QueueRef },
		func(a, b queueRow) int { return cmp.Compare(a.name, b.name) }, queueColumns(e.styles)...)
	return queuesScreen{env: e, list: newList(e, rows, func(r queueRow) []string { return []string{r.name} })}
}

func queueColumns(s *Styles) []column[queueRow] {
	return []column[queueRow]{
		{
			title: "QUEUE", width: 20, flex: 4, max: 56, middle: true,
			cell:    func(r queueRow) field { return field{r.name, s.Text} },
			compare: func(a, b queueRow) int { return cmp.Compare(a.name, b.name) },
		},
		{
			title: "TYPE", width: 9, drop: 3,
			cell:    func(r queueRow) field { return field{r.kind(), s.Muted} },
			compare: func(a, b queueRow) int { return cmp.Compare(a.kind(), b.kind()) },
		},
		{
			title: "ROLE", width: 7, drop: 1,
			cell:    func(r queueRow) field { return r.roleField(s) },
			compare: func(a, b queueRow) int { return cmp.Compare(a.role, b.role) },
		},
		{
			title: "READY", width: 8, right: true, most: true,
			cell:    func(r queueRow) field { return number(s, r.Ready, s.Text) },
			compare: func(a, b queueRow) int { return compareOpt(a.Ready, b.Ready) },
		},
		{
			title: "UNACKED", width: 7, right: true, drop: 4, most: true,
			cell:    func(r queueRow) field { return number(s, r.Unacked, s.Text) },
			compare: func(a, b queueRow) int { return compareOpt(a.Unacked, b.Unacked) },
		},
		{
			title: "CONS", width: 4, right: true, most: true,
			cell:    func(r queueRow) field { return number(s, r.Consumers, s.Text) },
			compare: func(a, b queueRow) int { return compareOpt(a.Consumers, b.Consumers) },
		},
		{
			title: "IN/s", width: 6, right: true, drop: 2, most: true,
			cell:    func(r queueRow) field { return rate(s, r.moves.In) },
			compare: func(a, b queueRow) int { return compareOpt(a.moves.In, b.moves.In) },
		},
		{
			title: "OUT/s", width: 6, right: true, drop: 2, most: true,
			cell:    func(r queueRow) field { return rate(s, r.moves.Out) },
			compare: func(a, b queueRow) int { return compareOpt(a.moves.Out, b.moves.Out) },
		},
		{
			title: "TTL", width: 5, drop: 1,
			cell:    func(r queueRow) field { return r.ttlField(s) },
			compare: func(a, b queueRow) int { return cmp.Compare(a.ttl(), b.ttl()) },
		},
		{title: "DEAD-LETTERS TO", width: 16, flex: 3, max: 40, drop: 2, cell: func(r queueRow) field { return r.wayOut(s) }},
	}
}

// kind is the queue's type; an exclusive queue is plainly that, for nobody but its owner can read it.
func (r queueRow) kind() string {
	switch {
	case r.Exclusive:
		return "exclusive"
	case r.Type == "":
		return "?"
	}
	return model.Printable(string(r.Type))
}

func (r queueRow) roleField(s *Styles) field {
	switch r.role {
	case "":
		return field{"-", s.Muted}
	case model.FailedRole:
		return field{string(r.role), s.Danger}
	case model.DelayedBuffer, model.RetryBuffer:
		return field{string(r.role), s.Waiting}
	}
	return field{string(r.role), s.Text}
}

// ttl is the queue's message TTL, -1 when it has none.
func (r queueRow) ttl() time.Duration {
	if ttl := r.topo.Settings(r.QueueRef).TTL; ttl.Set {
		return ttl.Value
	}
	return -1
}

func (r queueRow) ttlField(s *Styles) field {
	if ttl := r.ttl(); ttl >= 0 {
		return field{model.ShortDuration(ttl), s.Waiting}
	}
	return field{"-", s.Muted}
}

// wayOut is the dead-letter exchange and the queues behind it.
func (r queueRow) wayOut(s *Styles) field {
	dlx := r.topo.Settings(r.QueueRef).DLX
	if !dlx.Set {
		return field{"-", s.Muted}
	}
	targets := deadLetterTargets(r.topo, r.QueueRef)
	name := model.Printable(model.ExchangeName(dlx.Value))
	switch len(targets) {
	case 0:
		return field{name + " → nothing !", s.Danger}
	case 1:
		return field{name + " → " + model.Printable(targets[0].Name), s.Text}
	}
	return field{fmt.Sprintf("%s → %d queues", name, len(targets)), s.Text}
}

// deadLetterTargets are the queues that any of a queue's ways out reaches.
func deadLetterTargets(t *model.Topology, ref model.QueueRef) []model.QueueRef {
	for _, hop := range t.Hops(ref) {
		if len(hop.Route.Queues) > 0 {
			return hop.Route.Queues
		}
	}
	return nil
}

func (q queuesScreen) Init() tea.Cmd { return nil }

func (q queuesScreen) Title() string { return "queues" }

func (q queuesScreen) Typing() bool { return q.list.filter.typing }

// Keys are those of a list whose rows are queues.
func (q queuesScreen) Keys() []key.Binding {
	if _, ok := q.list.table.current(); ok {
		return q.list.bindings(describe(q.env.keys.Open, "messages"))
	}
	return q.list.bindings()
}

func (q queuesScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		q.latest = msg
		q.list.table.set(queueRows(msg))
	case tea.KeyMsg:
		if q.list.handle(msg) {
			return q, nil
		}
		if r, ok := q.list.table.current(); ok && is(msg, q.env.keys.Open) {
			return q, push(newMessagesScreen(q.env, r.QueueRef))
		}
	}
	return q, nil
}

func queueRows(msg topologyMsg) []queueRow {
	roles := map[model.QueueRef]model.Role{}
	for i := range msg.flows {
		f := &msg.flows[i]
		for _, ref := range f.Queues() {
			if _, known := roles[ref]; !known { // of a queue with several parts the one in its first flow, and that it is a worker
				roles[ref] = f.Role(ref)
			}
		}
		roles[f.Worker.Queue] = model.WorkerRole
	}
	for _, m := range msg.topology.FailedWithoutFlow() {
		roles[m.Queue] = model.FailedRole
	}
	queues := msg.topology.Snapshot.Queues
	rows := make([]queueRow, len(queues))
	for i := range queues {
		q := &queues[i]
		rows[i] = queueRow{q, model.Printable(q.String()), roles[q.QueueRef], msg.moves[q.QueueRef], msg.topology}
	}
	return rows
}

func (q queuesScreen) View(width, height int) string {
	empty := []string{"", "   " + q.env.styles.Strong.Render("No queues here.")}
	if len(q.list.table.all) == 0 {
		return q.list.view(width, height, empty)
	}
	rows := q.list.rows(height, 5)
	return q.list.view(width, rows, empty) + "\n" + block(q.detail(width), width, height-rows)
}

// detail tells of the queue at the cursor what has no room in a row: where its settings come from.
func (q queuesScreen) detail(width int) []string {
	s := q.env.styles
	r, ok := q.list.table.current()
	if !ok {
		return q.list.aimless("queue", width)
	}
	settings := r.topo.Settings(r.QueueRef)
	ttl := "no TTL of the queue"
	if settings.TTL.Set {
		ttl = fmt.Sprintf("TTL %s (%s)", model.ShortDuration(settings.TTL.Value), settings.TTL.Source)
	}
	dlx := "no dead-letter exchange"
	if settings.DLX.Set {
		dlx = fmt.Sprintf("dead-letters to %s (%s)", model.ExchangeName(settings.DLX.Value), settings.DLX.Source)
		if settings.Key.Set {
			dlx += fmt.Sprintf(" with key %s (%s)", settings.Key.Value, settings.Key.Source)
		} else {
			dlx += " with each message's own key"
		}
	}
	lines := []string{partition(s, r.name, q.list.table.position(), width), "   " + model.Printable(r.traits()), "   " + model.Printable(ttl+", "+dlx)}
	for _, way := range exitLines(s, r.topo.Exits(r.QueueRef)) {
		lines = append(lines, ansi.Truncate(way, width, "…"))
	}
	for _, f := range q.latest.findings {
		if f.Level != model.LevelInfo && f.VHost == r.VHost && f.Queue == r.Name {
			lines = append(lines, findingLines(s, []model.Finding{f}, width)...)
		}
	}
	return lines
}

// traits are what the queue is, in words.
func (r queueRow) traits() string {
	words := []string{string(r.Type)}
	if r.Type == "" {
		words[0] = "unknown type"
	}
	if r.Durable {
		words = append(words, "durable")
	} else {
		words = append(words, "transient")
	}
	if r.AutoDelete {
		words = append(words, "auto-delete: goes with its last consumer")
	}
	if r.Exclusive {
		words = append(words, "exclusive: only its owner's connection can read it")
	}
	if r.Type == model.Stream {
		words = append(words, "a stream keeps what is read")
	}
	if r.Policy != "" {
		words = append(words, "policy "+r.Policy)
	}
	if r.OperatorPolicy != "" {
		words = append(words, "operator policy "+r.OperatorPolicy)
	}
	if r.State != "" && r.State != "running" && r.State != "idle" {
		words = append(words, "state "+r.State)
	}
	return strings.Join(words, ", ")
}
