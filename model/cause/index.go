package cause

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Earlier is an index's reading of a queue: when it was, and for how many messages the causes are known.
type Earlier struct {
	At       time.Time // when the reading began
	Depth    int64     // messages in the queue, as counted by it
	Messages int       // how many of them are kept
}

// Left reports whether messages have left the queue since, by its count: which ones is unknown, so the reading no
// longer holds. A count that may be older than the reading proves nothing.
func (e Earlier) Left(ready model.Opt[int64], countedAt time.Time) bool {
	return message.LeftSince(e.At, e.Depth, ready, countedAt)
}

// Index stores what was read of queues, each under a name. Load returns nil when there is nothing; saving nothing
// removes the entry.
type Index interface {
	Load(name string) ([]byte, error)
	Save(name string, text []byte) error
}

// Kept is what was read of a broker's failed queues, in an index. Without an index, or the broker's name, nothing is
// kept, and what cannot be written is read again.
type Kept struct {
	Index  Index
	Broker string // the name of its cluster
}

// Save keeps what the groups have of a queue; of one that they have forgotten, nothing.
func (k Kept) Save(g *Groups, queue model.QueueRef, e Earlier) {
	if k.Index != nil && k.Broker != "" {
		_ = k.Index.Save(indexName(k.Broker, queue), g.encode(k.Broker, queue, e))
	}
}

// Recall adds what was kept of a queue to the groups, unless messages have left it since, by a count.
func (k Kept) Recall(
	g *Groups, queue model.QueueRef, ready model.Opt[int64], countedAt time.Time,
) (e Earlier, ok bool) {
	if k.Index == nil || k.Broker == "" {
		return e, false
	}
	kept, err := k.Index.Load(indexName(k.Broker, queue))
	if err == nil {
		e, err = g.recall(kept, k.Broker, queue)
	}
	if err == nil && e.Left(ready, countedAt) {
		g.Forget(queue)
		k.Save(g, queue, e)
		return e, false
	}

	return e, err == nil
}

// indexName returns the name of a queue's index: the same on every machine, and without the queue's own name.
func indexName(broker string, queue model.QueueRef) string {
	sum := sha256.Sum256([]byte(broker + "\x00" + queue.VHost + "\x00" + queue.Name))
	return hex.EncodeToString(sum[:16])
}

const (
	indexMagic = "dlxtop causes 6\n" // includes the FingerprintKind; anything else is foreign, or of another version
	mostKept   = 100_000             // messages of one queue: 4 MB
)

// errIndex means that an index is damaged, foreign, or of another version or queue.
var errIndex = errors.New("not what this version keeps of that queue")

// index is what is kept of a queue. Its messages are stored in columns, which encoding/gob writes in a few bytes each.
type index struct {
	Broker       string
	Queue        model.QueueRef
	Earlier      Earlier
	Causes       []Cause
	Workers      []string
	Fingerprints []byte
	Cause        []int // by index in Causes
	Worker       []int
	First, Took  []int64 // ms
	Original     []uint64
}

// encode returns what a later start needs to show the causes of a queue before it has read the messages again: their
// fingerprints, causes, workers and times. It has no texts but those of causes. It returns nil for a queue without
// messages, and when its causes were made coarser: if read alone, they might be exact.
func (g *Groups) encode(broker string, queue model.QueueRef, e Earlier) []byte {
	q := g.queues[queue]
	if q == nil {
		return nil
	}
	all := q.ordered()
	if len(all) > 0 && all[len(all)-1].of.cause.Level != Whole {
		return nil
	}
	all = all[:min(len(all), mostKept)]
	x := index{Broker: broker, Queue: queue, Earlier: Earlier{e.At.UTC(), max(e.Depth, 0), len(all)}}
	var workers table[string]
	var causes table[Cause]
	for _, m := range all {
		x.Fingerprints = append(x.Fingerprints, m.fingerprint[:]...)
		x.Cause, x.Worker = append(x.Cause, causes.of(m.of.cause)), append(x.Worker, workers.of(m.worker))
		x.First = append(x.First, m.first)
		x.Took = append(x.Took, m.last-m.first)
		x.Original = append(x.Original, m.original)
	}

	x.Causes, x.Workers = causes.list, workers.list
	out := bytes.NewBufferString(indexMagic)
	if gob.NewEncoder(out).Encode(x) != nil {
		return nil // values of these types never fail
	}

	return binary.BigEndian.AppendUint32(out.Bytes(), crc32.ChecksumIEEE(out.Bytes()))
}

// keptMember is a message with its current group.
type keptMember struct {
	member
	fingerprint message.Fingerprint
	of          *group
}

// ordered returns the messages ordered by cause, coarse causes last.
func (q *queueMessages) ordered() []keptMember {
	all := make([]keptMember, 0, len(q.members))
	for fingerprint, in := range q.each() {
		all = append(all, keptMember{in, fingerprint, in.group.current()})
	}

	slices.SortFunc(all, func(a, b keptMember) int {
		return cmp.Or(cmp.Compare(min(a.of.cause.Level, FirstWords), min(b.of.cause.Level, FirstWords)),
			cmp.Compare(a.of.order, b.of.order), bytes.Compare(a.fingerprint[:], b.fingerprint[:]))
	})

	return all
}

// recall adds what was kept of a queue, of which nothing else may have been read. On an error nothing is added.
func (g *Groups) recall(kept []byte, broker string, queue model.QueueRef) (Earlier, error) {
	n := len(kept) - crc32.Size
	if n < len(indexMagic) || string(kept[:len(indexMagic)]) != indexMagic ||
		binary.BigEndian.Uint32(kept[n:]) != crc32.ChecksumIEEE(kept[:n]) {
		return Earlier{}, errIndex
	}
	var x index
	rest := bytes.NewReader(kept[len(indexMagic):n])
	if gob.NewDecoder(rest).Decode(&x) != nil || rest.Len() > 0 || x.Broker != broker || x.Queue != queue || !x.valid() {
		return Earlier{}, errIndex
	}
	groups := make([]*group, len(x.Causes))
	for i, c := range x.Cause {
		if groups[c] == nil {
			groups[c] = g.place(x.Causes[c])
		}
		at := groups[c].current()
		fingerprint := message.Fingerprint(x.Fingerprints[i*len(message.Fingerprint{}):])
		if at.messages == 0 {
			at.sample = Sample{}
			at.untold = true
		}

		g.put(queue, fingerprint, member{at, x.Workers[x.Worker[i]], x.First[i], x.First[i] + x.Took[i], x.Original[i]})
	}

	x.Earlier.At = x.Earlier.At.UTC()
	return x.Earlier, nil
}

// valid reports whether the columns are consistent.
func (x *index) valid() bool {
	n := x.Earlier.Messages
	beyond := func(length int) func(int) bool { return func(i int) bool { return i < 0 || i >= length } }

	return x.Earlier.Depth >= 0 && len(x.Fingerprints) == n*len(message.Fingerprint{}) && len(x.Cause) == n &&
		len(x.Worker) == n && len(x.First) == n && len(x.Took) == n && len(x.Original) == n &&
		!slices.ContainsFunc(x.Cause, beyond(len(x.Causes))) && !slices.ContainsFunc(x.Worker, beyond(len(x.Workers))) &&
		!slices.ContainsFunc(x.Causes, func(c Cause) bool {
			return c.Level != Whole || c.Evidence != ByError && c.Evidence != ByDeath && c.Evidence != Nothing
		})
}

// table assigns numbers to values.
type table[T comparable] struct {
	list  []T
	index map[T]int
}

func (t *table[T]) of(value T) int {
	n, known := t.index[value]
	if !known {
		n = len(t.list)
		t.list = append(t.list, value)
		model.Put(&t.index, value, n)
	}

	return n
}
