package spool

import (
	"encoding/binary"
	"errors"

	"github.com/dlxtop/dlxtop/broker/wire"
	"github.com/dlxtop/dlxtop/model/message"
)

// A record is a message in a spool: everything but its position and fingerprint. Properties and headers are encoded as
// in AMQP; the body comes last, without a length: it extends to the end of the record.

// appendHead appends all of a record but the body.
func appendHead(b []byte, m *message.Message) []byte {
	redelivered := byte(0)
	if m.Redelivered {
		redelivered = 1
	}
	b = append(b, redelivered)
	for _, text := range []string{m.Exchange, m.RoutingKey} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return wire.AppendProperties(b, &m.Properties, m.Headers)
}

// errRecord: a record cannot be decoded. No other program can write to a spool, so the disk must be at fault.
var errRecord = errors.New("the stored copy of it is damaged")

// parseHead decodes the output of appendHead, which must be all of b.
func parseHead(b []byte) (m message.Message, err error) {
	if len(b) == 0 {
		return m, errRecord
	}
	m.Redelivered, b = b[0] != 0, b[1:]
	for _, text := range []*string{&m.Exchange, &m.RoutingKey} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return message.Message{}, errRecord
		}
		*text, b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	var ok bool
	if m.Properties, m.Headers, ok = wire.ReadProperties(b); !ok {
		return message.Message{}, errRecord
	}
	return m, nil
}
