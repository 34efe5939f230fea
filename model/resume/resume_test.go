package resume

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

// The journal has what a rescue did not confirm, and an undo brings it back.
func TestRescuesAreNotResumed(t *testing.T) {
	r := plan.Record{
		ID: 7, Operation: plan.Rescue, From: build.Ref("q"), Broker: "b:5672", Account: plan.Account{Unknown: 1},
	}
	assert.That(t, !r.Resumable(), "it is offered")
	want := Want{Chain: []plan.Record{r}, Broker: "b:5672"}
	p := must.Get(Of(t.Context(), build.TopologyOf("4.0.5", build.Queue("q")), want))(t)
	assert.Contains(t, p.Refusal.Words(), "`dlxtop journal undo 7`")
	assert.That(t, !p.Refusal.Overridable(), "%q (%q)", p.Refusal.Words(), p.Refusal.Override())
	r.Operation = plan.Move
	assert.That(t, r.Resumable(), "a move is not offered")
}

// The same address may lead to another broker later.
func TestResumeOnAnotherCluster(t *testing.T) {
	for _, test := range []struct {
		was, is string
		refused bool
	}{{"rabbit@a", "rabbit@b", true}, {"rabbit@a", "rabbit@a", false}, {"", "rabbit@a", false}, {"rabbit@a", "", false}} {
		topology := build.TopologyOf("4.0.5", build.Queue("q"))
		topology.Snapshot.Overview.ClusterName = test.is

		r := plan.Record{
			ID: 7, Operation: plan.Drop, From: build.Ref("q"), Broker: "b:5672", Cluster: test.was,
			Intent: &plan.Intent{Source: build.Ref("q")}, Planned: 2,
		}

		for _, insist := range []bool{false, true} {
			p, err := Of(t.Context(), topology, Want{
				Chain: []plan.Record{r}, Broker: "b:5672", Insist: insist,
				Entries: entriesOf(nil),
			})

			refused := p.Refusal.Refused() && strings.Contains(p.Refusal.Words(), "connect to that broker")
			must.That(t, err == nil, "%+v, insisting %v: %q %v", test, insist, p.Refusal.Words(), err)
			assert.Equal(t, refused, test.refused && !insist, "%v", test)
			words := p.Refusal.Words()
			assert.That(t, !refused || strings.Contains(words,
				"on b:5672 (cluster rabbit@a), and this is b:5672 (cluster rabbit@b)"), "%v", words)
		}
	}
}

// A message with an unknown outcome in the undone record may be in its queue, and the undo that ended early may not
// have reached it. Resuming that undo looks, as the undo itself does, and needs no --insist.
func TestResumeOfAnUndoLooks(t *testing.T) {
	gone, there := kept("gone"), kept("there")
	failed := build.Ref("failed")
	dropped := plan.Record{
		ID: 7, Operation: plan.Drop, From: failed, Broker: "b:5672", Ended: time.Unix(9, 0),
		Planned: 2, Entries: 2, Account: plan.Account{Unknown: 2, Stopped: "the connection was lost"},
	}

	undo := plan.Record{
		ID: 8, Operation: plan.Undo, Undoes: 7, From: failed, Broker: "b:5672", Ended: time.Unix(10, 0),
		Planned: 2, Account: plan.Account{Stopped: "the connection was lost"},
	}

	looks := 0

	want := Want{
		Chain: []plan.Record{undo}, Broker: "b:5672", User: "guest",
		Record: func(context.Context, int64) (plan.Record, error) { return dropped, nil },
		Entries: entriesOf(map[int64][]plan.Entry{7: {
			{Position: 1, Fingerprint: gone.Fingerprint, Message: gone, Outcome: plan.Unsure},
			{Position: 2, Fingerprint: there.Fingerprint, Message: there, Outcome: plan.Unsure},
		}}),
		Reads: looking{look: func(_ peek.Plan, each message.Visit) (string, error) {
			looks++
			return "", each(there)
		}},
	}

	topology := build.Described("4.0.5", "queue failed ready=1")
	p := must.Get(Of(t.Context(), topology, want))(t)
	must.That(t, !p.Refusal.Refused(), "%d looks, %+v, %q", looks, p.Looked, p.Refusal.Words())
	must.Equal(t, looks, 1)
	must.Equal(t, len(p.Looked), 1)
	must.Equal(t, p.Looked[0].Queue, failed)
	must.That(t, p.Undo != nil, "it brings back %+v", p.Undo)
	assert.Equal(t, p.Undo.Restores, 1)
	assert.List(t, p.Undo.Positions, []int{1})

	want.Reads = looking{others: func(model.QueueRef) plan.Others { return plan.Others{Hold: true} }}
	_, err := Of(t.Context(), topology, want)
	assert.Fails(t, err, "they are undecided")
}

// A record whose messages cannot be recognized is not resumed, and nothing is read for it; nor is one that resumes such
// a record.
func TestResumeOfOtherFingerprints(t *testing.T) {
	topology := build.Described("4.0.5", "queue failed ready=1")
	early := plan.Account{Stopped: "the connection was lost"}
	unsure := []plan.Entry{{Position: 1, Outcome: plan.Unsure}}
	for operation, words := range map[plan.Operation]string{
		plan.Replay: "look which of those left in failed are not where they were sent to (`dlxtop journal show 8`), " +
			"and replay those",
		plan.Move:   "and move those",
		plan.Drop:   "look which of them are left in failed, and drop those",
		plan.Import: "look which messages of the file are in failed, and import the others",
		plan.Undo:   "`dlxtop journal undo 3` begins again",
	} {
		first := plan.Record{
			ID: 7, Operation: operation, From: build.Ref("failed"), Broker: "b:5672", Ended: time.Unix(9, 0), Account: early,
			Planned: 2, Entries: 2, OtherPrints: true,
		}

		last := first
		if last.ID, last.Resumes, last.OtherPrints = 8, 7, false; operation == plan.Undo {
			last.Undoes = 3
		}

		p, err := Of(t.Context(), topology, Want{
			Chain: []plan.Record{first, last}, Broker: "b:5672", Insist: true,
			Entries: entriesOf(map[int64][]plan.Entry{7: unsure, 8: unsure}),
		})

		must.That(t, err == nil, "%s: %q %v", operation, p.Refusal.Words(), err)
		assert.That(t, p.Refusal.Refused(), "%s: %q %v", operation, p.Refusal.Words(), err)
		assert.That(t, !p.Refusal.Overridable(), "%s: %q %v", operation, p.Refusal.Words(), err)
		assert.Contains(t, p.Refusal.Words(), words, "%v", operation)
		assert.Contains(t, p.Refusal.Words(), "made their fingerprints", "%v", operation)
	}
}

// Messages that an undo of this program published are recognized, even if the undone record has other fingerprints; the
// rest comes from the journal without a look.
func TestResumeOfAnUndoOfOtherFingerprints(t *testing.T) {
	there := kept("there")
	failed := build.Ref("failed")
	early := plan.Account{Stopped: "the connection was lost"}
	dropped := plan.Record{
		ID: 7, Operation: plan.Drop, From: failed, Broker: "b:5672", Ended: time.Unix(9, 0), Planned: 3, OtherPrints: true,
	}
	undo := plan.Record{
		ID: 8, Operation: plan.Undo, Undoes: 7, From: failed, Broker: "b:5672", Ended: time.Unix(10, 0), Account: early,
	}

	entries := map[int64][]plan.Entry{}
	for i, id := range []string{"there", "not", "untouched"} {
		m, old := kept(id), message.Fingerprint{byte(i)}
		e := plan.Entry{Position: i + 1, Fingerprint: old, Message: m, Outcome: plan.Dropped}
		if id != "untouched" {
			e.Undoing = []plan.Attempt{{By: 8, Sent: m.Fingerprint}}
			sent := &plan.Sent{Fingerprint: m.Fingerprint, Reached: []string{"failed"}}
			entries[8] = append(entries[8], plan.Entry{
				Position: i + 1, Fingerprint: m.Fingerprint, Undoes: i + 1, Sent: sent, Outcome: plan.Unsure,
			})
		}

		entries[7] = append(entries[7], e)
	}

	p := must.Get(Of(t.Context(), build.Described("4.0.5", "queue failed ready=1"), Want{
		Chain: []plan.Record{undo}, Broker: "b:5672", User: "guest", Choice: PublishAgain,
		Record: func(context.Context, int64) (plan.Record, error) { return dropped, nil }, Entries: entriesOf(entries),
		Reads: looking{look: func(_ peek.Plan, each message.Visit) (string, error) { return "", each(there) }},
	}))(t)
	must.Equal(t, p.Refusal.Words(), "")
	must.Equal(t, p.Done, 1)
	must.That(t, p.Undo != nil, "%+v", p)
	assert.List(t, p.Undo.Positions, []int{2, 3})
}

// A node that is unreachable for a moment may have stored messages that RabbitMQ then nacks, while it confirms later
// ones.
func TestCopiesInFrontOfConfirmedOnes(t *testing.T) {
	const record = 7
	print := func(n byte) message.Fingerprint { return message.Fingerprint{n} }
	c := newTargetCopies()
	var nacked []*pending
	for rank := 1; rank <= 4; rank++ {
		if sent := print(byte(rank)); rank == 1 || rank == 4 {
			c.certain(sent, rank, record)
		} else {
			nacked = append(nacked, &pending{record: record, rank: rank, sent: &sent})
			c.expect(sent, nacked[len(nacked)-1])
		}
	}

	for _, at := range []byte{2, 1, 3, 4} { // another program's, in front, and three of the four
		c.count(&message.Message{Fingerprint: print(at)})
	}

	c.untouched = true
	c.judge()
	assert.Equal(t, c.verdicts[nacked[0]], no)
	assert.Equal(t, c.verdicts[nacked[1]], yes)
}

// A copy with a delivery time may be in its target, where no peek finds it, so a resume neither publishes it again nor
// calls it gone.
func TestResumeWhereCopiesAreKeptBack(t *testing.T) {
	m := &message.Message{Properties: message.Properties{MessageID: "m"}}
	m.Fingerprint = message.FingerprintOf(m)
	for _, original := range []bool{true, false} {
		consumers := int64(1) // may have taken it
		if original {
			consumers = 0
		}

		for _, keeps := range []bool{false, true} {
			in := &plan.Intent{
				Source: build.Ref("failed"), Depth: 1, Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "orders"},
				Recipients: []plan.Recipient{{
					Queue: build.Ref("orders"), Consumers: model.Some(int64(0)), Taken: model.Some(int64(0)),
				}},
				Options: plan.Options{KeepDelay: keeps},
			}

			ended := plan.Account{Stopped: "the connection was lost", Unknown: 1}
			there := build.TopologyOf("4.4.0", build.Queue("failed", build.Consumers(consumers)), build.Queue("orders"))

			p := must.Get(Of(t.Context(), there, Want{
				Chain: []plan.Record{{
					ID: 7, Operation: plan.Replay, From: build.Ref("failed"), Broker: "b:5672", Planned: 1, Entries: 1,
					Intent: in, Account: ended, Ended: time.Unix(9, 0),
				}},
				Broker: "b:5672", User: "guest",
				Entries: entriesOf(map[int64][]plan.Entry{7: {{
					Position: 1, Fingerprint: m.Fingerprint, Outcome: plan.Unsure,
					Sent: &plan.Sent{Fingerprint: message.Fingerprint{1}, Reached: []string{"orders"}},
				}}}),
				Reads: looking{look: func(look peek.Plan, each message.Visit) (string, error) {
					if look.Queue.Name == "failed" && original {
						return "", each(m)
					}
					return "", nil
				}},
			}))(t)

			words := ""
			for _, u := range p.Undecided {
				words += u.Why
			}

			assert.Equal(t, strings.Contains(words, "RabbitMQ may keep its copy back in orders"), keeps && original,
				"original there: %v, kept back: %v: %+v", original, keeps, p)
			assert.That(t, !original || (p.Unsent == 1) != keeps, "original there: %v, kept back: %v: %+v", original, keeps, p)
			found := fmt.Sprint(p.Resuming.Found)
			assert.That(t, original || strings.Contains(found, "RabbitMQ keeps it back") == keeps,
				"kept back: %v: %s", keeps, found)
		}
	}
}

// A copy in one of two queues does not prove that the other one, which may have refused it, had one. What died there
// proves it.
func TestResumeOfCopiesInOneOfTwoQueues(t *testing.T) {
	const mark = "MARK"
	m := kept("m")
	sent := message.Message{
		Exchange: "all", Properties: m.Properties, Headers: model.Table{message.ReplayHeader: "count=1; replay=" + mark},
	}

	sent.Identify()
	for _, test := range []struct {
		name, queues string
		died         model.Reason // of a second copy, in orders
		twins        bool         // another message of the record has the same message_id
		acks         int
		undecided    string
	}{
		{name: "refused", queues: "queue orders", undecided: "a copy is in audit, but none was found in orders"},
		{name: "refused or taken", queues: "queue orders consumers=1", undecided: "none was found in orders"},
		{name: "there is no other", acks: 1},

		{name: "rejected there", queues: "queue orders consumers=1", died: model.Rejected, acks: 1},
		{name: "full there", queues: "queue orders consumers=1", died: model.MaxLen, undecided: "none was found"},
		{
			name: "rejected there, of two", queues: "queue orders consumers=1", died: model.Rejected, twins: true,
			undecided: "none was found in orders",
		},
		{
			name: "one of both gets it", acks: 1,
			queues: "queue orders\nexchange x-consistent-hash all\nbind all 1 audit\nbind all 1 orders",
		},
	} {
		in := &plan.Intent{
			Source: build.Ref("failed"), Depth: 1, Mode: target.ToExchange, Fixed: model.Address{Exchange: "all"},
			Recipients: []plan.Recipient{
				{Queue: build.Ref("audit"), Consumers: model.Some(int64(0)), Taken: model.Some(int64(0))},
				{Queue: build.Ref("orders"), Consumers: model.Some(int64(0)), Taken: model.Some(int64(0))},
			},
			Options: plan.Options{Mark: true, MarkName: mark},
		}

		asks := looking{look: func(look peek.Plan, each message.Visit) (string, error) {
			switch look.Queue.Name {
			case "audit":
				return "", each(&sent)
			case "orders":
				return "", nil
			}

			must.Do(t, each(m))
			dead := sent
			dead.Deaths = []message.Death{{Queue: "orders", Reason: test.died}}
			dead.Fingerprint = message.Fingerprint{9}
			if test.died == "" {
				return "", nil
			}
			return "", each(&dead)
		}}

		entries := []plan.Entry{{
			Position: 1, MessageID: "m", Fingerprint: m.Fingerprint, Outcome: plan.Unsure,
			Sent: &plan.Sent{Fingerprint: sent.Fingerprint, To: in.Fixed, Reached: []string{"audit", "orders"}},
		}}

		if test.twins {
			entries = append(entries, plan.Entry{
				Position: 2, MessageID: "m", Fingerprint: message.Fingerprint{8}, Outcome: plan.Moved,
			})
		}

		text := "queue failed\nqueue audit\nexchange fanout all\nbind all audit\nbind all orders\n"
		if strings.Contains(test.queues, "all") {
			text = "queue failed\nqueue audit\n"
		}

		p := must.Get(Of(t.Context(), build.Described("4.3.6", text+test.queues), Want{
			Chain: []plan.Record{{
				ID: 7, Operation: plan.Replay, From: build.Ref("failed"), Broker: "b:5672", Planned: 1, Entries: 1, Intent: in,
				Ended: time.Unix(9, 0), Account: plan.Account{Stopped: "a nack", Unknown: 1},
			}},
			Broker: "b:5672", User: "guest", Reads: asks, Insist: true,
			Entries: entriesOf(map[int64][]plan.Entry{7: entries}),
		}))(t)

		words := ""
		for _, u := range p.Undecided {
			words += u.Why
		}

		assert.Equal(t, p.Acks(), test.acks, "%s: %s", test.name, words)
		assert.Equal(t, len(p.Undecided), 1-test.acks, "%s", test.name)
		assert.Contains(t, words, test.undecided, "%s", test.name)
	}
}

// What others hold of a queue is not seen by a look: then an original that was not found is not done, and a copy that
// was not found is not sent again.
func TestResumeWhileOthersHoldMessages(t *testing.T) {
	m := kept("m")
	looked := func(name string) build.Part { // the statistics take a look of another dlxtop for a consumer
		return build.Queue(name, build.Consumers(1))
	}
	for _, test := range []struct {
		name, holds       string
		original, insists bool
		consumed          bool // a consumer of the target was there when the topology was read
		stopped           bool // a node, which may yet publish what it has received
		refused           string
		unsent, done      int
		undecided         string
	}{
		{name: "nothing", original: true, unsent: 1},
		{name: "nothing, after a consumer", original: true, consumed: true, undecided: "a consumer has taken it"},
		{name: "nothing, and it is gone", done: 1},
		{name: "of the target", original: true, holds: "orders", undecided: "others hold messages of orders"},
		{name: "a node that does not run", original: true, stopped: true, undecided: "the node b does not run"},

		{name: "of the source", holds: "failed", refused: "undecided; resume it when nothing consumes the queue"},
		{name: "of the source, and insists", holds: "failed", insists: true},
	} {
		in := &plan.Intent{
			Source: build.Ref("failed"), Depth: 1, Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "orders"},
			Recipients: []plan.Recipient{{
				Queue: build.Ref("orders"), Consumers: model.Some(int64(0)), Taken: model.Some(int64(0)),
			}},
		}

		asks := looking{look: func(look peek.Plan, each message.Visit) (string, error) {
			if look.Queue.Name == "failed" && test.original {
				return "", each(m)
			}
			return "", nil
		}}

		asks.others = func(queue model.QueueRef) plan.Others {
			return plan.Others{Hold: queue.Name == test.holds, Consumers: model.Some(int64(0))}
		}

		targetQueue := build.Queue("orders", build.Consumers(0))

		if test.consumed {
			targetQueue = looked("orders")
		}

		there := build.TopologyOf("4.3.6", looked("failed"), targetQueue)
		there.Snapshot.Nodes = []model.Node{{Name: "a", Running: true}, {Name: "b", Running: !test.stopped}}
		p := must.Get(Of(t.Context(), there, Want{
			Chain: []plan.Record{{
				ID: 7, Operation: plan.Move, From: build.Ref("failed"), Broker: "b:5672", Planned: 1, Entries: 1, Intent: in,
			}},
			Broker: "b:5672", User: "guest", Insist: test.insists, Reads: asks,
			Entries: entriesOf(map[int64][]plan.Entry{7: {{
				Position: 1, Fingerprint: m.Fingerprint,
				Sent: &plan.Sent{Fingerprint: message.Fingerprint{1}, Reached: []string{"orders"}},
			}}}),
		}))(t)

		words := ""
		for _, u := range p.Undecided {
			words += u.Why
		}

		assert.Contains(t, p.Refusal.Words(), test.refused, "%s", test.name)
		assert.Contains(t, words, test.undecided, "%s", test.name)
		assert.Equal(t, p.Unsent, test.unsent, "%v", test.name)
		assert.Equal(t, p.Done, test.done, "%v", test.name)
		assert.Equal(t, test.refused != "", p.Refusal.Refused(), "%s: %+v", test.name, p)
		assert.Equal(t, p.Unsettled, test.holds != "" || test.stopped, "%s", test.name)
	}
}

// No peek finds such a message, so it is not published twice.
func TestResumeOfAnImportThatIsKeptBack(t *testing.T) {
	m := &message.Message{Fingerprint: message.Fingerprint{1}}
	for _, keeps := range []bool{false, true} {
		there := build.TopologyOf("4.4.0", build.Queue("orders"))
		file := FromFile(there, build.Ref("orders"), "/file", 1, keeps)
		file.Into.Consumers, file.Into.Taken = model.Some(int64(0)), model.Some(int64(0))
		p := must.Get(Of(t.Context(), there, Want{
			Chain: []plan.Record{{
				ID: 7, Operation: plan.Import, From: build.Ref("orders"), Broker: "b:5672", Planned: 1, Entries: 1,
				Intent: file.Intent(), Ended: time.Unix(9, 0),
				Account: plan.Account{Stopped: "the connection was lost", Unknown: 1},
			}},
			Broker: "b:5672", User: "guest",
			Entries: entriesOf(map[int64][]plan.Entry{7: {{
				Position: 1, Fingerprint: m.Fingerprint, Outcome: plan.Unsure,
				Sent: &plan.Sent{Fingerprint: message.Fingerprint{2}, Reached: []string{"orders"}},
			}}}),
			Reads: looking{},
			File:  func(_ context.Context, _ string, each message.Visit) error { return each(m) },
		}))(t)
		assert.That(t, p.Import.Undelays != keeps, "kept back: %v: %+v", keeps, p)
		assert.Equal(t, p.Unsent == 0, keeps)
		assert.That(t,
			!keeps || len(p.Undecided) == 1 && strings.HasPrefix(p.Undecided[0].Why,
				"RabbitMQ may keep its copy back in orders"), "kept back: %v: %+v", keeps, p)
	}
}

// killedAt is a replay of everything in a queue, or a drop, at the moment when its program is killed. Messages are
// numbers: equal ones are twins.
type killedAt struct {
	queue     []int // when it began
	intended  int   // the first of them, with recorded intentions
	published int   // the first of these
	acked     int   // the first of these
	settled   int   // the first of these
	forgotten int   // acknowledgements behind the settled ones that the queue forgot when its node was killed
	drop      bool
	marked    bool
	named     bool  // each has its own message_id, and they differ, but for copies
	copies    bool  // some messages behind are copies of others, in all things
	spares    bool  // but for every third one: it is a copy of the one before it, and stays
	arrived   []int // in the source since then
	removed   int   // the last ones of the queue, by somebody else since then
	foreign   []int // in the target before
}

func randomKill(r *rand.Rand) killedAt {
	n, kinds := 1+r.IntN(12), 1+r.IntN(30)
	k := killedAt{drop: r.IntN(3) == 0, marked: r.IntN(2) == 0, named: r.IntN(2) == 0}
	for i := range n {
		if k.queue = append(k.queue, r.IntN(kinds)); k.named {
			k.queue[i] = i
		}
	}

	k.copies = k.named && r.IntN(3) == 0
	for i := range n {
		if k.copies && r.IntN(3) == 0 {
			k.queue[i] = r.IntN(i + 1)
		}
	}

	differ := k.named && !k.copies
	k.spares = differ && !k.drop && r.IntN(2) == 0
	for i := range n {
		if k.stays(i) {
			k.queue[i] = i - 1
		}
	}

	k.intended = 1 + r.IntN(n)
	if k.stays(k.intended) { // a copy of what is recorded is recorded, too
		k.intended = min(k.intended+1, n)
	}

	k.published = r.IntN(k.intended + 1)
	k.acked = r.IntN(k.published + 1)
	k.settled = r.IntN(k.acked + 1)
	if k.named && r.IntN(3) == 0 {
		k.forgotten = r.IntN(k.acked - k.settled + 1)
	}

	if !k.copies && r.IntN(3) == 0 { // later arrivals would hide that a copy is one too many
		for range 1 + r.IntN(3) {
			if k.arrived = append(k.arrived, r.IntN(kinds)); k.named {
				k.arrived[len(k.arrived)-1] += n + 30*len(k.arrived)
			}
		}
	}

	return k
}

func original(kind int) message.Message {
	m := message.Message{
		RoutingKey: "k", Properties: message.Properties{Type: fmt.Sprint(kind)}, Body: []byte{byte(kind)}, BodyBytes: 1,
	}
	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

func (k *killedAt) copyOf(kind int) message.Message {
	m := original(kind)
	m.RoutingKey = "worker"
	if k.marked {
		m.Headers = model.Table{message.ReplayHeader: model.Table{
			"count": int64(1), "time": time.Unix(1e9, 0), "replay": "MARK",
		}}
	}

	m.Fingerprint = message.FingerprintOf(&m)
	return m
}

func (k *killedAt) stays(i int) bool { return k.spares && i%3 == 2 }

// source and target are what is in the queues after the kill.
func (k *killedAt) source() (kinds []int) {
	for i, kind := range k.queue[:len(k.queue)-k.removed] {
		if i >= k.acked || i >= k.settled && i < k.settled+k.forgotten || k.stays(i) {
			kinds = append(kinds, kind)
		}
	}

	return append(kinds, k.arrived...)
}

// acknowledged returns those that a drop has removed from the source for good.
func (k *killedAt) acknowledged() []int {
	return slices.Concat(k.queue[:k.settled], k.queue[k.settled+k.forgotten:k.acked])
}

func (k *killedAt) target() (kinds []int) {
	if k.drop {
		return nil
	}
	kinds = slices.Clone(k.foreign)
	for i, kind := range k.queue[:k.published] {
		if !k.stays(i) {
			kinds = append(kinds, kind)
		}
	}

	return kinds
}

// plan plans to resume it.
func (k *killedAt) plan(t *testing.T) Plan {
	t.Helper()
	from := build.Ref("failed")
	to := build.Ref("worker")
	r := plan.Record{
		ID: 1, Operation: plan.Replay, From: from, Broker: "b", Planned: len(k.queue), Entries: k.intended,
		Intent: &plan.Intent{
			Source: from, Depth: int64(len(k.queue)), Mode: target.ToQueue, Fixed: model.Address{RoutingKey: "worker"},
			Recipients: []plan.Recipient{{Queue: to, Consumers: build.Some(0)}},
			Options:    plan.Options{Mark: k.marked, MarkName: "MARK"},
		},
	}

	if k.drop {
		r.Operation = plan.Drop
	}

	var entries []plan.Entry
	for i, kind := range k.queue[:k.intended] {
		m := original(kind)
		m.Position = i + 1
		e := plan.Entry{Position: i + 1, Fingerprint: m.Fingerprint, Outcome: plan.Moved}
		if k.named {
			e.MessageID = fmt.Sprint(kind)
		}

		if k.drop {
			e.Message, e.Outcome = &m, plan.Dropped
		} else {
			e.Sent = &plan.Sent{Fingerprint: k.copyOf(kind).Fingerprint, Reached: []string{"worker"}}
		}

		switch {
		case k.stays(i):
			e.Outcome, e.Sent = plan.Refused, nil
		case i >= k.settled:
			e.Outcome = ""
		}

		entries = append(entries, e)
	}

	topology := build.TopologyOf("", build.Queue(from.Name, build.Consumers(0)), build.Queue(to.Name))
	planned := must.Get(Of(t.Context(), topology, Want{
		Chain: []plan.Record{r}, Broker: "b", Entries: entriesOf(map[int64][]plan.Entry{1: entries}),
		Reads: looking{look: func(p peek.Plan, each message.Visit) (string, error) {
			kinds, of := k.source(), original
			if p.Queue == to {
				kinds, of = k.target(), k.copyOf
			}
			for _, kind := range kinds {
				m := of(kind)
				if err := each(&m); err != nil {
					return "", err
				}
			}

			return "", nil
		}},
	}))(t)
	must.That(t, !planned.Refusal.Refused(), "%+v: %s", k, planned.Refusal.Words())

	return planned.Plan
}

// execute does what the plan says: copies are those that reach the target, left is what stays in the source.
func (k *killedAt) execute(p *Plan) (copies, left []int) {
	acks := message.Twins{}
	for _, a := range p.Resuming.Acks {
		acks[a.Fingerprint]++
	}

	var kinds []int
	for _, kind := range k.source() {
		if f := original(kind).Fingerprint; acks[f] > 0 {
			acks[f]--
			continue
		}
		kinds = append(kinds, kind)
	}

	picker := p.Rest.Selection.Picker(p.Rest.From)
	most := int(p.Resuming.Left) - len(p.Resuming.Acks)
	for i, kind := range kinds {
		m := original(kind)
		if i < most && picker.Pick(&m) {
			copies = append(copies, kind)
		} else {
			left = append(left, kind)
		}
	}

	return copies, left
}

func counts(lists ...[]int) map[int]int {
	n := map[int]int{}
	for _, list := range lists {
		for _, kind := range list {
			n[kind]++
		}
	}

	return n
}

// A resume never loses or doubles a message, wherever the program was killed, with twins and with later arrivals; and
// if all messages differ, nothing is left undecided.
func TestResumeAtRandom(t *testing.T) {
	r := seed.Rand(t)
	for range size.Of(1500, 30_000) {
		k := randomKill(r)
		p := k.plan(t)
		copies, left := k.execute(&p)
		is := counts(k.target(), copies, left)
		was := counts(k.queue, k.arrived)
		if k.drop {
			is = counts(k.acknowledged(), copies, left) // a drop has no copies: what is acknowledged is gone
		}

		bad := ""
		undecided := len(p.Undecided)
		for kind, n := range was {
			switch {
			case is[kind] < n:
				bad = fmt.Sprintf("%d of kind %d are lost", n-is[kind], kind)
			case is[kind] > n && undecided == 0:
				bad = fmt.Sprintf("%d of kind %d are there twice", is[kind]-n, kind)
			}
		}

		if k.named && !k.copies && undecided > 0 {
			bad = fmt.Sprintf("%d are undecided", undecided)
		}

		certain := k.named && !k.spares && !k.copies
		if certain && len(k.arrived) == 0 && len(left) > 0 {
			bad = fmt.Sprintf("%v are left", left)
		}

		must.That(t, bad == "", "%s: %+v\nacknowledges %v, done %d, unsent %d, undecided %v\ncopies %v, left %v", bad, k,
			p.Resuming.Acks, p.Done, p.Unsent, p.Undecided, copies, left)
	}
}

// Where others removed messages meanwhile, many at the head that are in order are no twins of what was acknowledged.
func TestResumeAfterOthersRemovedSome(t *testing.T) {
	k := killedAt{queue: []int{0, 1, 2, 3, 4}, intended: 4, published: 4, named: true, removed: 1}
	assert.Equal(t, len(k.plan(t).Resuming.Acks), 4)
}

// kept returns a message that the journal keeps.
func kept(id string) *message.Message {
	m := message.Message{RoutingKey: "failed", Properties: message.Properties{MessageID: id}}
	m.Identify()
	return &m
}

// entriesOf reads the entries of each record.
func entriesOf(entries map[int64][]plan.Entry) func(context.Context, int64, plan.VisitEntry) error {
	return func(_ context.Context, record int64, each plan.VisitEntry) error {
		for _, e := range entries[record] {
			if err := each(&e); err != nil {
				return err
			}
		}
		return nil
	}
}

// looking reads queues without consumers.
type looking struct {
	look   func(peek.Plan, message.Visit) (string, error)
	others func(model.QueueRef) plan.Others // nil: only counts show others
}

func (l looking) Read(_ context.Context, look peek.Plan, each message.Visit) (read peek.Read, err error) {
	if l.look != nil { // otherwise nothing is there
		read.Stopped, err = l.look(look, each)
	}
	return read, err
}

func (looking) Count(context.Context, []model.QueueRef) (model.CountsByQueue, error) { return nil, nil }

func (l looking) Others(_ context.Context, left []plan.Left) (map[model.QueueRef]plan.Others, error) {
	if l.others == nil {
		return nil, nil
	}
	return map[model.QueueRef]plan.Others{left[0].Queue: l.others(left[0].Queue)}, nil
}
