package cause

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

var mail, stock = build.Ref("mail.failed"), build.Ref("stock.failed")

// numbered returns a message with an error and a fingerprint, which failed in a worker at a second.
func numbered(n int, text, worker string, second int) *message.Message {
	m := failed(text)
	m.Fingerprint = message.Fingerprint{byte(n), byte(n >> 8), byte(n >> 16), 1}
	m.Deaths = []message.Death{{Reason: model.Rejected, Queue: worker}}
	if second > 0 {
		m.Deaths[0].Time = time.Unix(int64(second), 0)
	}
	return m
}

// shown returns the causes in a few words each.
func shown(g *Groups) string {
	var all []string
	for _, at := range g.List() {
		text := fmt.Sprintf("%s %d", at.Cause, at.Messages)
		for _, q := range at.Queues {
			text += fmt.Sprintf(" %s:%d", q.Of.Name, q.Messages)
		}
		for _, w := range at.Workers {
			text += fmt.Sprintf(" %s=%d", w.Of, w.Messages)
		}
		if first, known := at.First.Get(); known {
			text += fmt.Sprintf(" %d..%d", first.Unix(), at.Last.Or(time.Time{}).Unix())
		}
		all = append(all, text)
	}

	return strings.Join(all, "; ")
}

// Messages without a reason are grouped by queue, even where causes are made coarser.
func TestNothingIsGroupedByQueue(t *testing.T) {
	g := NewGroups()
	for _, queue := range []model.QueueRef{mail, stock, {VHost: "eu", Name: mail.Name}, mail} {
		g.Add(queue, &message.Message{})
	}

	want := "no error and no death in mail.failed 2 mail.failed:2; " +
		"no error and no death in stock.failed 1 stock.failed:1; no error and no death in eu/mail.failed 1 mail.failed:1"
	assert.Equal(t, shown(g), want)
	word := func(n int) string { return string([]byte{'a' + byte(n%26), 'a' + byte(n/26%26), 'a' + byte(n/676)}) }
	for i := range mostCauses + 1 {
		g.Add(mail, failed("ValueError: no such thing as "+word(i)))
	}

	got := shown(g)
	assert.That(t, strings.HasPrefix(got, want+"; ValueError: no such thing… 5001 "), "coarser: %.300s", got)
}

func TestGroups(t *testing.T) {
	g := NewGroups()
	check := func(want string) {
		t.Helper()
		assert.Equal(t, shown(g), want, "the causes are\n\t")
	}

	g.Add(mail, numbered(1, "no order 1", "mail", 50))
	g.Add(mail, numbered(2, "smtp down", "mail", 10))
	g.Add(stock, numbered(3, "no order 2", "stock", 20))
	g.Add(stock, numbered(3, "no order 2", "stock", 20)) // a twin
	g.Add(stock, numbered(4, "no order 4", "stock", 0))
	check("no order # 4 stock.failed:3 mail.failed:1 stock=3 mail=1 20..50; smtp down 1 mail.failed:1 mail=1 10..10")
	assert.Equal(t, g.Read(), 5, "messages were read")
	g.Remove(mail, message.Fingerprint{1, 0, 0, 1})
	check("no order # 3 stock.failed:3 stock=3 20..20; smtp down 1 mail.failed:1 mail=1 10..10")
	g.Remove(stock, message.Fingerprint{3, 0, 0, 1})
	check("no order # 2 stock.failed:2 stock=2 20..20; smtp down 1 mail.failed:1 mail=1 10..10")
	g.Remove(stock, message.Fingerprint{3, 0, 0, 1})
	assert.That(t, !g.Remove(stock, message.Fingerprint{3, 0, 0, 1}), "what is gone is removed again")
	assert.That(t, !g.Remove(mail, message.Fingerprint{9}), "what is gone is removed again")

	check("no order # 1 stock.failed:1 stock=1; smtp down 1 mail.failed:1 mail=1 10..10")
	assert.That(t, g.Return(stock, message.Fingerprint{3, 0, 0, 1}), "what was removed does not return")
	check("no order # 2 stock.failed:2 stock=2 20..20; smtp down 1 mail.failed:1 mail=1 10..10")
	assert.That(t, g.Return(stock, message.Fingerprint{3, 0, 0, 1}), "of two that were removed not two return")
	assert.That(t, !g.Return(stock, message.Fingerprint{3, 0, 0, 1}), "of two that were removed not two return")
	g.Forget(stock)
	assert.That(t, !g.Return(stock, message.Fingerprint{3, 0, 0, 1}), "what was forgotten returns")
	check("smtp down 1 mail.failed:1 mail=1 10..10")
	g.Add(stock, numbered(5, "no order 9", "stock", 70)) // it returned to its old place
	check("no order # 1 stock.failed:1 stock=1 70..70; smtp down 1 mail.failed:1 mail=1 10..10")
	list := g.List()
	MostFirst(list)
	assert.Equal(t, list[0].Cause.Text, "no order #")
	assert.Equal(t, list[0].Sample.Text, "no order 9")
	assert.Equal(t, g.Read(), 2)
}

// A hundred thousand causes, from an id without digits that is not folded, become a few coarse ones, and say so. Others
// stay exact.
// What a message says about its worker is shown with what the broker knows of such a queue.
func TestWorkersThatAreNoQueues(t *testing.T) {
	topology := build.Described("3.10.8", `
		queue mail consumers=1 dlx= key=mail.failed
		queue mail.failed
	`)
	for worker, want := range map[string]string{
		"mail": "mail", "mail.v1\n": `mail.v1\n (gone)`, "eu/stock": "eu/stock",
	} {
		g := NewGroups()
		g.Add(mail, numbered(1, "x", worker, 0))
		assert.Equal(t, strings.Join(g.List()[0].WorkerWords(topology), "; "), want, "worker %q", worker)
	}
}

func TestTooManyCauses(t *testing.T) {
	many := size.Of(20_000, 100_000)
	g := NewGroups()
	for i := range 10 {
		g.Add(stock, numbered(many+i, "KeyError: stock is empty", "stock", 1))
	}

	for i := range many {
		text := "customer with the name " + letters(i) + " is unknown"
		if i%2 == 0 {
			text = "ValueError: " + letters(i) + " is not what was expected here"
		}
		g.Add(mail, numbered(i, text, "mail", i+1))
	}

	list := g.List()
	must.That(t, len(list) <= mostCauses, "%d causes of %d messages", len(list), g.Read())
	must.Equal(t, g.Read(), many+10)
	sum := 0
	var levels []Level
	for _, at := range list {
		sum += at.Messages
		if !slices.Contains(levels, at.Cause.Level) {
			levels = append(levels, at.Cause.Level)
		}
	}

	if slices.Sort(levels); sum != many+10 || !slices.Equal(levels, []Level{Whole, FirstWords, NoText}) {
		t.Errorf("%d messages at the levels %v: %s", sum, levels, shown(g)[:1000])
	}

	exact := list[0]
	assert.Equal(t, exact.Cause.Level, Whole)
	assert.Equal(t, exact.Messages, 10)
	for _, at := range list[1:] {
		assert.That(t, at.Cause.Level.Words() != "", "%s does not say that it is coarse", at.Cause)
	}

	m := numbered(7, "customer with the name "+letters(7)+" is unknown", "mail", 8)
	holds := func(at Group) bool { return at.Cause.Level > Whole && MatchesID(mail, m, at.ID) }
	assert.That(t, slices.ContainsFunc(list, holds),
		"a message is not selected by the coarse cause that it is in")
	g.Forget(mail)
	assert.Equal(t, g.Read(), 10)
	assert.Equal(t, len(g.List()), 1, "%d messages are left in %d causes", g.Read(), len(g.List()))
}

// letters encodes a number as a word without digits.
func letters(n int) string {
	word := []byte("zz")
	for range 5 {
		word = append(word, "ghijklmnop"[n%10])
		n /= 10
	}

	return string(word)
}

func BenchmarkGroups(b *testing.B) {
	texts, _ := readGroups(b)
	stack := "\n\tat org.springframework.amqp.A.b(A.java:1)\n\tat com.example.Mail.send(Mail.java:12)"
	messages := make([]*message.Message, 100_000)
	for i := range messages {
		group := texts[i%len(texts)]
		m := numbered(i, group.texts[i%len(group.texts)]+stack, "mail", i+1)
		m.Body = []byte(`{"order":12,"lines":[{"product":"A","count":2}],"customer":"ann"}`)
		messages[i] = m
	}

	for b.Loop() {
		g := NewGroups()
		for _, m := range messages {
			g.Add(mail, m)
		}
		must.That(b, len(g.List()) >= 100, "too few causes")
	}
}

var earlier = Earlier{At: time.UnixMilli(1_700_000_000_123).UTC(), Depth: 7}

// keptMail returns the causes of a queue, and the index of them.
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

	return g, g.encode("rabbit@one", mail, earlier)
}

func TestIndexKeepsNoValuesOfMessages(t *testing.T) {
	read, kept := keptMail()
	assert.That(t, !bytes.Contains(kept, []byte("no order 1")), "it keeps %q", kept)
	assert.That(t, bytes.Contains(kept, []byte("no order #")), "it keeps %q", kept)
	g := NewGroups()
	g.Add(stock, numbered(5, "no order 5", "stock", 90))
	e, err := g.recall(kept, "rabbit@one", mail)
	want := earlier
	want.Messages = 5
	must.Do(t, err)
	must.Equal(t, e, want)
	must.Equal(t, g.Read(), 6)

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

	assert.That(t, bytes.Equal(read.encode("rabbit@one", mail, earlier), kept), "the same is kept in two ways")
	got := shown(g)
	assert.That(t, strings.HasPrefix(got, "no order # 4 mail.failed:3 stock.failed:1 mail=3 stock=1 50..90; "),
		"the causes are %s", got)
	assert.That(t, g.Remove(mail, message.Fingerprint{2, 0, 0, 1}), "the fingerprints are not those of the messages")
	assert.That(t, !g.Remove(mail, message.Fingerprint{9}), "the fingerprints are not those of the messages")
	g.Forget(mail)
	assert.Equal(t, shown(g), "no order # 1 stock.failed:1 stock=1 90..90", "the rest")
}

// Reading a message again adds the text that the index does not have.
func TestRecalledSample(t *testing.T) {
	_, kept := keptMail()
	g := NewGroups()
	must.Get(g.recall(kept, "rabbit@one", mail))(t)
	for _, at := range g.List() {
		assert.Equal(t, at.Sample.Text, "", "%v", at.Cause)
	}

	g.Add(stock, numbered(5, "no order 5", "stock", 90))
	for _, at := range g.List() {
		assert.That(t, at.Cause.Text != "no order #" || at.Sample.Text == "no order 5", "its sample is %+v", at.Sample)
	}
}

// A damaged or foreign index, or one of another queue, adds nothing.
func TestRecallRefuses(t *testing.T) {
	_, kept := keptMail()
	g := NewGroups()
	refused := func(name string, text []byte, broker string, queue model.QueueRef) {
		t.Helper()
		e, err := g.recall(text, broker, queue)
		must.That(t, err != nil, "%s: %+v, %d messages: %v", name, e, g.Read(), err)
		must.Equal(t, e, Earlier{})
		must.Equal(t, g.Read(), 0)
		must.Equal(t, len(g.List()), 0)
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
	for _, other := range []string{"causes 5", "causes 7"} {
		text := bytes.Replace(kept[:len(kept)-4], []byte("causes 6"), []byte(other), 1)
		refused(other, sealed(text), "rabbit@one", mail)
	}
}

// sealed appends the checksum to a text.
func sealed(text []byte) []byte {
	return binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text))
}

// Coarse causes are not kept, nor is an empty queue.
func TestNotKept(t *testing.T) {
	g := NewGroups()
	for i := range mostCauses + 1 {
		g.Add(mail, numbered(i, "OddError: no way to "+letters(i), "mail", 1))
	}

	g.Add(stock, numbered(1, "KeyError: lot", "stock", 1))
	assert.That(t, g.encode("rabbit@one", mail, earlier) == nil, "what is coarse is kept, or what is exact is not")
	assert.That(t, g.encode("rabbit@one", stock, earlier) != nil, "what is coarse is kept, or what is exact is not")
	g.Forget(stock)
	assert.That(t, g.encode("rabbit@one", stock, earlier) == nil, "an empty queue is kept")
}

// Only a part of a very deep queue is kept: the rest counts as unread.
func TestKeepsSoMany(t *testing.T) {
	g := NewGroups()
	m := numbered(0, "smtp down", "mail", 1)
	for i := range mostKept + 10 {
		m.Fingerprint = message.Fingerprint{byte(i), byte(i >> 8), byte(i >> 16)}
		g.Add(mail, m)
	}

	kept := g.encode("rabbit@one", mail, earlier)
	g.Forget(mail)
	e, err := g.recall(kept, "rabbit@one", mail)
	must.Do(t, err)
	assert.Equal(t, e.Messages, mostKept)
	assert.Equal(t, g.Read(), mostKept)
	assert.That(t, len(kept) <= 4<<20, "%d of %d bytes are kept: %v", g.Read(), len(kept), err)
}

func TestMessagesThatLeftAreKnownByLaterCounts(t *testing.T) {
	after := earlier.At.Add(message.CountsLate)
	before := earlier.At.Add(message.CountsLate - time.Second)
	for _, c := range []struct {
		ready model.Opt[int64]
		at    time.Time
		left  bool
	}{
		{build.Some(6), after, true},
		{build.Some(6), before, false}, // the statistics may be older than the reading
		{build.Some(7), after, false},
		{build.Some(8), after, false},
		{model.Opt[int64]{}, after, false},
	} {
		assert.That(t, earlier.Left(c.ready, c.at) == c.left, "%+v: it is %v", c, !c.left)
	}
}

func TestIndexName(t *testing.T) {
	names := map[string]bool{}
	for _, broker := range []string{"rabbit@one", "rabbit@two"} {
		for _, queue := range []model.QueueRef{mail, stock, {VHost: "a", Name: "../../x\n"}} {
			name := indexName(broker, queue)
			assert.That(t, !names[name], "the name is %q", name)
			assert.Equal(t, len(name), 32)
			assert.That(t, isHex(name), "the name is %q", name)
			names[name] = true
		}
	}
}

// BenchmarkIndex measures keeping and recalling 100,000 messages of 50 causes in 200 queues.
func BenchmarkIndex(b *testing.B) {
	const queues = 200
	g, kept := NewGroups(), make([][]byte, queues)
	of := func(i int) model.QueueRef {
		return build.Ref(fmt.Sprintf("worker%d.failed", i%queues))
	}
	for i := range 100_000 {
		g.Add(of(i), numbered(i, "no answer of "+letters(i%50), "mail", i+1))
	}

	var keeping, recalling time.Duration
	written, rounds := 0, 0
	for b.Loop() {
		began := time.Now()
		written = 0
		for i := range kept {
			kept[i] = g.encode("rabbit@one", of(i), earlier)
			written += len(kept[i])
		}

		keeping += time.Since(began)
		began = time.Now()
		again := NewGroups()
		for i, text := range kept {
			must.Get(again.recall(text, "rabbit@one", of(i)))(b)
		}

		recalling += time.Since(began)
		if rounds++; again.Read() != 100_000 || len(again.List()) != 50 {
			b.Fatalf("%d messages, %d causes", again.Read(), len(again.List()))
		}
	}

	b.ReportMetric(float64(keeping.Milliseconds())/float64(rounds), "ms/keep")
	b.ReportMetric(float64(recalling.Milliseconds())/float64(rounds), "ms/recall")
	b.ReportMetric(float64(written)/1e6, "MB")
}

// BenchmarkManyCauses measures grouping 100,000 messages whose texts all differ.
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
		must.That(b, n <= mostCauses, "%d causes", n)
		must.Equal(b, g.Read(), len(messages))
	}
}

func groupOf(text string, messages int, last time.Time) *Group {
	c := Of(mail, failed(text))
	g := &Group{ID: c.ID(), Cause: c, Messages: messages}
	if !last.IsZero() {
		g.Last = model.Some(last)
	}
	return g
}

// A resolved cause is back when it fails again, but not when older failures are read later.
func TestResolvedCauseIsBackWhenItFailsAgain(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name             string
		last, later      time.Time // the newest failure when it was resolved, and when it is looked at again
		messages, behind int
		want             State
	}{
		{"the same messages", now.Add(-time.Minute), now.Add(-time.Minute), 3, 3, Resolved},
		{"older ones, read later", now.Add(-time.Hour), now.Add(-time.Minute), 3, 30, Resolved},
		{"a new failure", now.Add(-time.Minute), now.Add(time.Second), 3, 1, Back},
		{"a clock that runs ahead", now.Add(time.Minute), now.Add(time.Minute), 3, 3, Resolved},
		{"no times, fewer", time.Time{}, time.Time{}, 3, 2, Resolved},
		{"no times, more", time.Time{}, time.Time{}, 3, 4, Back},
	} {
		s := States{}
		s.Mark(groupOf("E: x", c.messages, c.last), Resolved, now)
		assert.Equal(t, s.Now(groupOf("E: x", c.behind, c.later), now.Add(time.Hour)).State, c.want, "%s: it", c.name)
	}

	s := States{}
	g := groupOf("E: x", 1, now)
	assert.Equal(t, s.Now(g, now).State, New, "at first it")
	s.Mark(g, Ignored, now)
	assert.Equal(t, s.Now(groupOf("E: x", 9, now.Add(time.Hour)), now).State, Ignored, "what is ignored")
}

func TestStatesFile(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	g := groupOf("ValueError: no order 7", 3, now)
	text := must.Get(WithStates(nil, "rabbit@a", func(s States) {
		s.Mark(g, Resolved, now)
		s.Note(g, "fixed in\x1b[2J 1.2"+strings.Repeat("!", 1000))
	}))(t)

	text = must.Get(WithStates(text, "rabbit@b", func(s States) { s.Mark(g, Seen, now) }))(t)
	for broker, want := range map[string]State{"rabbit@a": Resolved, "rabbit@b": Seen, "rabbit@c": New} {
		s, err := StatesIn(text, broker)
		m := s.Of(g.ID)
		must.That(t, err == nil, "at %s it is %+v: %v", broker, m, err)
		assert.Equal(t, m.State, want, "%v", broker)
	}

	s, _ := StatesIn(text, "rabbit@a")
	note := s.Of(g.ID).Note
	assert.That(t, strings.HasPrefix(note, "fixed in"), "the note is %q", note)
	assert.That(t, len(note) <= mostNote, "the note is %q", note)
	assert.Lacks(t, note, "\x1b")

	for _, damaged := range []string{
		"{", "[]", `{"format":2}`, `{"format":1,"brokers":{"a":{"nonsense":{"state":"seen"}}}}`,
		`{"format":1,"brokers":{"a":{"c33aa49c3b16":{"state":"lost"}}}}`, string(text[:len(text)/2]), "\x00\x01",
	} {
		_, err := StatesIn([]byte(damaged), "a")
		assert.That(t, errors.Is(err, ErrStates), "%q is read: %v", damaged, err)
		_, err = WithStates([]byte(damaged), "a", func(States) {})
		assert.That(t, errors.Is(err, ErrStates), "%q is changed: %v", damaged, err)
	}
}

// The file stays small: causes that were only seen are forgotten first.
func TestStatesAreBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	text := must.Get(WithStates(nil, "a", func(s States) {
		for i := range 3 * mostMarks {
			id := ID(fmt.Sprintf("%012x", i))
			s[id] = Mark{State: Seen, At: now.Add(time.Duration(i) * time.Second)}
			if i < 10 {
				s[id] = Mark{State: Resolved, At: now}
			}
		}
	}))(t)
	s, err := StatesIn(text, "a")
	must.Do(t, err)
	must.Equal(t, len(s), mostMarks, "%d are left: %v", len(s), err)
	assert.Equal(t, s.Of("000000000003").State, Resolved, "the wrong ones are left")
	assert.Equal(t, s.Of(ID(fmt.Sprintf("%012x", 3*mostMarks-1))).State, Seen, "the wrong ones are left")
}

func FuzzStates(f *testing.F) {
	f.Add([]byte(`{"format":1,"brokers":{"a":{"c33aa49c3b16":{"state":"seen","note":"x"}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := WithStates(text, "a", func(States) {})
		if err != nil {
			return
		}
		again, err := WithStates(out, "a", func(States) {})
		must.Do(t, err)
		must.That(t, bytes.Equal(out, again), "%q is not read again: %v", out, err)
	})
}
