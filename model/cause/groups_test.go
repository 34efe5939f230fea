package cause

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

var mail, stock = model.QueueRef{VHost: "/", Name: "mail.failed"}, model.QueueRef{VHost: "/", Name: "stock.failed"}

// numbered is a message with an error and a fingerprint, which failed in a worker at a second.
func numbered(n int, text, worker string, second int) *message.Message {
	m := failed(text)
	m.Fingerprint = message.Fingerprint{byte(n), byte(n >> 8), byte(n >> 16), 1}
	m.Deaths = []message.Death{{Reason: model.Rejected, Queue: worker}}
	if second > 0 {
		m.Deaths[0].Time = time.Unix(int64(second), 0)
	}
	return m
}

// shown are the causes in a few words each.
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

// Messages without a reason are those of their queue, also where causes are made coarser.
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
	assert.That(t, !g.Remove(stock, message.Fingerprint{3, 0, 0, 1}) && !g.Remove(mail, message.Fingerprint{9}),
		"what is gone is removed again")
	check("no order # 1 stock.failed:1 stock=1; smtp down 1 mail.failed:1 mail=1 10..10")
	g.Forget(stock)
	check("smtp down 1 mail.failed:1 mail=1 10..10")
	g.Add(stock, numbered(5, "no order 9", "stock", 70)) // it is back where it was
	check("no order # 1 stock.failed:1 stock=1 70..70; smtp down 1 mail.failed:1 mail=1 10..10")
	list := g.List()
	MostFirst(list)
	if list[0].Cause.Text != "no order #" || list[0].Sample.Text != "no order 9" || g.Read() != 2 {
		t.Errorf("the first is %+v of %d", list[0], g.Read())
	}
}

// A hundred thousand causes, because an id without a digit was not folded, become few, and say so. Others stay exact.
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
	if len(list) > mostCauses || g.Read() != many+10 {
		t.Fatalf("%d causes of %d messages", len(list), g.Read())
	}
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
	assert.That(t, exact.Cause.Level == Whole && exact.Messages == 10, "the exact one became %+v", exact)
	for _, at := range list[1:] {
		assert.That(t, at.Cause.Level.Words() != "", "%s does not say that it is coarse", at.Cause)
	}
	m := numbered(7, "customer with the name "+letters(7)+" is unknown", "mail", 8)
	assert.That(t, slices.ContainsFunc(list, func(at Group) bool { return at.Cause.Level > Whole && Is(mail, m, at.ID) }),
		"a message is not selected by the coarse cause that it is in")
	g.Forget(mail)
	if g.Read() != 10 || len(g.List()) != 1 {
		t.Errorf("%d messages are left in %d causes", g.Read(), len(g.List()))
	}
}

// letters is a word for a number, without digits.
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
