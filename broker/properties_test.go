package broker_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// wireProperty is one of the 14 properties of AMQP as bytes. RabbitMQ takes no empty expiration and no empty user_id
// (406): they have no zero.
type wireProperty struct {
	name        string
	zero, value []byte
}

// wireProperties are in the order of their flags, the first of which is 1 << 15.
func wireProperties() []wireProperty {
	empty, table := shortText(""), longText("\x01kS\x00\x00\x00\x01v")
	return []wireProperty{
		{"content_type", empty, shortText("text/plain")},
		{"content_encoding", empty, shortText("identity")},
		{"headers", longText(""), table},
		{"delivery_mode", nil, []byte{2}}, // RabbitMQ before 4.0 takes no 0
		{"priority", []byte{0}, []byte{5}},
		{"correlation_id", empty, shortText("c\xff")},
		{"reply_to", empty, shortText("answers")},
		{"expiration", nil, shortText("3600000")},
		{"message_id", empty, shortText("id")},
		{"timestamp", make([]byte, 8), []byte{0, 0, 0, 0, 0x66, 0x31, 0x2b, 0}},
		{"type", empty, shortText("order")},
		{"user_id", nil, shortText("guest")},
		{"app_id", empty, shortText("shop")},
		{"cluster_id", empty, shortText("rabbit@here")},
	}
}

// wireMessages are the properties of messages, flags first: each property absent, zero and with a value, while all
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

// comparableProperties are the properties of a message that was delivered, without what a queue adds, and without some
// by their names.
func comparableProperties(
	t testing.TB, kind model.QueueType, delivered []byte, without ...string,
) string {
	t.Helper()
	flags, rest := binary.BigEndian.Uint16(delivered), delivered[2:]
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

// TestPropertiesByteForByte: each of the 14 properties is after a replay, a move, a drop and its undo, a replay and its
// undo, an export and its import what it was: absent, zero or with its value. A replay and a move take the expiration
// off.
func TestPropertiesByteForByte(t *testing.T) {
	t.Parallel()
	names, all := wireMessages()
	n := len(all)
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a, raw := newApp(t), newRaw(t, node)
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		untouched := a.queue("untouched", kind)
		body := func(i int) []byte { // every eighth one passes the client library as a large one
			if i%8 != 0 {
				return nil
			}
			return bytes.Repeat([]byte{byte(i)}, 70_000)
		}
		for i, properties := range all {
			raw.publishWith("", from.Name, properties, body(i))
			raw.publishWith("", untouched.Name, properties, body(i))
		}
		a.await(from.QueueRef, n)
		want := raw.drain(untouched.Name)
		check := func(what, queue string, without ...string) {
			t.Helper()
			got := raw.drain(queue)
			must.Equal(t, len(got), n, "%s", what)
			for i := range got {
				is := comparableProperties(t, kind, got[i].properties, without...)
				was := comparableProperties(t, kind, want[i].properties, without...)
				assert.That(t, is == was && bytes.Equal(got[i].body, want[i].body),
					"%s: %s\n was %s\n  is %s", what, names[i], was, is)
			}
			for i := range want {
				raw.publishWith("", from.Name, all[i], body(i))
			}
			a.await(from.QueueRef, n)
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

		messages := peekedAll(t, c, from)
		file := exported(t, messages)
		execute(t, c, movePlan(t, messages, from, to))
		check("move", to.Name, "expiration")

		raw.drain(from.Name)
		imported(t, c, from, file)
		check("export and import", from.Name)
	})
}

func peekedAll(t *testing.T, c *broker.Client, q *model.Queue) []message.Message {
	t.Helper()
	return peekAt(t, c, planPeek(q, wholeQueue)).Messages
}

// imported publishes the lines of a file into a queue.
func imported(t *testing.T, c *broker.Client, q *model.Queue, file [][]byte) plan.Account {
	t.Helper()
	account := must.Get(c.Import(t.Context(), resume.ImportPlan{Into: plan.Recipient{Queue: q.QueueRef}},
		func(add func(*message.Message) error) error {
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
