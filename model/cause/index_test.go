package cause

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

var earlier = Earlier{At: time.UnixMilli(1_700_000_000_123).UTC(), Depth: 7}

// keptMail are the causes of a queue, as they are kept.
func keptMail() (*Groups, []byte) {
	g := NewGroups()
	g.Add(mail, numbered(1, "no order 1", "mail", 50))
	g.Add(mail, numbered(2, "no order 2", "mail", 70))
	g.Add(mail, numbered(2, "no order 2", "mail", 70)) // a twin
	g.Add(mail, numbered(3, "smtp down", "", 0))
	m := numbered(4, "", "orders", 12)
	m.Headers = nil
	g.Add(mail, m)
	g.Add(stock, numbered(5, "no order 5", "stock", 90))
	return g, g.Keep("rabbit@one", mail, earlier)
}

func TestIndexKeepsNoValuesOfMessages(t *testing.T) {
	read, kept := keptMail()
	assert.That(t, !bytes.Contains(kept, []byte("no order 1")) && bytes.Contains(kept, []byte("no order #")),
		"it keeps %q", kept)
	g := NewGroups()
	g.Add(stock, numbered(5, "no order 5", "stock", 90))
	e, err := g.Recall(kept, "rabbit@one", mail)
	want := earlier
	want.Messages = 5
	if e != want || err != nil || g.Read() != 6 {
		t.Fatalf("it recalls %+v, %d messages: %v", e, g.Read(), err)
	}
	counts := func(g *Groups) map[ID]int {
		all := map[ID]int{}
		for _, at := range g.List() {
			all[at.ID] = at.Messages
		}
		return all
	}
	if got, want := counts(g), counts(read); !maps.Equal(got, want) || len(got) != 3 {
		t.Errorf("the causes are %v, not %v", got, want)
	}
	assert.That(t, bytes.Equal(read.Keep("rabbit@one", mail, earlier), kept), "the same is kept in two ways")
	if got := shown(g); !strings.HasPrefix(got, "no order # 4 mail.failed:3 stock.failed:1 mail=3 stock=1 50..90; ") {
		t.Errorf("the causes are %s", got)
	}
	assert.That(t, g.Remove(mail, message.Fingerprint{2, 0, 0, 1}) && !g.Remove(mail, message.Fingerprint{9}),
		"the fingerprints are not those of the messages")
	g.Forget(mail)
	assert.Equal(t, shown(g), "no order # 1 stock.failed:1 stock=1 90..90", "the rest")
}

// A message that is read brings the text that is not kept.
func TestRecalledSample(t *testing.T) {
	_, kept := keptMail()
	g := NewGroups()
	must.Get(g.Recall(kept, "rabbit@one", mail))(t)
	for _, at := range g.List() {
		assert.That(t, at.Sample.Text == "" && at.Sample.Queue == mail, "the sample of %s is %+v", at.Cause, at.Sample)
	}
	g.Add(stock, numbered(5, "no order 5", "stock", 90))
	for _, at := range g.List() {
		assert.That(t, at.Cause.Text != "no order #" || at.Sample.Text == "no order 5" && at.Sample.Queue == stock,
			"its sample is %+v", at.Sample)
	}
}

// What is damaged, foreign or of another queue adds nothing.
func TestRecallRefuses(t *testing.T) {
	_, kept := keptMail()
	g := NewGroups()
	refused := func(name string, text []byte, broker string, queue model.QueueRef) {
		t.Helper()
		if e, err := g.Recall(text, broker, queue); err == nil || e != (Earlier{}) || g.Read() != 0 || len(g.List()) != 0 {
			t.Fatalf("%s: %+v, %d messages: %v", name, e, g.Read(), err)
		}
	}
	for i := range kept {
		damaged := bytes.Clone(kept)
		damaged[i] ^= 0x40
		refused("damaged", damaged, "rabbit@one", mail)
		refused("cut", kept[:i], "rabbit@one", mail)
	}
	refused("another broker", kept, "rabbit@two", mail)
	refused("another queue", kept, "rabbit@one", stock)
	refused("longer", sealed(append(bytes.Clone(kept[:len(kept)-4]), 0)), "rabbit@one", mail)
	for _, other := range []string{"causes 3", "causes 5"} {
		text := bytes.Replace(kept[:len(kept)-4], []byte("causes 4"), []byte(other), 1)
		refused(other, sealed(text), "rabbit@one", mail)
	}
}

// sealed ends a text with its checksum.
func sealed(text []byte) []byte {
	return binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text))
}

// Causes that were made coarser among many others are not kept, nor is a queue without messages.
func TestNotKept(t *testing.T) {
	g := NewGroups()
	for i := range mostCauses + 1 {
		g.Add(mail, numbered(i, "OddError: no way to "+letters(i), "mail", 1))
	}
	g.Add(stock, numbered(1, "KeyError: lot", "stock", 1))
	assert.That(t, g.Keep("rabbit@one", mail, earlier) == nil && g.Keep("rabbit@one", stock, earlier) != nil,
		"what is coarse is kept, or what is exact is not")
	g.Forget(stock)
	assert.That(t, g.Keep("rabbit@one", stock, earlier) == nil, "an empty queue is kept")
}

// A very deep queue is kept in part: what is not kept was not read.
func TestKeepsSoMany(t *testing.T) {
	g := NewGroups()
	m := numbered(0, "smtp down", "mail", 1)
	for i := range mostKept + 10 {
		m.Fingerprint = message.Fingerprint{byte(i), byte(i >> 8), byte(i >> 16)}
		g.Add(mail, m)
	}
	kept := g.Keep("rabbit@one", mail, earlier)
	g.Forget(mail)
	e, err := g.Recall(kept, "rabbit@one", mail)
	if e.Messages != mostKept || g.Read() != mostKept || err != nil || len(kept) > 4<<20 {
		t.Errorf("%d of %d bytes are kept: %v", g.Read(), len(kept), err)
	}
}

func TestMessagesThatLeftAreKnownByLaterCounts(t *testing.T) {
	after, before := earlier.At.Add(countsLate), earlier.At.Add(countsLate-time.Second)
	for _, c := range []struct {
		ready model.Opt[int64]
		at    time.Time
		left  bool
	}{
		{model.Some[int64](6), after, true},
		{model.Some[int64](6), before, false}, // the statistics may be older than the reading
		{model.Some[int64](7), after, false},
		{model.Some[int64](8), after, false},
		{model.Opt[int64]{}, after, false},
	} {
		assert.That(t, earlier.Left(c.ready, c.at) == c.left, "%+v: it is %v", c, !c.left)
	}
}

func TestIndexName(t *testing.T) {
	names := map[string]bool{}
	for _, broker := range []string{"rabbit@one", "rabbit@two"} {
		for _, queue := range []model.QueueRef{mail, stock, {VHost: "a", Name: "../../x\n"}} {
			name := IndexName(broker, queue)
			assert.That(t, !names[name] && len(name) == 32 && isHex(name), "the name is %q", name)
			names[name] = true
		}
	}
}

// BenchmarkIndex measures what is kept of 100,000 messages of 50 causes in 200 queues, and to have them all again.
func BenchmarkIndex(b *testing.B) {
	const queues = 200
	g, kept := NewGroups(), make([][]byte, queues)
	of := func(i int) model.QueueRef {
		return model.QueueRef{VHost: "/", Name: fmt.Sprintf("worker%d.failed", i%queues)}
	}
	for i := range 100_000 {
		g.Add(of(i), numbered(i, "no answer of "+letters(i%50), "mail", i+1))
	}
	var keeping, recalling time.Duration
	size, rounds := 0, 0
	for b.Loop() {
		began := time.Now()
		size = 0
		for i := range kept {
			kept[i] = g.Keep("rabbit@one", of(i), earlier)
			size += len(kept[i])
		}
		keeping += time.Since(began)
		began = time.Now()
		again := NewGroups()
		for i, text := range kept {
			must.Get(again.Recall(text, "rabbit@one", of(i)))(b)
		}
		recalling += time.Since(began)
		if rounds++; again.Read() != 100_000 || len(again.List()) != 50 {
			b.Fatalf("%d messages, %d causes", again.Read(), len(again.List()))
		}
	}
	b.ReportMetric(float64(keeping.Milliseconds())/float64(rounds), "ms/keep")
	b.ReportMetric(float64(recalling.Milliseconds())/float64(rounds), "ms/recall")
	b.ReportMetric(float64(size)/1e6, "MB")
}

// BenchmarkManyCauses measures the grouping of 100,000 messages whose texts all differ.
func BenchmarkManyCauses(b *testing.B) {
	messages := make([]*message.Message, 100_000)
	for i := range messages {
		messages[i] = numbered(i, "ValueError: "+letters(i)+" is not what was expected here", "mail", i+1)
	}
	for b.Loop() {
		g := NewGroups()
		for _, m := range messages {
			g.Add(mail, m)
		}
		n := len(g.List())
		must.That(b, n <= mostCauses && g.Read() == len(messages), "%d causes", n)
	}
}
