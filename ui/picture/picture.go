package picture

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/polls"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Picture is what a flow's diagram shows: exchanges and queues with their facts, and the arrows between them with what
// moves along each. It has no positions: the wide layout draws boxes, the narrow one a rail.
type Picture struct {
	lanes   []lane // ways into the worker: those that lead nowhere first, the one that retry buffers return to last
	worker  Station
	back    bool    // something is redelivered to the worker
	dead    string  // what happens to rejected messages of the worker, if they are lost; otherwise ""
	retries []group // retry buffers drawn below the worker, one group for each way back
	failed  group
}

type Station struct {
	Queue model.QueueRef // zero for an exchange
	name  string         // printable
	facts []term.Spans   // one line each, inside the box
	short term.Spans     // everything on one line, for lists and the narrow layout: columns, the first aligned right
	tone  term.Style     // of the name
}

// aligned returns the first columns of the short facts of stations, aligned with each other.
func aligned(stations []Station, columns int) []term.Spans {
	var widths []int
	for _, s := range stations {
		for i, piece := range s.short[:min(len(s.short), columns)] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidthWc(piece.Text))
		}
	}

	lines := make([]term.Spans, len(stations))
	for n, s := range stations {
		for i, piece := range s.short[:min(len(s.short), columns)] {
			text := term.Pad(piece.Text, widths[i])
			switch {
			case i == 0:
				text = term.PadLeft(piece.Text, widths[i])
			case widths[i] > 0:
				text = "  " + text
			}
			lines[n] = append(lines[n], piece.Style.Span(text))
		}
	}

	return lines
}

func (s Station) isQueue() bool { return s.Queue.Name != "" }

// group is queues with the same part in the flow: one is drawn as a box, several as a list.
type group struct {
	stations []Station
	heading  string // of a list: "3 delayed buffers"
	in, out  Arrow
	lane     int // for retry buffers: the lane whose exchange they return to
}

func (g group) empty() bool { return len(g.stations) == 0 }

// lane is one way into the worker: entrance -> buffers -> exchange -> worker. Without buffers publishers reach the
// exchange directly.
type lane struct {
	entrance Station // zero when publishers name the buffers through the default exchange
	buffers  group
	exchange Station
	out      Arrow  // from the exchange to the worker
	enters   Arrow  // what publishers send to the exchange; zero when they enter through the buffers, or another lane
	dead     string // why nothing arrives at the worker; "" when it does
	deadAt   bool   // it already ends at the buffers: the exchange does not exist
	loop     bool   // the worker sends its failures back to the entrance
}

type Arrow struct {
	id    string             // identifies it from one picture to the next: dots stay on their arrow
	label string             // "expired"
	rate  model.Opt[float64] // messages per second, over some seconds

	latest model.Opt[float64] // over the last second, if there are counts: the number of dots
}

func (a Arrow) moving() bool { return a.rate.Or(0) > 0 }

func (a Arrow) Now() float64 { return a.latest.Or(a.rate.Or(0)) }

func (a Arrow) describe() term.Spans {
	var words term.Spans
	if a.label != "" {
		words = append(words, term.Muted.Span(a.label))
	}
	if a.moving() {
		words = append(words, term.Good.Span(perSecond(a.rate.Or(0))))
	}

	return words
}

// loopWords are beside a loop that no statistic distinguishes from publishers' messages.
const loopWords = "failures are sent again by the worker"

// rateWidth is the room for a rate, kept even while nothing moves: arrows that change their length are hard to watch.
const rateWidth = 6

// room returns the width that the words need one below the other, and side by side.
func (a Arrow) room() (stacked, abreast int) {
	label := ansi.StringWidthWc(a.label)
	return max(label, rateWidth), label + 1 + rateWidth
}

// Stations returns all queues of the picture in reading order, in which the cursor visits them.
func (p *Picture) Stations() []Station {
	var all []Station
	for _, l := range p.lanes {
		all = append(all, l.buffers.stations...)
	}

	all = append(all, p.worker)
	for _, g := range p.retries {
		all = append(all, g.stations...)
	}

	return slices.DeleteFunc(append(all, p.failed.stations...), func(s Station) bool { return !s.isQueue() })
}

func (p *Picture) Arrows() []Arrow {
	var all []Arrow
	for _, l := range p.lanes {
		all = append(all, l.enters, l.buffers.in, l.buffers.out, l.out)
	}
	for _, g := range p.retries {
		all = append(all, g.in, g.out)
	}

	return append(all, p.failed.in)
}

// Moment is what the picture of a flow is drawn from: what is known of the broker at one moment.
type Moment struct {
	Topology *model.Topology
	Moves    model.Moves
	Findings []findings.Finding
	Latest   map[model.QueueRef]model.Movement                   // over the last second, if there are counts
	Depths   func(columns int, refs ...model.QueueRef) []float64 // the depth of queues over time, until now; nil: unknown
	Head     func(b *model.Buffer) polls.HeadState
	Now      time.Time
}

func Of(flow *model.Flow, at Moment) *Picture {
	b := builder{flow: flow, Moment: at, Picture: &Picture{}}
	b.worker = b.workerStation()
	if q, ok := at.Topology.Queue(flow.Worker.Queue); ok {
		b.back = Again(q) != ""
	}

	b.addBuffers()
	b.addDirect()
	b.addRetries()
	b.addFailed()
	b.orderLanes()
	b.rateLanes()
	return b.Picture
}

type builder struct {
	Moment
	*Picture
	flow *model.Flow
}

// addBuffers makes a lane for each exchange that delayed buffers expire into, and one for each way that leads nowhere.
func (b *builder) addBuffers() {
	delayed := model.Without(b.flow.Buffers, func(x *model.Buffer) bool {
		return x.Role == model.RetryBuffer && !b.Topology.FedThroughRetries(b.flow)
	})
	for _, members := range grouped(delayed, func(x *model.Buffer) string { return x.DLX + "\x00" + b.deadEnd(x) }) {
		first := members[0]
		id := "delayed " + first.DLX
		l := lane{buffers: b.bufferGroup(id, members), exchange: b.exchangeStation(first.DLX)}
		l.entrance = b.entrance(members)
		l.out = Arrow{id: id + " on", rate: l.buffers.out.rate, latest: l.buffers.out.latest}
		l.dead = b.deadEnd(first)
		_, l.deadAt = b.exchange(first.DLX)
		l.deadAt = l.dead != "" && !l.deadAt
		l.loop = first.Role == model.RetryBuffer
		b.lanes = append(b.lanes, l)
	}
}

// addDirect makes a lane for each exchange through which publishers reach the worker without waiting.
func (b *builder) addDirect() {
	bindings := b.Topology.DirectBindings(b.flow)
	for _, same := range grouped(bindings, func(binding model.Binding) string { return binding.Source }) {
		name := same[0].Source
		keys := model.Mapped(same, func(b *model.Binding) string { return b.RoutingKey })
		b.lanes = append(b.lanes, lane{
			enters: b.publishers(name), exchange: b.exchangeStation(name),
			out: Arrow{id: "direct " + name, label: keyWords(keys)},
		})
	}
}

func (b *builder) publishers(exchange string) Arrow {
	x, _ := b.exchange(exchange)
	return Arrow{id: "enters " + exchange, rate: x.PublishInRate}
}

// addRetries adds the retry buffers below the worker, each group with the lane that it returns to.
func (b *builder) addRetries() {
	if b.Topology.FedThroughRetries(b.flow) {
		return
	}
	entrance := len(b.lanes) == 0 // publishers have no way in other than the one by which retries come back
	other := func(x *model.Buffer) bool { return x.Role != model.RetryBuffer }
	retries := model.Without(b.flow.Buffers, other)
	for _, members := range grouped(retries, func(x *model.Buffer) string { return x.DLX }) {
		dlx := members[0].DLX
		g := b.bufferGroup("retry "+dlx, members)
		if entrance, ok := members[0].Entrance(); ok {
			g.in.label = b.howInto(entrance, "sent again")
		}

		name := model.ExchangeName(dlx)
		g.lane = slices.IndexFunc(b.lanes, func(l lane) bool { return l.dead == "" && l.exchange.name == name })
		if g.lane < 0 {
			back := lane{exchange: b.exchangeStation(dlx), out: Arrow{id: "back " + dlx, rate: g.out.rate, latest: g.out.latest}}
			back.dead = b.deadEnd(members[0])
			if entrance {
				back.enters = b.publishers(dlx)
			}
			g.lane = len(b.lanes)
			b.lanes = append(b.lanes, back)
		}

		b.retries = append(b.retries, g)
	}
}

// addFailed adds the failed queues, and apart from them the parked ones: what a person put there has not just failed.
func (b *builder) addFailed() {
	g := group{heading: model.Plural(len(b.flow.Failed), "failed queue"), in: Arrow{id: "failed"}}
	rejected := b.Topology.RejectedTargets(b.flow.Worker.Queue)
	nearest := max(0, slices.IndexFunc(b.flow.Failed, func(m model.Member) bool {
		return slices.Contains(rejected, m.Queue)
	}))

	for i, m := range b.flow.Failed {
		g.stations = append(g.stations, b.endStation(m.Queue, term.Danger))
		if i == nearest {
			g.in.label = b.howInto(m.Queue, "given up")
		}

		g.in.rate = polls.Plus(g.in.rate, b.Moves[m.Queue].In)
		if r, ok := b.Latest[m.Queue]; ok {
			g.in.latest = polls.Plus(g.in.latest, r.In)
		}
	}
	for _, m := range b.flow.Parked {
		s := b.endStation(m.Queue, term.Text)
		s.name += " (parked)"
		g.stations = append(g.stations, s)
	}
	if n := len(b.flow.Parked); n > 0 {
		g.heading += model.Sayf(", %v parked", n)
	}

	b.failed = g
	for _, f := range b.Findings {
		if f.Code == "rejects-lost" && (model.QueueRef{VHost: f.VHost, Name: f.Queue}) == b.flow.Worker.Queue {
			b.dead = "lost (no DLX)"
		}
	}
}

// orderLanes puts ways that lead nowhere first, and the one that a loop returns to last: then no lines cross.
func (b *builder) orderLanes() {
	back := -1
	if len(b.retries) > 0 {
		back = b.retries[0].lane
	}

	var lanes [3][]int
	for i, l := range b.lanes {
		rank := 1
		switch {
		case l.dead != "":
			rank = 0
		case i == back || l.loop:
			rank = 2
		}
		lanes[rank] = append(lanes[rank], i)
	}

	order := slices.Concat(lanes[:]...)
	was := slices.Clone(b.lanes)
	for i, old := range order {
		b.lanes[i] = was[old]
	}
	for i := range b.retries {
		b.retries[i].lane = slices.Index(order, b.retries[i].lane)
	}
}

// rateLanes gives the publishers' way the rest of the rate that arrives in the worker. With several such ways it is
// unknown which they took.
func (b *builder) rateLanes() {
	in, known := b.Moves[b.flow.Worker.Queue].In.Get()
	if !known {
		return
	}
	var direct []int
	for i, l := range b.lanes {
		switch {
		case l.dead != "":
		case l.buffers.empty():
			direct = append(direct, i)
		default:
			in -= l.out.rate.Or(0)
		}
	}

	if len(direct) == 1 {
		b.lanes[direct[0]].out.rate = model.Some(max(in, 0))
	}
}

// deadEnd returns why nothing that expires in a buffer arrives anywhere, in the finding's words; "" when it does.
func (b *builder) deadEnd(buffer *model.Buffer) string {
	if len(buffer.Targets) > 0 {
		return ""
	}
	for _, f := range b.Findings {
		if f.Level == findings.LevelError && f.Concerns(buffer.Queue) {
			return model.Printable(f.Message)
		}
	}

	return "messages that expire here reach no queue"
}

// howInto returns how the worker's messages come into a queue: dead-lettered by the broker, or published by the
// application.
func (b *builder) howInto(ref model.QueueRef, otherwise string) string {
	worker := b.flow.Worker.Queue
	rejected := slices.Contains(b.Topology.RejectedTargets(worker), ref)
	expired := b.Topology.Settings(worker).TTL.Set && slices.Contains(b.Topology.ExpiredTargets(worker), ref)
	switch {
	case rejected && expired:
		return "rejected, expired"
	case rejected:
		return "rejected"
	}

	for binding := range b.Topology.BindingsTo(ref) {
		return "via " + model.Printable(binding.Source)
	}

	return otherwise
}

// entrance returns the exchanges through which publishers reach buffers.
func (b *builder) entrance(members []*model.Buffer) Station {
	var names []string
	for _, m := range members {
		if entrance, ok := m.Entrance(); ok {
			for binding := range b.Topology.BindingsTo(entrance) {
				names = append(names, binding.Source)
			}
		}
	}

	slices.Sort(names)
	names = slices.Compact(names)
	switch len(names) {
	case 0:
		return Station{}
	case 1:
		return b.exchangeStation(names[0])
	}

	s := Station{name: model.Plural(len(names), "exchange")}
	for i, name := range names {
		if i == 3 {
			s.facts = append(s.facts, term.Spans{term.Muted.Span(model.Sayf("+%v more", len(names)-i))})
			break
		}
		s.facts = append(s.facts, term.Spans{term.Text.Span(model.Printable(name))})
	}

	s.short = term.Spans{term.Text.Span(model.Printable(strings.Join(names[:min(len(names), 3)], ", ")))}
	return s
}

func (b *builder) exchange(name string) (*model.Exchange, bool) {
	if x, ok := b.Topology.Exchange(model.ExchangeRef{VHost: b.flow.VHost, Name: name}); ok {
		return x, true
	}
	return &model.Exchange{}, name == ""
}

// grouped groups elements by key, in their order.
func grouped[T any](all []T, key func(T) string) (groups [][]T) {
	for _, one := range all {
		i := slices.IndexFunc(groups, func(g []T) bool { return key(g[0]) == key(one) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], one)
	}

	return groups
}

// keyWords returns binding keys, short enough for an arrow.
func keyWords(keys []string) string {
	words := model.Printable(strings.Join(keys, " "))
	if len(words) > 16 && len(keys) > 1 {
		return model.Count(len(keys)) + " keys"
	}
	return term.PadMiddle(words, min(len([]rune(words)), 18))
}
