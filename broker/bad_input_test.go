package broker_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/target"
)

// Whether it is known that the exchange is internal or not, nothing is taken out of the queue.
func TestReplayToAnInternalExchange(t *testing.T) {
	onEachKind(t, func(t *testing.T, kind model.QueueType, a *app, c *broker.Client) {
		from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
		exchange := to.Name + ".internal"
		must.Do(t, a.channel.ExchangeDeclare(exchange, "direct", false, true, true, false, nil))
		must.Do(t, a.channel.QueueBind(to.Name, "k", exchange, false, nil))
		a.publish(from.QueueRef, numbered(50)...)
		told := topology([]*model.Queue{from, to}, exchange)
		want := plan.ActionWant{
			Operation: plan.Replay, From: from.QueueRef, Planned: 50, Mode: target.ToExchange,
			Fixed: model.Address{Exchange: exchange, RoutingKey: "k"}, User: "guest", Insist: true,
		}
		account := execute(t, c, planned(t, told, want))
		wantOutcome(t, account, outcome{Planned: 50, Refused: 1, Stopped: true})
		assert.Contains(t, account.Stopped, "internal")
		snapshot := *told.Snapshot
		for i := range snapshot.Exchanges {
			snapshot.Exchanges[i].Internal = snapshot.Exchanges[i].Name == exchange
		}
		made := plan.New(model.NewTopology(&snapshot), want)
		assert.That(t, strings.Contains(made.Refusal.Words(), "internal"), "the plan says %q", made.Refusal.Words())
		wantIDs(t, "kept", a.drain(from.QueueRef, 50), count(50))
	})
}

// messageThatIsTooLarge: a broker closes the channel because of a message larger than it accepts. It is known which one
// that was, whatever was in flight, and the rest stays where it is.
func messageThatIsTooLarge(t *testing.T, n *demo.Node) {
	const total, large = 2000, 1500
	type queues struct{ from, to *model.Queue }
	var all []queues
	a := newAppOn(t, n)
	for _, kind := range kinds {
		q := queues{
			described(a.queue("failed."+string(kind), kind), kind), described(a.queue("worker."+string(kind), kind), kind),
		}
		messages := numbered(total)
		messages[large-1].Body = make([]byte, 15<<20) // 4.x accepts 16 MiB by default, 3.10 128 MiB
		a.publish(q.from.QueueRef, messages...)
		all = append(all, q)
	}
	limit := func(most int) {
		t.Helper()
		_, err := n.Control(context.Background(), "eval",
			fmt.Sprintf("application:set_env(rabbit, max_message_size, %[1]d), persistent_term:put(max_message_size, "+
				"%[1]d).", most))
		assert.That(t, err == nil, "%v", err)
	}
	limit(8_000_000)
	defer limit(16 << 20)
	for _, q := range all {
		c := clientOf(t, n)
		made := replayTo(t, q.from, q.to, plan.Selection{})
		made.Planned = total
		account := execute(t, c, made)
		wantOutcome(t, account, outcome{Planned: total, Moved: large - 1, Refused: 1, Stopped: true})
		assert.That(t, len(account.Problems) == 1 && account.Problems[0].MessageID == fmt.Sprint(large) &&
			strings.Contains(account.Problems[0].Reason, "size") && strings.Contains(account.Stopped, "size"), "%+v", account)
		wantIDs(t, "moved", a.drain(q.to.QueueRef, large-1), count(large-1))
		wantIDs(t, "kept", a.drain(q.from.QueueRef, total-large+1), count(total)[large-1:])
	}
}

// TestWhatTheBrokerDoesNotTakeAgain drops messages with a foreign user_id, an expiration, CC and BCC, and undoes that:
// each is in its queue once, nowhere else, and without what the broker would refuse or route further.
func TestWhatTheBrokerDoesNotTakeAgain(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		from, others := described(a.queue("failed", kind), kind), a.queue("others", kind)
		foreign := must.Get(amqp.Dial(user(t, "other", everyRight)))(t)
		defer foreign.Close()
		channel := must.Get(foreign.Channel())(t)
		must.Do(t, channel.Confirm(false))
		for i, m := range []amqp.Publishing{
			{UserId: "other"},
			{Expiration: "600000"},
			{Headers: amqp.Table{"CC": []any{others.Name}, "keep": "me"}},
			{Headers: amqp.Table{"BCC": []any{others.Name}}},
		} {
			m.MessageId, m.Body = fmt.Sprint(i+1), []byte("body")
			confirm := must.Get(channel.PublishWithDeferredConfirm("", from.Name, true, false, m))(t)
			a.confirmed(confirm)
		}
		a.await(from.QueueRef, 4)
		wantIDs(t, "by CC and BCC", a.drain(others, 2), []string{"3", "4"})
		c, j := journaled(t, false)
		account := execute(t, c, dropPlan(t, from, plan.Selection{}, 4))
		wantOutcome(t, account, outcome{Planned: 4, Dropped: 4})
		wantOutcome(t, undo(t, c, j, account.JournalID, from), outcome{Planned: 4, Moved: 4})
		back := a.drain(from.QueueRef, 4)
		wantIDs(t, "brought back", back, count(4))
		assert.That(t, back[0].UserId == "" && back[1].Expiration == "600000" && back[2].Headers["keep"] == "me" &&
			back[2].Headers["CC"] == nil, "%+v", back)
		a.drain(others, 0)
	})
}

// A message that would close the channel is refused beforehand, and the others are imported, without the header that is
// to be removed.
func TestImportOfABadMessage(t *testing.T) {
	t.Parallel()
	a, c := newApp(t), client(t)
	q := a.queue("q", model.Classic)
	into := resume.ImportPlan{Into: plan.Recipient{Queue: q}, Undelays: true}
	account, err := c.Import(t.Context(), into, func(add func(*message.Message) error) error {
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
	}, nil)
	must.Do(t, err)
	wantOutcome(t, account, outcome{Planned: 6, Moved: 4, Refused: 2})
	assert.That(t, len(account.Problems) == 2 && strings.Contains(account.Problems[0].Reason, "expiration"),
		"%+v", account.Problems)
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
	var connect *model.ConnectError
	app := newApp(t)
	app.until(func() error { // until the client has noticed the cut
		if err := c.Check(t.Context(), ""); !errors.As(err, &connect) {
			return fmt.Errorf("it said: %w", err)
		}
		return nil
	})
	assert.That(t, connect.Kind == model.TwoBrokers && strings.Contains(connect.Cause, "belonged to"), "%+v", connect)
	cable.lead(t, node)
	assert.Succeeds(t, c.Check(t.Context(), ""))
}

// rawAMQP is an application that speaks AMQP without a client library: it publishes and receives headers as bytes.
type rawAMQP struct {
	testing.TB
	conn   net.Conn
	reader *bufio.Reader
}

type rawFrame struct {
	kind    byte
	payload []byte
}

// dialNode is a fresh connection on which nothing was sent.
func dialNode(t testing.TB, n *demo.Node) net.Conn {
	t.Helper()
	u := must.Get(url.Parse(n.AMQP()))(t)
	conn := must.Get(net.Dial("tcp", u.Host))(t)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func newRaw(t testing.TB, n *demo.Node) *rawAMQP {
	t.Helper()
	conn := dialNode(t, n)
	r := &rawAMQP{TB: t, conn: conn, reader: bufio.NewReader(conn)}
	r.write([]byte("AMQP\x00\x00\x09\x01"))
	r.read(10<<16 | 10) // connection.start
	r.method(0, 10<<16|11, longText(""), shortText("PLAIN"), longText("\x00guest\x00guest"), shortText("en_US"))
	r.read(10<<16 | 30) // tune
	r.method(0, 10<<16|31, []byte{0, 10, 0, 2, 0, 0, 0, 0})
	r.method(0, 10<<16|40, shortText("/"), shortText(""), []byte{0})
	r.read(10<<16 | 41)
	r.method(1, 20<<16|10, shortText(""))
	r.read(20<<16 | 11)
	r.method(1, 85<<16|10, []byte{0}) // confirm.select
	r.read(85<<16 | 11)
	return r
}

func shortText(s string) []byte { return append([]byte{byte(len(s))}, s...) }
func longText(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

func (r *rawAMQP) write(b []byte) {
	r.Helper()
	must.Get(r.conn.Write(b))(r)
}

func rawFrameOf(kind byte, channel uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{kind}, channel)
	return append(append(binary.BigEndian.AppendUint32(b, uint32(len(payload))), payload...), 0xCE)
}

func (r *rawAMQP) method(channel uint16, method uint32, arguments ...[]byte) {
	r.Helper()
	r.write(rawFrameOf(1, channel, append(binary.BigEndian.AppendUint32(nil, method), bytes.Join(arguments, nil)...)))
}

func (r *rawAMQP) frame() rawFrame {
	r.Helper()
	_ = r.conn.SetReadDeadline(time.Now().Add(patience))
	for {
		head := make([]byte, 7)
		must.Get(io.ReadFull(r.reader, head))(r)
		payload := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		must.Get(io.ReadFull(r.reader, payload))(r)
		if head[0] != 8 {
			return rawFrame{head[0], payload[:len(payload)-1]}
		}
	}
}

// read reads the next method, which must be one of these, and returns which.
func (r *rawAMQP) read(wanted ...uint32) uint32 {
	r.Helper()
	f := r.frame()
	method := binary.BigEndian.Uint32(f.payload)
	must.That(r, f.kind == 1 && slices.Contains(wanted, method), "the broker said %q", f.payload)
	return method
}

// publish publishes a message with an encoded table, and waits for its confirm.
func (r *rawAMQP) publish(exchange, key, id string, table, body []byte) {
	r.Helper()
	const flags = 1<<13 | 1<<12 | 1<<7 // headers, delivery mode, message id
	properties := append(binary.BigEndian.AppendUint16(nil, flags), longText(string(table))...)
	r.publishWith(exchange, key, append(append(properties, 2), shortText(id)...), body)
}

// publishWith publishes a message with encoded properties, flags first, and waits for its confirm.
func (r *rawAMQP) publishWith(exchange, key string, properties, body []byte) {
	r.Helper()
	r.method(1, 60<<16|40, []byte{0, 0}, shortText(exchange), shortText(key), []byte{0})
	header := binary.BigEndian.AppendUint64([]byte{0, 60, 0, 0}, uint64(len(body)))
	r.write(rawFrameOf(2, 1, append(header, properties...)))
	for len(body) > 0 {
		n := min(len(body), 131072-8)
		r.write(rawFrameOf(3, 1, body[:n]))
		body = body[n:]
	}
	r.read(60<<16 | 80)
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
		r.method(1, 60<<16|70, []byte{0, 0}, shortText(queue), []byte{1})
		if r.read(60<<16|71, 60<<16|72) == 60<<16|72 {
			return all
		}
		header := r.frame().payload
		size, flags, properties := binary.BigEndian.Uint64(header[4:]), binary.BigEndian.Uint16(header[12:]), header[14:]
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
			m.table, properties = properties[4:4+n], properties[4+n:]
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
			m.body = append(m.body, r.frame().payload...)
		}
		all = append(all, m)
	}
}

// sorted is a table with its entries sorted by name at every depth, for comparison. Entries with the same name keep
// their order, and those in without are left out. It is independent of the code under test.
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
		out = append(append(out, shortText(e.name)...), e.value...)
	}
	return out
}

func inOrder(t testing.TB, value []byte) []byte {
	t.Helper()
	switch value[0] {
	case 'F':
		return append([]byte("F"), longText(string(sorted(t, value[5:])))...)
	case 'A':
		out, rest := []byte{}, value[5:]
		for len(rest) > 0 {
			n := sizeOf(t, rest)
			out = append(out, inOrder(t, rest[:n])...)
			rest = rest[n:]
		}
		return append([]byte("A"), longText(string(out))...)
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

// oddTables are tables that RabbitMQ accepts and that amqp091-go 1.16 reads, writes or keeps differently, or not at
// all.
func oddTables() map[string][]byte {
	entry := func(name string, value ...byte) []byte { return append(shortText(name), value...) }
	text := func(s string) []byte { return append([]byte{'S'}, longText(s)...) }
	nested := func(depth int) []byte {
		value := text("deep")
		for range depth {
			value = append([]byte{'F'}, longText(string(entry("t", value...)))...)
		}
		return entry("n", value...)
	}
	many := func(n int, value ...byte) (b []byte) {
		for i := range n {
			b = append(b, entry(fmt.Sprintf("h%05d", i), value...)...)
		}
		return b
	}
	full, none := bytes.Repeat([]byte{0xff}, 8), make([]byte, 8)
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
		"bytes":            entry("n", append([]byte{'x'}, longText("\xff\x00\x1b")...)...),
		"void":             entry("n", 'V'),
		"a long name":      entry(string(bytes.Repeat([]byte("k"), 255)), text("a")...),
		"before 1970":      entry("n", append([]byte{'T'}, full...)...),
		"the last second":  entry("n", append([]byte{'T', 0x7f}, full[1:]...)...),
		"no UTF-8":         entry("\xff\x9b31m", text("\xff\x9b31m")...),
		"decimal":          entry("n", 'D', 0xff, 0x80, 0, 0, 0),
		"array of 20000":   entry("a", append([]byte{'A'}, longText(string(bytes.Repeat([]byte("t\x01"), 20000)))...)...),
		"5000 headers":     many(5000, 'I', 0, 0, 0, 1),
		"9000 headers":     many(9000, 'I', 0, 0, 0, 1),
		"10001 headers":    many(10001, 't', 1),
		"almost one frame": entry("n", text(string(bytes.Repeat([]byte("x"), 131072-8-14-4-7-1-20)))...),
	}
}
