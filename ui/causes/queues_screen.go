package causes

import (
	"cmp"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// queuesScreen lists all queues with what decides where their messages go.
type queuesScreen struct {
	shell.Listing[model.QueueRef, queueRow]
	below []string // about the queue at the cursor, as prepared
}

// queueRow is a queue with its part in a flow. Slow parts are prepared for visible rows.
type queueRow struct {
	*model.Queue
	name  string // printable
	role  model.Role
	moves model.Movement
	topo  *model.Topology
	// where dead letters go, for the queues that were visible since the poll
	targets map[model.QueueRef][]model.QueueRef
}

func NewQueuesScreen(e *shell.Env) shell.Screen {
	q := &queuesScreen{Listing: shell.NewListing(e, "queues", func(r queueRow) model.QueueRef { return r.QueueRef },
		term.By(func(r queueRow) string { return r.name }), func(r queueRow) []string { return []string{r.name} },
		func(r queueRow) []any { return r.cells() },
		term.Columns(`
			QUEUE:           20 flex 4 max 56 middle sorts
			TYPE:             9 drop 3 sorts muted
			ROLE:             7 drop 1 sorts
			READY:            8 right most
			UNACKED:          7 drop 4 right most
			CONS:             4 right most
			IN/s:             6 drop 2 right most
			OUT/s:            6 drop 2 right most
			TTL:              5 drop 1 sorts
			NODE:            12 drop 6 sorts middle blank muted
			MEMBERS:          7 drop 5 sorts blank
			DEAD-LETTERS TO: 16 flex 3 max 40 drop 2
		`))}
	q.Hides, q.Own, q.Polled = true, q.keys, queueRows
	return q
}

func (r queueRow) cells() []any {
	ttl := term.Muted.Span("-").By(-1)
	if set := r.topo.Settings(r.QueueRef).TTL; set.Set {
		ttl = term.Waiting.Span(model.ShortDuration(set.Value)).By(float64(set.Value))
	}

	return []any{
		r.name,
		r.kind(),
		r.roleField(),
		r.readyField(term.Text),
		r.Unacked,
		r.Consumers,
		r.moves.In,
		r.moves.Out,
		ttl,
		r.node(),
		r.members(),
		r.wayOut(),
	}
}

// node returns the node of a queue, or of its leader; "" where there is only one.
func (r queueRow) node() string {
	if len(r.topo.Snapshot.Nodes) == 1 {
		return ""
	}
	return model.Printable(r.Node)
}

// members returns how many of the queue's replicas are online, with a mark where one more must not stop.
func (r queueRow) members() term.Span {
	all, online := len(r.Members), len(r.Online)
	words := fmt.Sprintf("%d/%d", online, all)
	switch {
	case all == 0, r.node() == "":
		return term.Muted.Span("").By(-1)
	case online < model.Majority(all):
		return term.Danger.Span(words + " " + term.MarkError)
	case online < all && online == model.Majority(all):
		return term.Warning.Span(words + " " + term.MarkWarning)
	}

	return term.Muted.Span(words)
}

// kind returns the queue's type; for an exclusive queue only that, because only its owner can read it.
func (r queueRow) kind() string {
	switch {
	case r.Exclusive:
		return "exclusive"
	case r.Type == "":
		return "?"
	}

	return model.Printable(string(r.Type))
}

func (r queueRow) readyField(some term.Style) term.Span {
	return shell.ReadyField(r.Ready, r.Outage() != model.NoOutage, some)
}

func (r queueRow) roleField() term.Span {
	switch r.role {
	case "":
		return term.Muted.Span("-")
	case model.FailedRole:
		return term.Danger.Span(string(r.role))
	case model.DelayedBuffer, model.RetryBuffer:
		return term.Waiting.Span(string(r.role))
	}

	return term.Text.Span(string(r.role))
}

func (r queueRow) wayOut() term.Span {
	dlx := r.topo.Settings(r.QueueRef).DLX
	if !dlx.Set {
		return term.Muted.Span("-")
	}
	targets := r.targets[r.QueueRef]
	name := model.ExchangeName(dlx.Value)
	switch len(targets) {
	case 0:
		return term.Danger.Span(name + " → nothing !")
	case 1:
		return term.Text.Span(name + " → " + model.Printable(targets[0].Name))
	}

	return term.Text.Span(model.Sayf("%s → %v queues", name, len(targets)))
}

// deadLetterTargets returns the queues that any of a queue's hops reaches.
func deadLetterTargets(t *model.Topology, ref model.QueueRef) []model.QueueRef {
	for _, hop := range t.Hops(ref) {
		if len(hop.Route.Queues) > 0 {
			return hop.Route.Queues
		}
	}

	return nil
}

func (q *queuesScreen) keys() []term.Key {
	r, ok := q.Table.Current()
	open := func() tea.Cmd { return shell.Push(messages.NewScreen(q.Env, r.QueueRef)) }
	return []term.Key{term.On(press.Open, "open what is under the cursor", open).As("messages").When(ok)}
}

func queueRows(msg shell.TopologyMsg) []queueRow {
	roles := map[model.QueueRef]model.Role{}
	for f := range model.Each(msg.Flows) {
		for _, ref := range f.Queues() {
			// for a queue with several parts the one in its first flow, and that it is a worker
			if _, known := roles[ref]; !known {
				roles[ref] = f.Role(ref)
			}
		}
		roles[f.Worker.Queue] = model.WorkerRole
	}

	for _, m := range msg.Topology.FailedWithoutFlow() {
		roles[m.Queue] = model.FailedRole
	}

	queues := msg.Topology.Snapshot.Queues
	rows := make([]queueRow, len(queues))
	targets := map[model.QueueRef][]model.QueueRef{}
	for i := range queues {
		q, _ := msg.Topology.Queue(queues[i].QueueRef) // as counted, if it was
		if stated, ok := msg.Topology.StatedRole(q.QueueRef); ok {
			roles[q.QueueRef] = stated.Role
		}
		rows[i] = queueRow{
			q, model.Printable(q.String()), roles[q.QueueRef], msg.Moves[q.QueueRef], msg.Topology, targets,
		}
	}

	return rows
}

// Prepare works out where dead letters of the visible queues go, and describes the one at the cursor.
func (q *queuesScreen) Prepare(width, height int) tea.Cmd {
	for _, r := range q.Seen(q.Rows(height, 5)) {
		if _, known := r.targets[r.QueueRef]; !known {
			r.targets[r.QueueRef] = deadLetterTargets(r.topo, r.QueueRef)
		}
	}

	q.below = q.detail(width)
	if room := height - q.Rows(height, 5); len(q.below) > room && room > 0 {
		q.below[room-1] = term.Crop(q.below[room-1], width-2) + term.Muted.Render(" …")
	}

	return nil
}

func (q *queuesScreen) View(width, height int) string {
	empty := []string{"", "   " + term.Strong.Render("No queues here.")}
	if len(q.Table.All) == 0 {
		return q.List.View(width, height, empty)
	}
	rows := q.Rows(height, 5)
	return term.Below(q.List.View(width, rows, empty), q.below, width, height)
}

// detail describes what has no room in the row of the queue at the cursor: where its settings come from.
func (q *queuesScreen) detail(width int) []string {
	r, ok := q.Table.Current()
	if !ok {
		return q.Aimless("queue", width)
	}
	settings := r.topo.Settings(r.QueueRef)
	ttl := "no TTL of the queue"
	if settings.TTL.Set {
		ttl = model.Sayf("TTL %s (%s)", settings.TTL.Value, settings.TTL.Source)
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

	lines := []string{
		term.Partition(r.name, q.Table.Position(), width), "   " + model.Printable(r.traits()),
		"   " + model.Printable(ttl+", "+dlx),
	}

	for _, way := range shell.ExitLines(r.topo.Exits(r.QueueRef)) {
		lines = append(lines, term.Cut(way, width))
	}

	for _, f := range q.Latest.About.Queue(r.QueueRef) {
		if f.Level != findings.LevelInfo {
			lines = append(lines, shell.FindingLines([]*findings.Finding{f}, width)...)
		}
	}

	return lines
}

func (r queueRow) traits() string {
	words := []string{cmp.Or(string(r.Type), "unknown type")}
	left := shell.LooksLeft(r.topo, r.QueueRef)
	down := r.OutageWords()
	odd := down == "" && r.State != "" && r.State != "running" && r.State != "idle"
	for _, t := range []struct {
		is    bool
		words string
	}{
		{r.Durable, "durable"},
		{!r.Durable, "transient"},
		{r.AutoDelete, "auto-delete: goes with its last consumer"},
		{r.Exclusive, "exclusive: only its owner's connection can read it"},
		{r.Type == model.Stream, "a stream keeps messages that were read"},
		{left != "", left},
		{r.Policy != "", "policy " + r.Policy},
		{r.OperatorPolicy != "", "operator policy " + r.OperatorPolicy},
		{r.node() != "", "on " + r.Node},
		{down != "", down},
		{odd, "state " + r.State},
	} {
		if t.is {
			words = append(words, t.words)
		}
	}

	return strings.Join(words, ", ")
}
