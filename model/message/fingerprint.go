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

	"github.com/dlxtop/dlxtop/model"
)

// Fingerprint identifies a message by everything that its publisher set and nothing that a peek changes: exchange,
// routing key, properties, headers (without the broker's delivery counters) and body. Two messages with the same
// fingerprint are twins: acting on either is the same. It is the beginning of a SHA-256 of all that; a body larger than
// smallBody is included by its length and SHA-256, so that for original and copy the body is hashed once.
type Fingerprint [16]byte

// Twins are how many messages there are of each fingerprint.
type Twins = map[Fingerprint]int

// FingerprintKind is the version of what a fingerprint is made of: fingerprints of another kind recognize no message.
// Store it with fingerprints that outlive the program. Kind 1 hashed a body of any size together with the rest.
const FingerprintKind = 2

func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// MarshalText writes what String shows.
func (f Fingerprint) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, f[:]), nil }

// UnmarshalText reads what String shows. The error is one sentence.
func (f *Fingerprint) UnmarshalText(text []byte) error {
	read, err := hex.DecodeString(string(text))
	if copy(f[:], read); err != nil || len(read) != len(f) {
		return valueError(Excerpt(string(text)) + " is not a fingerprint")
	}
	return nil
}

// DeliveryCounters are headers that a quorum queue adds to a delivery and increments each time.
var DeliveryCounters = []string{"x-delivery-count", "x-acquired-count"}

// FingerprintOf computes the fingerprint of a message whose body is present.
func FingerprintOf(m *Message) Fingerprint {
	return inFront(m.Exchange, m.RoutingKey, &m.Properties, m.Headers, isDeliveryCounter).Sum(m.Body)
}

// Identify sets the fingerprint of a message whose body is present, and keeps the hash of a large body for
// FingerprintOfCopy.
func (m *Message) Identify() {
	if m.hashed = nil; len(m.Body) > smallBody {
		m.hashed = &hashedBody{m.Body, sha256.Sum256(m.Body)}
	}
	m.Fingerprint = m.sum(inFront(m.Exchange, m.RoutingKey, &m.Properties, m.Headers, isDeliveryCounter), m.Body)
}

// FingerprintOfCopy computes the fingerprint of the message that a queue gets when p is published for m. It does not
// hash the body again when it is the one that m was identified with.
func (m *Message) FingerprintOfCopy(p *Publishing) Fingerprint {
	return m.sum(inFront(p.Exchange, p.RoutingKey, &p.Properties, p.Headers, isDeliveryCounter), p.Body)
}

func (m *Message) sum(w *fingerprinter, body []byte) Fingerprint {
	if m.hashed.equals(body) {
		return w.sumApart(len(body), &m.hashed.sum)
	}
	return w.Sum(body)
}

func (m *Message) DropBody() { m.Body, m.hashed = nil, nil }

// hashedBody is the hash of a large body, with that body: a message may get another one.
type hashedBody struct {
	body []byte
	sum  [sha256.Size]byte
}

// equals reports whether the hash belongs to a body: the same memory, which equals never written to.
func (h *hashedBody) equals(body []byte) bool {
	return h != nil && len(body) == len(h.body) && &body[0] == &h.body[0]
}

func isDeliveryCounter(key string) bool { return slices.Contains(DeliveryCounters, key) }

// inFront begins a message's fingerprint with everything in front of its body, except the headers in without.
func inFront(
	exchange, routingKey string, p *Properties, headers model.Table, without func(key string) bool,
) *fingerprinter {
	w := NewFingerprinter()
	w.Text(exchange)
	w.Text(routingKey)
	for _, f := range p.Fields() {
		if f.Text != nil && f.Flag != PropClusterID {
			w.Text(*f.Text)
		}
	}

	w.Number('p', uint64(p.DeliveryMode)<<8|uint64(p.Priority))
	w.Moment(p.Timestamp)
	w.Table(headers, without)

	// A message without these keeps the fingerprint from before they were included. An empty table of headers does not
	// count: a quorum queue puts its counters into it.
	if zeros := p.Zeros &^ PropHeaders; zeros != 0 || p.ClusterID != "" {
		w.Number('z', uint64(zeros))
		w.Text(p.ClusterID)
	}

	return w
}

// fingerprinter writes each value after its type and length, so that two different messages never write the same bytes.
// It buffers them: hashing one long text is much faster than many short ones.
type fingerprinter struct {
	written []byte
	keys    []string
}

// smallBody is the size in bytes up to which a body is copied and hashed with everything in front of it. A larger one
// is hashed separately. Changing it makes another FingerprintKind.
const smallBody = 512

var fingerprints = sync.Pool{New: func() any { return &fingerprinter{} }}

// NewFingerprinter begins a fingerprint; Sum releases its memory.
func NewFingerprinter() *fingerprinter {
	w := fingerprints.Get().(*fingerprinter)
	w.written = w.written[:0]
	return w
}

// Sum returns the fingerprint of everything written, followed by a body. Nothing can be written after it.
func (w *fingerprinter) Sum(body []byte) Fingerprint {
	if len(body) > smallBody {
		sum := sha256.Sum256(body)
		return w.sumApart(len(body), &sum)
	}
	w.Number('b', uint64(len(body)))
	w.written = append(w.written, body...)
	return w.end()
}

// sumApart is Sum for a large body that is already hashed: its size in bytes, and its SHA-256.
func (w *fingerprinter) sumApart(size int, sum *[sha256.Size]byte) Fingerprint {
	w.Number('b', uint64(size))
	w.written = append(w.written, sum[:]...)
	return w.end()
}

func (w *fingerprinter) end() Fingerprint {
	defer fingerprints.Put(w)
	sum := sha256.Sum256(w.written)
	return Fingerprint(sum[:len(Fingerprint{})])
}

// Number writes a number after the letter of its kind.
func (w *fingerprinter) Number(kind byte, n uint64) {
	w.written = binary.BigEndian.AppendUint64(append(w.written, kind), n)
}

// Text writes a text after its length in bytes.
func (w *fingerprinter) Text(s string) { writeSized(w, 's', s) }

func writeSized[T string | []byte](w *fingerprinter, kind byte, s T) {
	w.Number(kind, uint64(len(s)))
	w.written = append(w.written, s...)
}

// Moment writes a time, to the second.
func (w *fingerprinter) Moment(t time.Time) {
	n := uint64(0)
	if !t.IsZero() {
		n = uint64(t.Unix())
	}
	w.Number('T', n)
}

// Table writes a table sorted by key, leaving out the keys in without, which may be nil.
func (w *fingerprinter) Table(t model.Table, without func(key string) bool) {
	first := len(w.keys) // earlier ones belong to the surrounding table
	for k := range t {
		if without == nil || !without(k) {
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

// Value writes a table's value with its AMQP type.
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
		writeSized(w, 'x', v)
	case float64:
		w.Number('d', math.Float64bits(v))
	case float32:
		w.Number('f', uint64(math.Float32bits(v)))
	case model.Decimal:
		w.Number('D', uint64(v.Scale)<<32|uint64(uint32(v.Value)))

	case time.Time:
		w.Moment(v)
	case model.Table:
		w.Table(v, nil)
	case []any:
		w.list('A', v)
	case model.Repeated:
		w.list('R', v)
	case model.RawValue:
		w.Number('?', uint64(v.Type))
		writeSized(w, 'x', v.Bytes)
	case uint64:
		w.Value(int64(v)) // a quorum queue makes it signed, as does every broker from 4.0 on
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
