package broker_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/raw"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/trace"
)

// oddStage is a queue with a message for each odd table, and an ordinary one before each.
type oddStage struct {
	*app
	raw      *rawAMQP
	from, to *model.Queue
	ids      []string
	tables   map[string][]byte // by message id
}

// counters are headers that a quorum queue adds.
var counters = []string{"x-delivery-count", "x-acquired-count"}

// tooLarge is the message whose headers have no room for a mark.
const tooLarge = "almost one frame"

func newOddStage(t *testing.T, kind model.QueueType) *oddStage {
	t.Helper()
	s := &oddStage{app: newApp(t), raw: newRaw(t, node), tables: oddTables()}
	s.from, s.to = s.queue("failed", kind), s.queue("worker", kind)
	for i, id := range slices.Sorted(maps.Keys(s.tables)) {
		good := fmt.Sprintf("good %d", i)
		s.tables[good] = append(raw.Short("number"), 'l', 0, 0, 0, 0, 0, 0, 0, byte(i))
		s.ids = append(s.ids, good, id)
	}

	untouched := s.queue("untouched", kind)
	for _, id := range s.ids {
		s.raw.publish("", s.from.Name, id, s.tables[id], []byte("body of "+id))
		s.raw.publish("", untouched.Name, id, s.tables[id], []byte("body of "+id))
	}

	s.await(s.from, len(s.ids))
	s.await(untouched, len(s.ids))
	for _, m := range s.raw.drain(untouched.Name) {
		published := sorted(t, s.tables[m.id])
		if s.tables[m.id] = m.table; !bytes.Equal(sorted(t, m.table, counters...), published) {
			t.Logf("RabbitMQ %s, %s: %s is delivered as %.60q", node.Version(), kind, m.id, m.table)
		}
	}

	return s
}

// wholeQueue is a look at all of a queue.
var wholeQueue = peek.Want{Limit: 1000, MaxBytes: 1 << 30}

// peeked looks at a queue, and wants all messages in order.
func (s *oddStage) peeked(t *testing.T, c *broker.Client, q *model.Queue) []message.Message {
	t.Helper()
	got := lookAt(t, c, q, wholeQueue)
	ids := messageIDs(got.Messages)
	must.That(t, slices.Equal(ids, s.ids), "%s: %q (%s)", q.Name, ids, got.Stopped)
	must.Equal(t, got.Stopped, "")
	s.await(q, len(s.ids))
	for _, m := range got.Messages {
		assert.Equal(t, string(m.Body), "body of "+m.Properties.MessageID, "%s: %d headers, body %.40q",
			m.Properties.MessageID, len(m.Headers), m.Body)
		assert.Equal(t, m.BodyBytes, len(m.Body), "%v", m.Properties.MessageID)
		assert.That(t, len(m.Headers) > 0, "%s: %d headers, body %.40q", m.Properties.MessageID, len(m.Headers), m.Body)
	}

	return got.Messages
}

// wantTables takes everything out of a queue and compares the bytes of the headers with those of untouched messages.
func (s *oddStage) wantTables(t *testing.T, queue string, ids []string, without ...string) {
	t.Helper()
	all := s.raw.drain(queue)
	var got []string
	for _, m := range all {
		got = append(got, m.id)
		without := append(without, counters...)
		same := bytes.Equal(sorted(t, m.table, without...), sorted(t, s.tables[m.id], without...))
		assert.That(t, same, "%s is not what it was: %.100q", m.id, m.table)
		assert.Equal(t, string(m.body), "body of "+m.id, "%v", m.id)
	}

	assert.List(t, got, ids, "%s", queue)
}

// wantValues checks the values in some of the odd tables.
func (s *oddStage) wantValues(t *testing.T, messages []message.Message) {
	t.Helper()
	for _, m := range messages {
		switch id := m.Properties.MessageID; id {
		case "L":
			want := any(uint64(1<<64 - 1))
			if !bytes.Contains(s.tables[id], []byte("\x01nL")) {
				want = int64(-1) // the queue added it
			}
			assert.That(t, m.Headers["n"] == want, "%s: %v", id, m.Headers)
		case "a name twice":
			values, twice := m.Headers["k"].(model.Repeated)
			kept := bytes.Count(s.tables[id], []byte("\x01kS")) == 2
			assert.Equal(t, kept, twice, "%s: %v", id, m.Headers)
			assert.That(t, !kept || slices.Equal(values, model.Repeated{"a", "b"}), "%s: %v", id, m.Headers)
		case "9000 headers":
			assert.That(t, len(m.Headers) == 9000 || len(m.Headers) == 9001, "%s: %d headers", id, len(m.Headers))
			assert.That(t, m.Headers["h08999"] == int32(1), "%s: %d headers", id, len(m.Headers))

		case "130 deep", "1500 deep":
			v, depth := m.Headers["n"], 0
			for ; ; depth++ {
				inner, ok := v.(model.Table)
				if !ok {
					break
				}
				v = inner["t"]
			}

			left, cut := v.(model.RawValue)
			whole := depth == 130 && v == "deep"
			rest := cut && left.Type == 'F' && bytes.Contains(left.Bytes, []byte("deep"))
			assert.That(t, id != "130 deep" || whole, "%s: %d levels, then %T", id, depth, v)
			assert.That(t, id != "1500 deep" || rest, "%s: %d levels, then %T", id, depth, v)
		}
	}
}

// TestOddHeaders acts on messages whose headers RabbitMQ accepts and amqp091-go does not: nothing is lost, each copy
// has its original's headers byte for byte, and the other messages of the queue keep their order.
func TestOddHeaders(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		s := newOddStage(t, kind)
		c, j := journaled(t, false)
		n := len(s.ids)
		s.wantValues(t, s.peeked(t, c, s.from))
		c.SpoolAll()
		sample := s.peeked(t, c, s.from)
		s.wantValues(t, sample)

		planned := replayTo(t, s.from, s.to, plan.Selection{})
		planned.Mark = true
		account := executed(t, c, planned, outcome{Planned: n, Moved: n - 1, Refused: 1})
		for _, p := range account.Problems {
			assert.Equal(t, p.MessageID, tooLarge, "%+v", p)
			assert.Contains(t, p.Reason, "frame_max", "%v", p)
		}

		s.await(s.to, n-1)
		wantOutcome(t, undo(t, c, j, account.JournalID, s.from, s.to), outcome{Planned: n - 1, Moved: n - 1})
		s.await(s.from, n)
		s.ids = append([]string{tooLarge}, slices.DeleteFunc(s.ids, func(id string) bool { return id == tooLarge })...)
		sample = s.peeked(t, c, s.from)

		account = executed(t, c, dropPlan(t, s.from, plan.Selection{}, n), outcome{Planned: n, Dropped: n})
		s.await(s.from, 0)
		wantOutcome(t, undo(t, c, j, account.JournalID, s.from), outcome{Planned: n, Moved: n})
		s.await(s.from, n)

		for i, m := range s.peeked(t, c, s.from) {
			assert.That(t, m.Fingerprint == sample[i].Fingerprint || m.RoutingKey != sample[i].RoutingKey,
				"%s has another fingerprint", m.Properties.MessageID)
		}

		move := movePlan(t, s.peeked(t, c, s.from), s.from, s.to)
		executed(t, c, move, outcome{Planned: n, Moved: n})
		s.await(s.to, n)
		s.await(s.from, 0)
		file := exported(t, s.peeked(t, c, s.to))
		s.wantTables(t, s.to.Name, s.ids)

		account = imported(t, c, s.from, file)
		wantOutcome(t, account, outcome{Planned: n, Moved: n})
		s.await(s.from, n)
		s.wantTables(t, s.from.Name, s.ids)
	})
}

// exported returns the lines of a file.
func exported(t *testing.T, messages []message.Message) (lines [][]byte) {
	t.Helper()
	for i := range messages {
		line := must.Get(model.JSONLine(messages[i].JSON()))(t)
		lines = append(lines, line)
	}

	return lines
}

// A returned publish is recognized by its odd header, and stays where it was.
func TestOddHeadersThatNoQueueTakes(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		s, c := newOddStage(t, kind), client(t)
		n := len(s.ids)
		made := replayTo(t, s.from, s.to, plan.Selection{})
		s.deleteQueue(s.to.Name)
		executed(t, c, made, outcome{Planned: n, Returned: n})
		s.queue("worker", kind)
		s.await(s.from, n)
		s.wantTables(t, s.from.Name, s.ids)
	})
}

// A tap sees every message, whatever its headers.
func TestTapOfOddHeaders(t *testing.T) {
	s, c := newOddStage(t, model.Classic), client(t)
	exchange := s.exchange("e", "fanout", false, nil)
	s.bind(s.to, exchange, "", nil)
	topology := topologyNow(t)
	tap := startTap(s.app, c, topology, trace.PlanTap(topology,
		trace.TapWant{VHost: "/", Exchanges: []string{exchange}}), nil)
	for _, id := range s.ids {
		s.raw.publish(exchange, "k", id, s.tables[id], nil)
	}

	rows := tap.awaitRows(len(s.ids))
	counts := tap.end()
	assert.Equal(t, counts.MissedWords(), "", "%+v", counts)
	assert.Equal(t, counts.Seen, int64(len(s.ids)))
	var messages []message.Message
	for i, row := range rows {
		messages = append(messages, *row.Message)
		assert.Equal(t, row.Message.Properties.MessageID, s.ids[i], "message %d", i)
	}

	s.wantValues(t, messages)
}

// wireProperty is one of AMQP's 14 properties, encoded. RabbitMQ refuses an empty expiration and an empty user_id
// (406): they have no zero.
type wireProperty struct {
	name        string
	zero, value []byte
}

// wireProperties are in the order of their flags, beginning with 1 << 15.
func wireProperties() []wireProperty {
	empty := raw.Short("")
	table := raw.Long("\x01kS\x00\x00\x00\x01v")

	return []wireProperty{
		{"content_type", empty, raw.Short("text/plain")},
		{"content_encoding", empty, raw.Short("identity")},
		{"headers", raw.Long(""), table},
		{"delivery_mode", nil, []byte{2}}, // RabbitMQ before 4.0 refuses 0
		{"priority", []byte{0}, []byte{5}},
		{"correlation_id", empty, raw.Short("c\xff")},
		{"reply_to", empty, raw.Short("answers")},
		{"expiration", nil, raw.Short("3600000")},
		{"message_id", empty, raw.Short("id")},
		{"timestamp", make([]byte, 8), []byte{0, 0, 0, 0, 0x66, 0x31, 0x2b, 0}},
		{"type", empty, raw.Short("order")},
		{"user_id", nil, raw.Short("guest")},
		{"app_id", empty, raw.Short("shop")},
		{"cluster_id", empty, raw.Short("rabbit@here")},
	}
}

// wireMessages returns the properties of messages, flags first: each property absent, zero and with a value, while all
// others are absent, zero, and with a value.
func wireMessages() (names []string, all [][]byte) {
	properties := wireProperties()
	state := func(p wireProperty, state int) []byte { return [][]byte{nil, p.zero, p.value}[state] }
	states := [...]string{"absent", "zero", "a value"}
	for i, p := range properties {
		for one := range states {
			for others := range states {
				flags, list := uint16(0), []byte(nil)
				for k, other := range properties {
					written := state(other, others)
					if k == i {
						written = state(p, one)
					}
					if written != nil {
						flags |= 1 << (15 - k)
						list = append(list, written...)
					}
				}

				names = append(names, fmt.Sprintf("%s %s, others %s", p.name, states[one], states[others]))
				all = append(all, append(binary.BigEndian.AppendUint16(nil, flags), list...))
			}
		}
	}

	return names, all
}

// comparableProperties returns the properties of a delivered message, without what a queue adds, and without those
// named.
func comparableProperties(t testing.TB, kind model.QueueType, delivered []byte, without ...string) string {
	t.Helper()
	flags := binary.BigEndian.Uint16(delivered)
	rest := delivered[2:]
	var out []byte
	for k, p := range wireProperties() {
		flag := uint16(1) << (15 - k)
		if flags&flag == 0 {
			continue
		}
		n := 1
		switch p.name {
		case "headers":
			n = 4 + int(binary.BigEndian.Uint32(rest))
		case "delivery_mode", "priority":
		case "timestamp":
			n = 8
		default:
			n += int(rest[0])
		}

		value := rest[:n]
		if rest = rest[n:]; p.name == "headers" {
			table := sorted(t, value[4:], counters...)
			if len(table) == 0 && (n > 4 || kind == model.Quorum) {
				continue // a quorum queue adds its counters to an empty table
			}
			value = table
		}

		if !slices.Contains(without, p.name) {
			out = fmt.Appendf(out, "%s=%x ", p.name, value)
		}
	}

	return string(out)
}

// After a replay, a move, a drop and its undo, a replay and its undo, an export and its import, each of the 14
// properties is what it was: absent, zero or with its value. A replay and a move remove the expiration.
func TestPropertiesByteForByte(t *testing.T) {
	names, all := wireMessages()
	n := len(all)
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, bare := newApp(t), newRaw(t, node)
		from := a.queue("failed", kind)
		to := a.queue("worker", kind)
		untouched := a.queue("untouched", kind)

		body := func(i int) []byte { // every eighth one bypasses the client library as a large one
			if i%8 != 0 {
				return nil
			}
			return bytes.Repeat([]byte{byte(i)}, 70_000)
		}

		for i, properties := range all {
			bare.publishWith("", from.Name, properties, body(i))
			bare.publishWith("", untouched.Name, properties, body(i))
		}

		a.await(from, n)
		a.await(untouched, n)
		want := bare.drain(untouched.Name)
		check := func(what, queue string, without ...string) {
			t.Helper()
			got := bare.drain(queue)
			must.Equal(t, len(got), n, "%s", what)
			for i := range got {
				is := comparableProperties(t, kind, got[i].properties, without...)
				was := comparableProperties(t, kind, want[i].properties, without...)
				assert.Equal(t, is, was, "%s: %s", what, names[i])
				assert.That(t, bytes.Equal(got[i].body, want[i].body), "%s: %s", what, names[i])
			}

			for i := range want {
				bare.publishWith("", from.Name, all[i], body(i))
			}

			a.await(from, n)
		}

		c, j := journaled(t, false)
		execute(t, c, replayTo(t, from, to, plan.Selection{}))
		check("replay", to.Name, "expiration")

		replayed := execute(t, c, replayTo(t, from, to, plan.Selection{}))
		undo(t, c, j, replayed.JournalID, from, to)
		check("replay and undo", from.Name)

		dropped := execute(t, c, dropPlan(t, from, plan.Selection{}, n))
		undo(t, c, j, dropped.JournalID, from)
		check("drop and undo", from.Name)

		messages := lookAt(t, c, from, wholeQueue).Messages
		file := exported(t, messages)
		execute(t, c, movePlan(t, messages, from, to))
		check("move", to.Name, "expiration")

		bare.drain(from.Name)
		imported(t, c, from, file)
		check("export and import", from.Name)
	})
}

// imported publishes the lines of a file into a queue.
func imported(t *testing.T, c *broker.Client, q *model.Queue, file [][]byte) plan.Account {
	t.Helper()
	account := must.Get(c.Import(t.Context(), resume.ImportPlan{Into: plan.Recipient{Queue: q.QueueRef}},
		func(add message.Visit) error {
			for _, line := range file {
				m, err := message.ParseMessage(line)
				if err == nil {
					err = add(&m)
				}
				if err != nil {
					return err
				}
			}

			return nil
		}, nil))(t)

	return account
}
