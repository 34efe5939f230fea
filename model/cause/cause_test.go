package cause

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// failed returns a message with an error header.
func failed(text string) *message.Message {
	return &message.Message{Headers: model.Table{"x-error": text}}
}

func died(reason model.Reason, queue string) message.Death {
	return message.Death{Reason: reason, Queue: queue, Count: 1}
}

func TestOf(t *testing.T) {
	type expected struct {
		Name   string
		M      message.Message
		Want   Cause
		Worker string
		Words  string
	}

	for _, c := range must.Cases[expected](t, "testdata/causes.toml") {
		got := readFailed(mail, &c.M)
		assert.Equal(t, got.Cause, c.Want, "%v", c.Name)
		assert.Equal(t, got.Worker, c.Worker, "%v", c.Name)
		assert.Equal(t, got.Cause.String(), c.Words, "%v", c.Name)
	}
}

func TestID(t *testing.T) {
	first := Of(mail, failed("order 12 not found")).ID()
	same := Of(mail, failed("order 7 not found")).ID()
	other := Of(mail, failed("customer 7 not found")).ID()
	assert.Equal(t, first, same)
	assert.That(t, first != other, "%s and %s are one cause, %s another", first, same, other)
	assert.That(t, len(first) == IDLength, "%s is no ID", first)

	for text, valid := range map[string]bool{
		string(first): true, strings.ToUpper(string(first)): true, "": false, "12": false, "12345678901z": false,
	} {
		id, ok := ParseID(text)
		assert.Equal(t, ok, valid, "%q is read as %s, %v", text, id, ok)
		assert.That(t, !ok || id == first, "%q is read as %s, %v", text, id, ok)
	}
}

// States are kept by ID: it must stay the same in the next version.
func TestIDsStayTheSame(t *testing.T) {
	for id, m := range map[ID]*message.Message{
		"c33aa49c3b16": failed("order 12 not found"),
		"f774a36a65d0": {Deaths: []message.Death{died(model.Rejected, "mail")}},
		"d2a2beb941d4": {},
	} {
		got := Of(mail, m).ID()
		assert.That(t, got == id, "%s became %s", id, got)
	}
}

func TestIsAtEachLevel(t *testing.T) {
	m := failed("ValueError: order zzq of ann not found")
	c := Of(mail, m)
	seen := map[ID]bool{}
	for level := Whole; level <= NoKind; level++ {
		id := c.At(level).ID()
		assert.That(t, !seen[id], "%s does not mean it at level %d", id, level)
		assert.That(t, MatchesID(mail, m, id), "%s does not mean it at level %d", id, level)
		seen[id] = true
	}

	assert.That(t, !MatchesID(mail, failed("KeyError: x"), c.ID()), "another cause is taken for it")
	assert.Equal(t, c.At(FirstWords).String(), "ValueError: order zzq of…", "coarser it")
}

// Text from a hostile publisher is bounded and printable.
func TestHostileTexts(t *testing.T) {
	for name, text := range map[string]string{
		"1 MB":        strings.Repeat("order 12 not found ", 1<<20/19),
		"one word":    strings.Repeat("x", 1<<20),
		"brackets":    "values " + strings.Repeat("(", 1<<20),
		"quotes":      strings.Repeat(`"`, 1<<20),
		"colons":      strings.Repeat("::", 1<<19),
		"lines":       "E: x\n" + strings.Repeat("at \n", 1<<18),
		"escapes":     "\x1b]0;title\a\x1b[2Jgone\x1b[",
		"directions":  "abc\u202edef\u2066\u200b",
		"no UTF-8":    "a\xff\xfe\xf0\x28",
		"accents":     "e" + strings.Repeat("\u0301", 1<<12),
		"backslashes": strings.Repeat(`\"`, 1<<19),
	} {
		m := failed(text)
		c := Of(mail, m)
		for _, s := range []string{c.Kind, c.Text, c.Frame, c.String()} {
			assert.Equal(t, model.Printable(s), s, "%v", name)
			assert.That(t, len(s) <= mostKind+mostFolded+mostFrame+20, "%s: %q (%d bytes)", name, s[:min(len(s), 200)], len(s))
		}
	}
}

// Copies in several queues are one message for the same worker, recognized by id or by deaths; a recalled index agrees.
// A worker without ids publishes a failure once, to an exchange that leads to two queues; what it sent to each queue by
// name, or with another key, is no copy.
func TestCopiesWithoutIDsAndDeaths(t *testing.T) {
	of := func(exchange, key string) *message.Message {
		return &message.Message{Exchange: exchange, RoutingKey: key, Body: []byte(`{"error":"mailbox is full"}`)}
	}
	for _, c := range []struct {
		name      string
		a, b      *message.Message
		different int
	}{
		{"once", of("dead.ex", "mail"), of("dead.ex", "mail"), 1},
		{"with two keys", of("dead.ex", "mail"), of("dead.ex", "sms"), 2},
		{"by name", of("", "dead.a"), of("", "dead.a"), 2},
	} {
		g := NewGroups()
		g.Add(build.Ref("dead.a"), c.a)
		g.Add(build.Ref("dead.b"), c.b)
		list := g.List()
		must.Equal(t, len(list), 1, "%s: %+v", c.name, list)
		assert.Equal(t, list[0].Different, c.different, "%v", c.name)
	}
}

func TestCopiesInSeveralQueuesAreOneMessage(t *testing.T) {
	g := NewGroups()
	add := func(queue model.QueueRef, id, worker string) {
		deaths := []any{model.Table{"queue": worker, "reason": "rejected", "count": int64(1)}}
		m := &message.Message{Headers: model.Table{"x-death": deaths, "x-error": "ValueError: no"}}
		m.Properties.MessageID = id
		m.Exchange = queue.Name
		m.Deaths, _ = message.ParseDeaths(m.Headers)
		m.Identify()
		g.Add(queue, m)
	}

	for _, queue := range []model.QueueRef{mail, stock} {
		add(queue, "m1", "w")
		add(queue, "m2", "w")
		add(queue, "", "w") // twice in one queue: they may be two messages
		add(queue, "", "w")
	}

	add(stock, "m1", "v") // its copy failed by itself
	add(stock, "m1", "w")
	check := func(g *Groups) {
		t.Helper()
		list := g.List()
		must.Equal(t, len(list), 1, "%+v", list)
		assert.Equal(t, list[0].Messages, 10)
		assert.Equal(t, list[0].Different, 5)
	}

	check(g)

	kept := NewGroups()
	for _, queue := range []model.QueueRef{mail, stock} {
		must.Get(kept.recall(g.encode("b", queue, Earlier{}), "b", queue))(t)
	}

	check(kept)
}

// A text without spaces is not an id, whatever its length: its digits are folded, its words stay.
func TestWritingWithoutSpaces(t *testing.T) {
	tests := []struct{ text, want string }{
		{"订单12345在仓库系统中库存不足请联系管理员处理", "订单#在仓库系统中库存不足请联系管理员处理"},
		{"用户12345的账户余额低于最低限额无法完成支付请先充值", "用户#的账户余额低于最低限额无法完成支付请先充值"},
		{"第3行第5列", "第#行第#列"},
		{"第１２行", "第#行"}, // full-width digits
		{"用户ann@example.com，余额5.20元", "用户<email>，余额#元"},
		{"访问http://stock.example.com/v1/items/12，超时（30秒）", "访问http://stock.example.com/v1/items/…，超时（#秒）"},
		{"主机10.1.2.3不可达", "主机<ip>不可达"},
		{"文件/var/数据/12.txt 不存在", "文件<path> 不存在"},
		{"错误码：E11000", "错误码：E11000"},
		{"注文88の在庫", "注文#の在庫"},
		{"주문12345는 없습니다", "주문#는 없습니다"},
		{"заказ12345 не найден", "заказ# не найден"},
		{"Größe5 für Müller fehlt", "Größe# für Müller fehlt"},
		{"nach 5µs und 25°C", "nach # und #"},
	}

	for _, test := range tests {
		assert.Equal(t, Fold(test.text), test.want, "%s\nis", test.text)
	}
}

func TestRecent(t *testing.T) {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	g := NewGroups()
	queue := build.Ref("mail.failed")
	for i, ago := range []time.Duration{
		-time.Minute, 0, 9 * time.Minute, 10 * time.Minute, 59 * time.Minute, 60 * time.Minute, 48 * time.Hour,
	} {
		m := message.Message{Deaths: []message.Death{{Reason: model.Rejected, Queue: "mail", Count: 1, Time: now.Add(-ago)}}}
		m.Fingerprint[0] = byte(i)
		g.Add(queue, &m)
	}

	g.Add(queue, failed("order 12 not found")) // it has no time
	recent := g.Recent(now, time.Hour, 6)
	id := (Cause{Evidence: ByDeath, Kind: "rejected", Queue: "mail"}).ID()
	want := []float64{1, 0, 0, 0, 1, 3}
	must.Equal(t, len(recent), 1, "it is %v, not %v", recent, want)
	assert.List(t, recent[id], want)
	g.Forget(queue)
	recent = g.Recent(now, time.Hour, 6)
	assert.That(t, len(recent) == 0, "without messages it is %v", recent)
}

// errorGroup are texts of errors with one cause.
type errorGroup struct {
	name  string
	texts []string
}

func readGroups(t testing.TB) (groups []errorGroup, texts int) {
	t.Helper()
	file := must.Get(os.ReadFile("testdata/errors.txt"))(t)
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\x1b`, "\x1b")
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSuffix(line, "\n")
		if name, begins := strings.CutPrefix(line, "== "); begins {
			groups = append(groups, errorGroup{name: name})
		} else if line != "" && line[0] != '#' {
			at := &groups[len(groups)-1]
			at.texts = append(at.texts, plain.Replace(line))
			texts++
		}
	}

	return groups, texts
}

// Texts of one cause fold to one text, and texts of two causes to two.
func TestErrorsFoldToTheirCauses(t *testing.T) {
	groups, texts := readGroups(t)
	must.That(t, texts >= 200, "%d texts in %d groups are not the table", texts, len(groups))
	must.That(t, len(groups) >= 100, "%d texts in %d groups are not the table", texts, len(groups))
	owner := map[string]string{}
	for _, g := range groups {
		var folds []string
		for _, text := range g.texts {
			if folded := Fold(headOf(text)); !slices.Contains(folds, folded) {
				folds = append(folds, folded)
			}
		}

		assert.That(t, len(folds) == 1, "%s is split:\n\t%s", g.name, strings.Join(folds, "\n\t"))
		for _, folded := range folds {
			other, taken := owner[folded]
			assert.That(t, !taken, "%s and %s are merged: %s", other, g.name, folded)
			owner[folded] = g.name
			assert.Equal(t, model.Printable(folded), folded, "%v", g.name)
			assert.That(t, len(folded) <= mostFolded, "%s: %q is not printable, or has %d bytes", g.name, folded, len(folded))
		}
	}
}

func TestOwnFrame(t *testing.T) {
	for _, c := range must.Cases[struct{ Name, Stack, Want string }](t, "testdata/frames.toml") {
		assert.Equal(t, ownFrame(c.Stack), c.Want, "%s", c.Name)
	}
}

// A release changes line numbers and folders, but not the cause.
func TestOwnFrameOfAnotherRelease(t *testing.T) {
	const stack = "Traceback (most recent call last):\n" +
		"  File \"/srv/releases/20260304/shop/mail.py\", line 12, in send\nE: x"
	later := strings.NewReplacer("20260304", "20260401", "12", "17").Replace(stack)
	a, b := ownFrame(stack), ownFrame(later)
	assert.Equal(t, a, b)
	assert.That(t, a != "", "%q became %q", a, b)
}

func TestHeadOf(t *testing.T) {
	for text, want := range map[string]string{
		"one line":                "one line",
		"two\nlines":              "two\nlines",
		"x\n    at a.b(C.java:1)": "x\n",
		"x\nStack trace:\n#0 a":   "x\n",
		"x\r\n   at A.B()":        "x\r\n",
		"E\n[SQL: SELECT 1]\nz":   "E",
	} {
		assert.Equal(t, headOf(text), want, "%q is cut to", text)
	}
}

// Any text folds to one printable line of bounded length, and folding that again changes nothing.
func FuzzFold(f *testing.F) {
	groups, _ := readGroups(f)
	for _, g := range groups {
		f.Add(g.texts[0])
	}

	f.Fuzz(func(t *testing.T, text string) {
		var folded string
		limit.Check(t, len(text), func() { folded = Fold(text) })
		assert.That(t, len(folded) <= mostFolded, "%q is folded to %q", text, folded)
		assert.Equal(t, model.Printable(folded), folded)
		assert.Equal(t, Fold(text), folded, "%q is folded to", text)
		c := Of(mail, failed(text))
		for _, s := range []string{c.Kind, c.Text, c.Frame} {
			assert.Equal(t, model.Escaped(s), s)
			assert.That(t, len(s) <= mostFolded, "%q has the cause %+v", text, c)
		}
		assert.That(t, MatchesID(mail, failed(text), c.ID()), "%q is not of its own cause", text)
	})
}

// A file that claims to be an index is either refused, adding nothing, or recalled completely, and kept again
// unchanged.
func FuzzRecall(f *testing.F) {
	_, kept := keptMail()
	f.Add(kept[len(indexMagic) : len(kept)-4])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		text := sealed(append([]byte(indexMagic), content...))
		g := NewGroups()
		var e Earlier
		var err error
		limit.Check(t, len(text), func() { e, err = g.recall(text, "rabbit@one", mail) })
		if err != nil {
			assert.Equal(t, g.Read(), 0)
			assert.Equal(t, len(g.List()), 0, "%d messages were added: %v", g.Read(), err)
			return
		}

		assert.That(t, g.Read() == e.Messages, "%d messages are here of %d", g.Read(), e.Messages)
		again := NewGroups()
		if kept := g.encode("rabbit@one", mail, e); kept != nil {
			same := must.Get(again.recall(kept, "rabbit@one", mail))(t)
			assert.Equal(t, same, e)
		}
	})
}
