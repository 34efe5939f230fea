package wire

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/must"
)

// peer is the far end of a Conn. It speaks just enough AMQP to hand amqp091-go any header, and to take what it
// publishes: a broker would refuse most of them.
type peer struct {
	testing.TB
	conn    net.Conn
	reader  *bufio.Reader
	wire    *Conn
	channel *amqp.Channel

	next      []byte // the table of the message that is handed out next
	gets      int
	published chan []byte // content headers
}

func newPeer(t testing.TB) *peer {
	near, far := net.Pipe()
	p := &peer{TB: t, conn: far, reader: bufio.NewReader(far), published: make(chan []byte, 1)}
	p.wire = newConn(near, time.Minute)
	go p.serve()
	connection, err := amqp.Open(p.wire, amqp.Config{
		SASL: []amqp.Authentication{&amqp.PlainAuth{}}, Vhost: "/", Locale: "en_US", FrameSize: 131072,
	})
	must.Do(t, err)
	t.Cleanup(func() {
		_ = connection.CloseDeadline(time.Now().Add(time.Second))
		far.Close()
	})
	if p.channel, err = connection.Channel(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *peer) method(channel uint16, id uint32, arguments string) []byte {
	return appendFrame(nil, frameMethod, binary.BigEndian.AppendUint16(nil, channel), func(b []byte) []byte {
		return append(binary.BigEndian.AppendUint32(b, id), arguments...)
	})
}

// serve answers until the connection ends.
func (p *peer) serve() {
	if _, err := io.ReadFull(p.reader, make([]byte, 8)); err != nil {
		return
	}
	answer := p.method(0, 10<<16|10, "\x00\x09\x00\x00\x00\x00\x00\x00\x00\x05PLAIN\x00\x00\x00\x05en_US")
	for {
		if len(answer) > 0 {
			if _, err := p.conn.Write(answer); err != nil {
				return
			}
		}
		head := make([]byte, frameHead)
		if _, err := io.ReadFull(p.reader, head); err != nil {
			return
		}
		payload := make([]byte, binary.BigEndian.Uint32(head[3:])+1)
		if _, err := io.ReadFull(p.reader, payload); err != nil {
			return
		}
		answer = nil
		if head[0] == frameHeader {
			p.published <- payload[:len(payload)-1]
		}
		if head[0] != frameMethod {
			continue
		}
		switch binary.BigEndian.Uint32(payload) {
		case 10<<16 | 11: // start-ok: tune
			answer = p.method(0, 10<<16|30, "\x00\x08\x00\x02\x00\x00\x00\x00")
		case 10<<16 | 40:
			answer = p.method(0, 10<<16|41, "\x00")
		case 10<<16 | 50:
			answer = p.method(0, 10<<16|51, "")
		case 20<<16 | 10:
			answer = p.method(1, 20<<16|11, "\x00\x00\x00\x00")
		case 60<<16 | 70: // get: a message with all that surrounds the table, and a body in one frame or two
			answer = p.method(1, 60<<16|71, "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01e\x01k\x00\x00\x00\x00")
			answer = append(answer, headerFrame(p.next)...)
			halves := [][]byte{[]byte("half"), []byte("half")}
			if p.gets++; p.gets%2 == 0 {
				halves = [][]byte{[]byte("halfhalf")}
			}
			for _, half := range halves {
				answer = appendFrame(answer, frameBody, []byte{0, 1}, func(b []byte) []byte { return append(b, half...) })
			}
		}
	}
}

// headerFrame is a content header frame with a table, of a message with a body of 8 bytes.
func headerFrame(table []byte) []byte {
	return appendFrame(nil, frameHeader, []byte{0, 1}, func(b []byte) []byte {
		// Content type and encoding, headers, delivery mode, message id.
		b = append(b, 0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0xF0, 0x80)
		b = append(b, "\x04text\x00"...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(table))), table...)
		return append(b, "\x02\x02id"...)
	})
}
