package broker_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/raw"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// Whether it is known that the exchange is internal or not, nothing is taken out of the queue.
func TestReplayToAnInternalExchange(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from := a.queue("failed", kind)
		to := a.queue("worker", kind)
		exchange := to.Name + ".internal"
		must.Do(t, a.channel.ExchangeDeclare(exchange, "direct", false, true, true, false, nil))
		must.Do(t, a.channel.QueueBind(to.Name, "k", exchange, false, nil))
		a.publish(from, numbered(50)...)
		told := topology([]*model.Queue{from, to}, exchange)
		want := viaExchange(from, 50, exchange)
		account := executed(t, c, planned(t, told, want), outcome{Planned: 50, Refused: 1, Stopped: true})
		assert.Contains(t, account.Stopped, "internal")

		snapshot := *told.Snapshot
		for i := range snapshot.Exchanges {
			snapshot.Exchanges[i].Internal = snapshot.Exchanges[i].Name == exchange
		}

		made := plan.New(model.NewTopology(&snapshot), want)
		assert.Contains(t, made.Refusal.Words(), "internal")
		wantIDs(t, "kept", a.drain(from, 50), count(50))
	})
}

// messageThatIsTooLarge: a broker closes the channel because of a message larger than it accepts. It is known which one
// that was, whatever was in flight, and the rest stays where it is.
func messageThatIsTooLarge(t *testing.T, n *demo.Node) {
	const total, large = 2000, 1500
	a := newAppOn(t, n)
	queues := map[*model.Queue]*model.Queue{}
	for _, kind := range kinds {
		messages := numbered(total)
		messages[large-1].Body = make([]byte, 15<<20) // 4.x accepts 16 MiB by default, 3.10 128 MiB
		from := a.filled("failed."+string(kind), kind, messages...)
		queues[from] = a.queue("worker."+string(kind), kind)
	}

	limit := func(most int) {
		t.Helper()
		_, err := n.Control(context.Background(), "eval",
			fmt.Sprintf("application:set_env(rabbit, max_message_size, %[1]d), persistent_term:put(max_message_size, "+
				"%[1]d).", most))
		assert.Succeeds(t, err)
	}

	limit(8_000_000)
	defer limit(16 << 20)

	for from, to := range queues {
		c := clientOf(t, n)
		made := replayTo(t, from, to, plan.Selection{})
		made.Planned = total
		account := executed(t, c, made, outcome{Planned: total, Moved: large - 1, Refused: 1, Stopped: true})
		must.Equal(t, len(account.Problems), 1, "%+v", account)
		assert.Equal(t, account.Problems[0].MessageID, fmt.Sprint(large))
		assert.Contains(t, account.Problems[0].Reason, "size")
		assert.Contains(t, account.Stopped, "size")
		a.wantMoved(from, count(total)[large-1:], to, count(large-1))
	}
}

// TestWhatTheBrokerDoesNotTakeAgain drops messages with a foreign user_id, an expiration, CC and BCC, and undoes that:
// each is in its queue once, nowhere else, and without what the broker would refuse or route further.
func TestWhatTheBrokerDoesNotTakeAgain(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		from := a.queue("failed", kind)
		others := a.queue("others", kind)
		channel := dial.Channel(t, user(t, "other", manage.EveryRight))
		for i, m := range []amqp.Publishing{
			{UserId: "other"},
			{Expiration: "600000"},
			{Headers: amqp.Table{"CC": []any{others.Name}, "keep": "me"}},
			{Headers: amqp.Table{"BCC": []any{others.Name}}},
		} {
			m.MessageId, m.Body = fmt.Sprint(i+1), []byte("body")
			must.That(t, dial.Send(t, channel, "", from.Name, m), "it is refused")
		}

		a.await(from, 4)
		wantIDs(t, "by CC and BCC", a.drain(others, 2), []string{"3", "4"})
		c, j := journaled(t, false)
		account := executed(t, c, dropPlan(t, from, plan.Selection{}, 4), outcome{Planned: 4, Dropped: 4})
		wantOutcome(t, undo(t, c, j, account.JournalID, from), outcome{Planned: 4, Moved: 4})
		back := a.drain(from, 4)
		wantIDs(t, "brought back", back, count(4))
		assert.Equal(t, back[0].UserId, "", "%+v", back)
		assert.Equal(t, back[1].Expiration, "600000")
		assert.That(t, back[2].Headers["keep"] == "me", "%+v", back)
		assert.That(t, back[2].Headers["CC"] == nil, "%+v", back)
		a.drain(others, 0)
	})
}

// A message that would close the channel is refused beforehand, and the others are imported, without the header that is
// to be removed.
func TestImportOfABadMessage(t *testing.T) {
	a, c := besideOthers(t)
	q := a.queue("q", model.Classic)
	into := resume.ImportPlan{Into: plan.Recipient{Queue: q.QueueRef}, Undelays: true}
	account := must.Get(c.Import(t.Context(), into, func(add message.Visit) error {
		for _, m := range []message.Message{
			{Properties: message.Properties{MessageID: "1", UserID: "somebody else"}},
			{Properties: message.Properties{MessageID: "2", Expiration: "tomorrow"}},
			{Properties: message.Properties{MessageID: "3"}, Headers: model.Table{"CC": "no list", "BCC": []any{"elsewhere"}}},
			{Properties: message.Properties{MessageID: "4"}, Headers: model.Table{message.DeliveryTimeHeader: int64(9)}},
			// a millisecond more than the broker accepts
			{Properties: message.Properties{MessageID: "5", Expiration: "315360000001"}},
			{Properties: message.Properties{MessageID: "6", Expiration: "+315360000000"}},
		} {
			if err := add(&m); err != nil {
				return err
			}
		}

		return nil
	}, nil))(t)
	wantOutcome(t, account, outcome{Planned: 6, Moved: 4, Refused: 2})
	must.Equal(t, len(account.Problems), 2, "%+v", account.Problems)
	assert.Contains(t, account.Problems[0].Reason, "expiration")
	imported := a.drain(q, 4)
	wantIDs(t, "imported", imported, []string{"1", "3", "4", "6"})
	assert.That(t, len(imported[2].Headers) == 0, "%+v", imported[2].Headers)
}

// anotherBrokerAtTheSameAddress: a plan for one broker is not executed on another one that answers at its address
// later.
func anotherBrokerAtTheSameAddress(t *testing.T, other *demo.Node) {
	cable, address := newCable(t, 0)
	c := newClient(t, broker.Options{URL: address})
	must.Do(t, c.Check(t.Context(), ""))
	cable.lead(t, other)
	cable.cut()
	var connect *trouble.Error
	app := newApp(t)

	app.until(func() error { // until the client has noticed the cut
		if err := c.Check(t.Context(), ""); !errors.As(err, &connect) {
			return fmt.Errorf("it said: %w", err)
		}
		return nil
	})

	assert.Equal(t, connect.Kind, trouble.TwoBrokers, "%+v", connect)
	assert.Contains(t, connect.Cause, "belonged to")
	cable.lead(t, node)
	assert.Succeeds(t, c.Check(t.Context(), ""))
}

// rawAMQP is an application that speaks AMQP without a client library: it publishes and receives headers as bytes.
type rawAMQP struct {
	testing.TB
	*raw.Link
}

// dialNode returns a fresh connection on which nothing was sent.
func dialNode(t testing.TB, n *demo.Node) net.Conn {
	t.Helper()
	u := must.Get(url.Parse(n.AMQP()))(t)
	conn := must.Get(net.Dial("tcp", u.Host))(t)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func newRaw(t testing.TB, n *demo.Node) *rawAMQP {
	t.Helper()
	r := &rawAMQP{t, must.Get(raw.Open(n.AMQP()))(t)}
	t.Cleanup(func() { r.Close() })
	must.Do(t, r.SetDeadline(time.Now().Add(10*patience)))
	return r
}

// payload reads a frame of a kind.
func (r *rawAMQP) payload(kind byte) []byte {
	r.Helper()
	frame := must.Get(r.Frame())(r)
	must.That(r, frame[0] == kind, "the broker said %q", frame)
	return bytes.Clone(raw.Payload(frame))
}

// answer returns the next method.
func (r *rawAMQP) answer() uint32 {
	r.Helper()
	must.Do(r, r.Out.Flush())
	return binary.BigEndian.Uint32(r.payload(raw.MethodFrame))
}

// publish publishes a message with an encoded table. It awaits no confirm: with one for each of hundreds of messages a
// test mostly waited for the disk. The caller awaits the depth of the queue.
func (r *rawAMQP) publish(exchange, key, id string, table, body []byte) {
	r.Helper()
	const flags = 1<<13 | 1<<12 | 1<<7 // headers, delivery mode, message id
	properties := append(binary.BigEndian.AppendUint16(nil, flags), raw.Long(string(table))...)
	r.publishWith(exchange, key, append(append(properties, 2), raw.Short(id)...), body)
}

// publishWith is publish with encoded properties, flags first.
func (r *rawAMQP) publishWith(exchange, key string, properties, body []byte) {
	r.Helper()
	r.Method(60<<16|40, []byte{0, 0}, raw.Short(exchange), raw.Short(key), []byte{0})
	_, _ = r.Out.Write(raw.FrameOf(raw.HeaderFrame, binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, uint64(len(body))),
		properties))
	for part := range slices.Chunk(body, 131072-8) {
		_, _ = r.Out.Write(raw.FrameOf(raw.BodyFrame, part))
	}

	must.Do(r, r.Out.Flush())
}

// rawMessage is a message as bytes, as received.
type rawMessage struct {
	id         string
	table      []byte // without the delivery counters
	body       []byte
	properties []byte // all of them, including the table: flags first
}

// drain takes everything out of a queue.
func (r *rawAMQP) drain(queue string) (all []rawMessage) {
	r.Helper()
	for {
		r.Method(60<<16|70, []byte{0, 0}, raw.Short(queue), []byte{1})
		answer := r.answer()
		if answer == 60<<16|72 { // get-empty
			return all
		}
		must.Equal(r, answer, 60<<16|71, "the answer to a get")
		header := r.payload(raw.HeaderFrame)
		size := binary.BigEndian.Uint64(header[4:])
		flags := binary.BigEndian.Uint16(header[12:])
		properties := header[14:]
		m := rawMessage{properties: header[12:]}

		text := func(bit uint16) string {
			if flags&bit == 0 {
				return ""
			}
			n := int(properties[0])
			s := string(properties[1 : 1+n])
			properties = properties[1+n:]
			return s
		}

		text(1 << 15)
		text(1 << 14)

		if flags&(1<<13) != 0 {
			n := binary.BigEndian.Uint32(properties)
			m.table = properties[4 : 4+n]
			properties = properties[4+n:]
		}

		for _, bit := range []uint16{1 << 12, 1 << 11} { // delivery mode, priority
			if flags&bit != 0 {
				properties = properties[1:]
			}
		}

		for _, bit := range []uint16{1 << 10, 1 << 9, 1 << 8} {
			text(bit)
		}

		m.id = text(1 << 7)
		for uint64(len(m.body)) < size {
			m.body = append(m.body, r.payload(raw.BodyFrame)...)
		}

		all = append(all, m)
	}
}

// sorted returns a table with its entries sorted by name at every depth, for comparison. Entries with the same name
// keep their order, and those in without are left out. It is independent of the code under test.
func sorted(t testing.TB, table []byte, without ...string) []byte {
	t.Helper()
	type entry struct{ name, value string }
	var entries []entry
	for len(table) > 0 {
		n := int(table[0])
		name, rest := string(table[1:1+n]), table[1+n:]
		size := sizeOf(t, rest)
		e := entry{name, string(inOrder(t, rest[:size]))}
		if table = rest[size:]; !slices.Contains(without, name) {
			entries = append(entries, e)
		}
	}

	slices.SortStableFunc(entries, func(a, b entry) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	var out []byte
	for _, e := range entries {
		out = append(append(out, raw.Short(e.name)...), e.value...)
	}

	return out
}

func inOrder(t testing.TB, value []byte) []byte {
	t.Helper()
	switch value[0] {
	case 'F':
		return append([]byte("F"), raw.Long(string(sorted(t, value[5:])))...)
	case 'A':
		out, rest := []byte{}, value[5:]
		for len(rest) > 0 {
			n := sizeOf(t, rest)
			out = append(out, inOrder(t, rest[:n])...)
			rest = rest[n:]
		}
		return append([]byte("A"), raw.Long(string(out))...)
	}

	return value
}

func sizeOf(t testing.TB, value []byte) int {
	t.Helper()
	sizes := map[byte]int{
		'V': 0, 't': 1, 'b': 1, 'B': 1, 's': 2, 'u': 2, 'I': 4, 'i': 4, 'f': 4, 'D': 5, 'l': 8, 'L': 8, 'd': 8, 'T': 8,
	}
	if n, ok := sizes[value[0]]; ok {
		return 1 + n
	}
	must.That(t, slices.Contains([]byte("SxAF"), value[0]), "the type %q", value[0])
	return 5 + int(binary.BigEndian.Uint32(value[1:]))
}

// oddTables returns tables that RabbitMQ accepts and that amqp091-go 1.16 reads, writes or keeps differently, or not at
// all.
func oddTables() map[string][]byte {
	entry := func(name string, value ...byte) []byte { return append(raw.Short(name), value...) }
	text := func(s string) []byte { return append([]byte{'S'}, raw.Long(s)...) }
	nested := func(depth int) []byte {
		value := text("deep")
		for range depth {
			value = append([]byte{'F'}, raw.Long(string(entry("t", value...)))...)
		}
		return entry("n", value...)
	}

	many := func(n int, value ...byte) (b []byte) {
		for i := range n {
			b = append(b, entry(fmt.Sprintf("h%05d", i), value...)...)
		}
		return b
	}

	full := bytes.Repeat([]byte{0xff}, 8)
	none := make([]byte, 8)
	unsigned := func(name string, value []byte) []byte { return append(entry(name, 'L'), value...) }

	return map[string][]byte{
		"L":                append(unsigned("n", full), unsigned("m", none)...),
		"u":                entry("n", 'u', 0xff, 0xff),
		"i":                entry("n", 'i', 0xff, 0xff, 0xff, 0xff),
		"20 deep":          nested(20),
		"33 deep":          nested(33),
		"40 deep":          nested(40),
		"100 deep":         nested(100),
		"130 deep":         nested(130),
		"1500 deep":        nested(1500), // deeper than tables are read
		"a name twice":     append(entry("k", text("a")...), entry("k", text("b")...)...),
		"bytes":            entry("n", append([]byte{'x'}, raw.Long("\xff\x00\x1b")...)...),
		"void":             entry("n", 'V'),
		"a long name":      entry(string(bytes.Repeat([]byte("k"), 255)), text("a")...),
		"before 1970":      entry("n", append([]byte{'T'}, full...)...),
		"the last second":  entry("n", append([]byte{'T', 0x7f}, full[1:]...)...),
		"no UTF-8":         entry("\xff\x9b31m", text("\xff\x9b31m")...),
		"decimal":          entry("n", 'D', 0xff, 0x80, 0, 0, 0),
		"array of 20000":   entry("a", append([]byte{'A'}, raw.Long(string(bytes.Repeat([]byte("t\x01"), 20000)))...)...),
		"5000 headers":     many(5000, 'I', 0, 0, 0, 1),
		"9000 headers":     many(9000, 'I', 0, 0, 0, 1),
		"10001 headers":    many(10001, 't', 1),
		"almost one frame": entry("n", text(string(bytes.Repeat([]byte("x"), 131072-8-14-4-7-1-20)))...),
	}
}
