package cause

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Earlier is what is kept of a reading of a queue: when it was read, and of how many messages the causes are known.
type Earlier struct {
	At       time.Time // when the look began
	Depth    int64     // messages of the queue, as the look counted them
	Messages int       // of these, what is kept
}

// countsLate is how old the counts of the statistics are, at most, and how long a look may have taken.
const countsLate = 10 * time.Second

// Left reports whether messages have left the queue since, as it was counted: which ones is unknown, so nothing of the
// reading holds any more. A count that may be older than the reading says nothing.
func (e Earlier) Left(ready model.Opt[int64], countedAt time.Time) bool {
	now, known := ready.Get()
	return known && countedAt.Sub(e.At) >= countsLate && now < e.Depth
}

// IndexName is the name of what is kept of a queue: the same on every machine, and without the queue's own name.
func IndexName(broker string, queue model.QueueRef) string {
	sum := sha256.Sum256([]byte(broker + "\x00" + queue.VHost + "\x00" + queue.Name))
	return hex.EncodeToString(sum[:16])
}

const (
	indexMagic = "dlxtop causes 4\n" // with the FingerprintKind; what begins otherwise is foreign, or of another version
	mostKept   = 100_000             // messages of one queue: 4 MB
)

// errIndex is that what is kept of a queue is damaged, foreign, of another version or of another queue.
var errIndex = errors.New("not what this version keeps of that queue")

// Keep is what a later start needs to show the causes of a queue's messages before it has read them again: their
// fingerprints, causes, workers and times. No text of theirs but the causes' is in it. It is nil of a queue without
// messages, and of one whose causes were made coarser: read alone, they may be told apart.
func (g *Groups) Keep(broker string, queue model.QueueRef, e Earlier) []byte {
	q := g.queues[queue]
	if q == nil {
		return nil
	}
	all := q.ordered()
	if len(all) > 0 && all[len(all)-1].of.cause.Level != Whole {
		return nil
	}
	var texts table[string]
	var causes table[Cause]
	var members []byte
	e.Messages = min(len(all), mostKept)
	for _, m := range all[:e.Messages] {
		members = append(members, m.fingerprint[:]...)
		members = binary.AppendUvarint(members, causes.of(m.of.cause))
		members = binary.AppendUvarint(members, texts.of(m.worker))
		members = binary.AppendVarint(members, m.first)
		members = binary.AppendVarint(members, m.last-m.first)
		members = binary.BigEndian.AppendUint64(members, m.original)
	}
	var named []byte
	for _, c := range causes.list {
		for _, part := range [...]string{string(c.Evidence), c.Kind, c.Text, c.Frame, c.Queue} {
			named = binary.AppendUvarint(named, texts.of(part))
		}
	}
	out := []byte(indexMagic)
	for _, text := range [...]string{broker, queue.VHost, queue.Name} {
		out = appendText(out, text)
	}
	out = binary.AppendVarint(out, e.At.UnixMilli())
	out = binary.AppendUvarint(out, uint64(max(e.Depth, 0)))
	out = binary.AppendUvarint(out, uint64(len(texts.list)))
	for _, text := range texts.list {
		out = appendText(out, text)
	}
	out = append(binary.AppendUvarint(out, uint64(len(causes.list))), named...)
	out = append(binary.AppendUvarint(out, uint64(e.Messages)), members...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

// keptMember is a message with its group as it is now.
type keptMember struct {
	member
	fingerprint message.Fingerprint
	of          *group
}

// ordered are the messages in the order of their causes, those of coarse causes last.
func (q *queueMessages) ordered() []keptMember {
	all := make([]keptMember, 0, len(q.members))
	for fingerprint, twins := range q.members {
		for _, in := range twins {
			all = append(all, keptMember{in, fingerprint, in.group.current()})
		}
	}
	slices.SortFunc(all, func(a, b keptMember) int {
		return cmp.Or(cmp.Compare(min(a.of.cause.Level, FirstWords), min(b.of.cause.Level, FirstWords)),
			cmp.Compare(a.of.order, b.of.order), bytes.Compare(a.fingerprint[:], b.fingerprint[:]))
	})
	return all
}

// Recall adds what was kept of a queue, of which nothing else was read. On an error nothing is added.
func (g *Groups) Recall(kept []byte, broker string, queue model.QueueRef) (Earlier, error) {
	n := len(kept) - crc32.Size
	if n < len(indexMagic) || string(kept[:len(indexMagic)]) != indexMagic ||
		binary.BigEndian.Uint32(kept[n:]) != crc32.ChecksumIEEE(kept[:n]) {
		return Earlier{}, errIndex
	}
	r := indexReader{rest: kept[len(indexMagic):n]}
	if r.text() != broker || r.text() != queue.VHost || r.text() != queue.Name {
		return Earlier{}, errIndex
	}
	e := Earlier{At: time.UnixMilli(r.signed()).UTC(), Depth: int64(r.number(1 << 62))}
	texts := make([]string, r.count(1))
	for i := range texts {
		texts[i] = r.text()
	}
	causes := make([]Cause, r.count(5))
	for i := range causes {
		of := func() string { return at(texts, &r) }
		causes[i] = Cause{Evidence: Evidence(of()), Kind: of(), Text: of(), Frame: of(), Queue: of()}
		switch causes[i].Evidence {
		case ByError, ByDeath, Nothing:
		default:
			r.bad = true
		}
	}
	e.Messages = r.count(len(message.Fingerprint{}) + 4 + 8)
	read := make([]recalled, e.Messages)
	for i := range read {
		m := &read[i]
		copy(m.fingerprint[:], r.take(len(m.fingerprint)))
		m.cause = r.number(uint64(max(len(causes), 1)) - 1)
		m.worker = at(texts, &r)
		m.first = r.signed()
		m.last = m.first + r.signed()
		if original := r.take(8); original != nil {
			m.original = binary.BigEndian.Uint64(original)
		}
	}
	if r.bad || len(r.rest) > 0 || e.Messages > 0 && len(causes) == 0 {
		return Earlier{}, errIndex
	}
	g.recall(queue, causes, read)
	return e, nil
}

// recalled is one message of an index.
type recalled struct {
	fingerprint message.Fingerprint
	cause       uint64
	worker      string
	first, last int64
	original    uint64
}

func (g *Groups) recall(queue model.QueueRef, causes []Cause, read []recalled) {
	groups := make([]*group, len(causes))
	for _, m := range read {
		at := groups[m.cause]
		if at == nil {
			at = g.place(causes[m.cause])
			groups[m.cause] = at
		}
		if at = at.current(); at.messages == 0 {
			at.sample, at.untold = Sample{Queue: queue, Fingerprint: m.fingerprint}, true
		}
		g.put(queue, m.fingerprint, member{
			group: at, worker: m.worker, first: m.first, last: m.last, original: m.original,
		})
	}
}

// table numbers values.
type table[T comparable] struct {
	list  []T
	index map[T]uint64
}

func (t *table[T]) of(value T) uint64 {
	n, known := t.index[value]
	if !known {
		if t.index == nil {
			t.index = map[T]uint64{}
		}
		n = uint64(len(t.list))
		t.list, t.index[value] = append(t.list, value), n
	}
	return n
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// indexReader reads an index that may be damaged: then bad is set, and all else that it brings is nothing.
type indexReader struct {
	rest []byte
	bad  bool
}

// take takes the next n bytes; nil when there are fewer.
func (r *indexReader) take(n int) []byte {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

// number is a number that is at most so large.
func (r *indexReader) number(most uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most {
		r.bad = true
		return 0
	}
	r.take(size)
	return n
}

func (r *indexReader) signed() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.bad = true
		return 0
	}
	r.take(size)
	return n
}

// count is a number of things, each of at least this size in bytes.
func (r *indexReader) count(size int) int {
	n := r.number(uint64(len(r.rest) / size))
	if r.bad {
		return 0
	}
	return int(n)
}

func (r *indexReader) text() string { return string(r.take(r.count(1))) }

// at is one of several texts.
func at(texts []string, r *indexReader) string {
	n := r.number(uint64(len(texts)))
	if r.bad || n >= uint64(len(texts)) {
		r.bad = true
		return ""
	}
	return texts[n]
}
