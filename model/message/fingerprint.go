package message

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"dlxtop/model"
)

// Fingerprint identifies a message by everything that its publisher set, and by nothing that a peek changes: exchange,
// routing key, properties, headers (without the broker's counters of deliveries) and body. Two messages with the same
// fingerprint are twins: acting on either is the same.
type Fingerprint [16]byte

// String is the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// MarshalText writes what String shows.
func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what String shows. The error is one sentence.
func (f *Fingerprint) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(f) {
		return fmt.Errorf("%s is not a fingerprint", Excerpt(string(text)))
	}
	if _, err := hex.Decode(f[:], text); err != nil {
		return fmt.Errorf("%s is not a fingerprint", Excerpt(string(text)))
	}
	return nil
}

// DeliveryCounters are headers that a quorum queue adds on its way out and counts up at each delivery.
var DeliveryCounters = []string{"x-delivery-count", "x-acquired-count"}

// FingerprintOf computes the fingerprint of a message whose body is present.
func FingerprintOf(m *Message) Fingerprint {
	w := NewFingerprinter()
	w.Text(m.Exchange)
	w.Text(m.RoutingKey)
	p := &m.Properties
	for _, s := range [...]string{
		p.ContentType, p.ContentEncoding, p.CorrelationID, p.ReplyTo, p.Expiration, p.MessageID, p.Type, p.UserID, p.AppID,
	} {
		w.Text(s)
	}
	w.Number('p', uint64(p.DeliveryMode)<<8|uint64(p.Priority))
	w.Value(p.Timestamp)
	w.Table(m.Headers, DeliveryCounters)
	return w.Sum(m.Body)
}

// fingerprinter writes each value with its type and length in front, so that no two different messages write the same.
// It writes into memory first: a hash takes one long text much faster than many short ones.
type fingerprinter struct {
	written []byte
	keys    []string
}

// smallBody is a body that is copied, in bytes: for a larger one a second call of the hash takes less time.
const smallBody = 4 << 10

var fingerprints = sync.Pool{New: func() any { return &fingerprinter{} }}

// NewFingerprinter begins a fingerprint; its Sum gives back the memory that it used.
func NewFingerprinter() *fingerprinter {
	w := fingerprints.Get().(*fingerprinter)
	w.written = w.written[:0]
	return w
}

// Sum is the fingerprint of all that was written, and of a body behind it. Nothing more can be written.
func (w *fingerprinter) Sum(body []byte) Fingerprint {
	defer fingerprints.Put(w)
	w.Number('b', uint64(len(body)))
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

// Number writes a number behind the letter of its kind.
func (w *fingerprinter) Number(kind byte, n uint64) {
	w.written = binary.BigEndian.AppendUint64(append(w.written, kind), n)
}

func (w *fingerprinter) bytes(kind byte, b []byte) {
	w.Number(kind, uint64(len(b)))
	w.written = append(w.written, b...)
}

// Text writes a text behind its length, in bytes.
func (w *fingerprinter) Text(s string) {
	w.Number('s', uint64(len(s)))
	w.written = append(w.written, s...)
}

// Table writes a table, sorted by its keys, but those of without.
func (w *fingerprinter) Table(t model.Table, without []string) {
	first := len(w.keys) // those before are of the table around this one
	for k := range t {
		if !slices.Contains(without, k) {
			w.keys = append(w.keys, k)
		}
	}
	keys := w.keys[first:]
	slices.Sort(keys)
	w.Number('F', uint64(len(keys)))
	for _, k := range keys {
		w.Text(k)
		w.Value(t[k])
	}
	clear(keys)
	w.keys = w.keys[:first]
}

// Value writes a value of a table with its AMQP type.
func (w *fingerprinter) Value(v any) {
	switch v := v.(type) {
	case nil:
		w.Number('V', 0)
	case bool:
		n := uint64(0)
		if v {
			n = 1
		}
		w.Number('t', n)
	case string:
		w.Text(v)
	case []byte:
		w.bytes('x', v)
	case float64:
		w.Number('d', math.Float64bits(v))
	case float32:
		w.Number('f', uint64(math.Float32bits(v)))
	case model.Decimal:
		w.Number('D', uint64(v.Scale)<<32|uint64(uint32(v.Value)))
	case time.Time:
		n := uint64(0)
		if !v.IsZero() {
			n = uint64(v.Unix())
		}
		w.Number('T', n)
	case model.Table:
		w.Table(v, nil)
	case []any:
		w.list('A', v)
	case model.Repeated:
		w.list('R', v)
	case model.RawValue:
		w.Number('?', uint64(v.Type))
		w.bytes('x', v.Bytes)
	case uint64:
		w.Value(int64(v)) // a quorum queue makes a signed one of it, and so does every broker from 4.0 on
	default:
		if n, ok := model.AsInteger(v); ok {
			w.Text(fmt.Sprintf("%T", v))
			w.Number('i', uint64(n))
			return
		}
		w.Text(fmt.Sprintf("%T %v", v, v))
	}
}

func (w *fingerprinter) list(kind byte, values []any) {
	w.Number(kind, uint64(len(values)))
	for _, v := range values {
		w.Value(v)
	}
}
