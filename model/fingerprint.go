package model

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Fingerprint identifies a message by everything that its publisher set, and by nothing that a peek changes: exchange,
// routing key, properties, headers (without the broker's counters of deliveries) and body. Two messages with the same
// fingerprint are twins: acting on either is the same.
type Fingerprint [16]byte

// String is the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// deliveryCounters are headers that a quorum queue adds on its way out and counts up at each delivery.
var deliveryCounters = []string{"x-delivery-count", "x-acquired-count"}

// FingerprintOf computes the fingerprint of a message whose body is present.
func FingerprintOf(m *Message) Fingerprint {
	w := newFingerprinter()
	w.text(m.Exchange)
	w.text(m.RoutingKey)
	p := &m.Properties
	for _, s := range [...]string{
		p.ContentType, p.ContentEncoding, p.CorrelationID, p.ReplyTo, p.Expiration, p.MessageID, p.Type, p.UserID, p.AppID,
	} {
		w.text(s)
	}
	w.number('p', uint64(p.DeliveryMode)<<8|uint64(p.Priority))
	w.value(p.Timestamp)
	w.table(m.Headers, deliveryCounters)
	return w.sum(m.Body)
}

// fingerprinter writes each value with its type and length in front, so that no two different messages write the same. It writes into
// memory first: a hash takes one long text much faster than many short ones.
type fingerprinter struct {
	written []byte
	keys    []string
}

// smallBody is a body that is copied, in bytes.
const smallBody = 16 << 10

var fingerprints = sync.Pool{New: func() any { return &fingerprinter{} }}

func newFingerprinter() *fingerprinter {
	w := fingerprints.Get().(*fingerprinter)
	w.written = w.written[:0]
	return w
}

// sum is the fingerprint of all that was written, and of a body behind it. Nothing more can be written.
func (w *fingerprinter) sum(body []byte) Fingerprint {
	defer fingerprints.Put(w)
	w.number('b', uint64(len(body)))
	var sum [sha256.Size]byte
	if len(body) <= smallBody {
		w.written = append(w.written, body...)
		sum = sha256.Sum256(w.written)
	} else {
		h := sha256.New()
		h.Write(w.written)
		h.Write(body)
		h.Sum(sum[:0])
	}
	return Fingerprint(sum[:len(Fingerprint{})])
}

func (w *fingerprinter) number(kind byte, n uint64) {
	w.written = binary.BigEndian.AppendUint64(append(w.written, kind), n)
}

func (w *fingerprinter) bytes(kind byte, b []byte) {
	w.number(kind, uint64(len(b)))
	w.written = append(w.written, b...)
}

func (w *fingerprinter) text(s string) {
	w.number('s', uint64(len(s)))
	w.written = append(w.written, s...)
}

func (w *fingerprinter) table(t Table, without []string) {
	first := len(w.keys) // those before are of the table around this one
	for k := range t {
		if !slices.Contains(without, k) {
			w.keys = append(w.keys, k)
		}
	}
	keys := w.keys[first:]
	slices.Sort(keys)
	w.number('F', uint64(len(keys)))
	for _, k := range keys {
		w.text(k)
		w.value(t[k])
	}
	clear(keys)
	w.keys = w.keys[:first]
}

func (w *fingerprinter) value(v any) {
	switch v := v.(type) {
	case nil:
		w.number('V', 0)
	case bool:
		n := uint64(0)
		if v {
			n = 1
		}
		w.number('t', n)
	case string:
		w.text(v)
	case []byte:
		w.bytes('x', v)
	case float64:
		w.number('d', math.Float64bits(v))
	case float32:
		w.number('f', uint64(math.Float32bits(v)))
	case Decimal:
		w.number('D', uint64(v.Scale)<<32|uint64(uint32(v.Value)))
	case time.Time:
		n := uint64(0)
		if !v.IsZero() {
			n = uint64(v.Unix())
		}
		w.number('T', n)
	case Table:
		w.table(v, nil)
	case []any:
		w.number('A', uint64(len(v)))
		for _, e := range v {
			w.value(e)
		}
	default:
		if n, ok := integer(v); ok {
			w.text(fmt.Sprintf("%T", v))
			w.number('i', uint64(n))
			return
		}
		w.text(fmt.Sprintf("%T %v", v, v))
	}
}
