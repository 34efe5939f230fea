package broker_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

func skipUnlessConverted(t *testing.T) {
	t.Helper()
	if !model.ParseVersion(node.Version()).AtLeast(4, 0) {
		t.Skip("before RabbitMQ 4 they are converted when they are published")
	}
}

// sendAMQP10 publishes messages to a queue of RabbitMQ 4 over AMQP 1.0. Each message is its encoded sections.
func sendAMQP10(t testing.TB, n *demo.Node, queue string, messages ...[]byte) {
	t.Helper()
	conn := dialNode(t, n)
	_ = conn.SetDeadline(time.Now().Add(patience))
	reader := bufio.NewReader(conn)
	read := func(performative byte) { // skips frames before it
		t.Helper()
		for {
			head := make([]byte, 8)
			must.Get(io.ReadFull(reader, head))(t)
			if string(head[:4]) == "AMQP" {
				continue
			}
			payload := make([]byte, binary.BigEndian.Uint32(head)-8)
			must.Get(io.ReadFull(reader, payload))(t)
			if len(payload) > 2 && payload[2] == performative {
				return
			}
			if len(payload) > 2 && payload[2] >= 0x16 && payload[2] <= 0x18 { // detach, end, close
				t.Fatalf("the broker said %q", payload)
			}
		}
	}

	send := func(kind, performative byte, payload []byte, fields ...[]byte) {
		t.Helper()
		body := append(described10(performative, list10(fields...)), payload...)
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+8)), 2, kind, 0, 0)
		must.Get(conn.Write(append(frame, body...)))(t)
	}

	text := func(code byte, s string) []byte { return append([]byte{code, byte(len(s))}, s...) }
	number := func(n byte) []byte { return []byte{0x52, n} }
	null, no := []byte{0x40}, []byte{0x42}
	_, _ = conn.Write([]byte("AMQP\x03\x01\x00\x00"))
	send(1, 0x41, nil, text(0xa3, "PLAIN"), text(0xa0, "\x00guest\x00guest")) // init
	read(0x44)                                                                // outcome
	_, _ = conn.Write([]byte("AMQP\x00\x01\x00\x00"))
	send(0, 0x10, nil, text(0xa1, "test"))                              // open
	send(0, 0x11, nil, null, number(0), number(100), number(100))       // begin
	target := described10(0x29, list10(text(0xa1, "/queues/"+queue)))   // queues' names need no escapes here
	send(0, 0x12, nil, text(0xa1, "sender"), number(0), no, null, null, // attach
		described10(0x28, list10()), target, null, null, number(0))
	read(0x13) // flow

	for i, one := range messages {
		send(0, 0x14, one, number(0), number(byte(i)), text(0xa0, string(rune('a'+i))), number(0), no) // transfer
		read(0x15)                                                                                     // disposition
	}
}

func described10(code byte, value []byte) []byte { return append([]byte{0, 0x53, code}, value...) }

func list10(fields ...[]byte) []byte {
	all := bytes.Join(fields, nil)
	head := binary.BigEndian.AppendUint32([]byte{0xd0}, uint32(len(all)+4))
	return append(binary.BigEndian.AppendUint32(head, uint32(len(fields))), all...)
}

// unconvertible returns a message that RabbitMQ 4 cannot deliver over AMQP 0-9-1: it has a UUID in its application
// properties.
func unconvertible() []byte {
	id := append([]byte{0xa1, 1, 'u', 0x98}, make([]byte, 16)...)
	properties := append([]byte{0xc1, byte(len(id) + 1), 2}, id...)
	return append(described10(0x74, properties), described10(0x75, []byte{0xa0, 3, 'b', 'a', 'd'})...)
}

// RabbitMQ 4 gives dlxtop less than an AMQP 1.0 client sent, so a plan, its account and an undo say so for messages
// that show it; a delay that this version does not support stays as it is.
func TestPartsOfAMQP10(t *testing.T) {
	skipUnlessConverted(t)
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		a := newApp(t)
		q := a.queue("q", kind)
		other := a.queue("other", kind)
		c, j := journaled(t, false)
		at := binary.BigEndian.AppendUint64([]byte{0x80}, uint64(time.Now().Add(time.Hour).UnixMilli()))
		data := described10(0x75, []byte{0xa0, 1, 'x'})
		sendAMQP10(t, node, q.Name,
			append(described10(0x73, list10([]byte{0xa0, 2, 1, 0xff})), data...), // an id of two bytes
			described10(0x77, []byte{0xa1, 4, 't', 'e', 'x', 't'}),               // a value as body
			append(described10(0x72, map10("x-opt-delivery-time", at)), data...), // an annotation
			append(described10(0x73, list10([]byte{0x40}, []byte{0x40}, []byte{0x40}, // a subject shows nothing
				[]byte{0xa1, 1, 's'})), data...))

		a.await(q, 4)

		says := func(warnings []plan.Warning) {
			t.Helper()
			for _, w := range warnings {
				if w.Words() == plan.ConvertedWords(3) {
					return
				}
			}
			t.Error(warnings)
		}

		sample := lookAt(t, c, q, peek.Want{}).Messages
		drop := planned(t, topology([]*model.Queue{q}), plan.ActionWant{
			Operation: plan.Drop, From: q.QueueRef, Selection: those(sample), Sample: message.MessageList(sample),
			Planned: 4, Options: plan.Options{Insist: true}, Journaled: true,
		})

		says(drop.Warnings)
		account := execute(t, c, drop)
		assert.Equal(t, account.Dropped, 4, "%+v", account)
		assert.Equal(t, account.Converted, 3)
		says(planUndo(t, c, j, account.JournalID, q).Warnings)
		undo(t, c, j, account.JournalID, q)
		a.await(q, 4)

		sample = lookAt(t, c, q, peek.Want{}).Messages
		move := movePlan(t, sample, q, other)
		says(move.Warnings)
		account = execute(t, c, move)
		assert.Equal(t, account.Moved, 4, "%+v", account)
		assert.Equal(t, account.Converted, 3)
		a.await(other, 4)

		for _, m := range lookAt(t, c, other, peek.Want{}).Messages {
			if at, ok := message.DeliveryTime(m.Headers); ok && at.After(time.Now()) {
				return
			}
		}

		t.Error("the time of delivery was taken off, where RabbitMQ does not look at it")
	})
}

// map10 returns a map of one symbol.
func map10(key string, value []byte) []byte {
	entry := append(append([]byte{0xa3, byte(len(key))}, key...), value...)
	return append([]byte{0xc1, byte(len(entry) + 1), 2}, entry...)
}
