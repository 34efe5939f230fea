package message

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Death is one entry of x-death: all deaths in one queue for one reason. Exchange, RoutingKeys and Time are those of
// the FIRST death of the group; the broker does not report them for later ones.
type Death struct {
	Queue              string
	Reason             model.Reason
	Count              int64 // 0 when neither the broker nor a client set it
	Exchange           string
	RoutingKeys        []string  // with CC, without BCC
	Time               time.Time // zero when absent
	OriginalExpiration string    // milliseconds, as text: the message's own TTL, when it had one
}

// ParseDeaths reads the header x-death, newest death first. Applications republish the header, so it can be anything:
// the readable part of a malformed x-death is kept, and problem says in one sentence what could not be read. Without
// the header both are zero.
func ParseDeaths(headers model.Table) (deaths []Death, problem string) {
	deaths, problem = WrittenDeaths(headers)
	return newestFirst(headers, deaths), problem
}

// newestFirst sorts the deaths in the order of x-death. From 3.13 the broker writes the newest first, and
// x-last-death-queue beside them. Before, each death goes to the front and reverses those behind it (measured on
// 3.10.8): from the second on, the newest is alternately the last and the first of the rest. A group that died several
// times in a row reversed them without a trace; that is undone where times or the first death prove it.
func newestFirst(headers model.Table, deaths []Death) []Death {
	_, ordered := headers.Text("x-last-death-queue")
	if ordered || len(deaths) < 3 {
		return deaths
	}
	queue, _ := headers.Text("x-first-death-queue")
	reason, _ := headers.Text("x-first-death-reason")
	before := func(a, b *Death) bool { // a is certainly older: it died once
		return a.Count == 1 && (a.Queue == queue && string(a.Reason) == reason || earlier(a, b) && !b.Time.IsZero())
	}
	sorted := deaths[:1:1]
	rest := deaths[1:]

	atEnd := true
	for len(rest) > 0 {
		first, last := &rest[0], &rest[len(rest)-1]
		if sorted[len(sorted)-1].Count > 1 && (atEnd && before(last, first) || !atEnd && before(first, last)) {
			atEnd = !atEnd
		}
		if atEnd {
			sorted = append(sorted, *last)
			rest = rest[:len(rest)-1]
		} else {
			sorted, rest = append(sorted, *first), rest[1:]
		}

		atEnd = !atEnd
	}

	return sorted
}

// WrittenDeaths returns the deaths of ParseDeaths in the order of x-death, in which the broker looks for cycles.
func WrittenDeaths(headers model.Table) (deaths []Death, problem string) {
	v, ok := headers["x-death"]
	if !ok {
		return nil, ""
	}
	var p deathParser
	if entry, ok := model.AsTable(v); ok { // some clients unwrap an array with one element
		p.complain("x-death is a table, not an array of tables")
		v = []any{entry}
	}

	entries, ok := v.([]any)
	if !ok {
		return nil, fmt.Sprintf("x-death is %s, not an array of tables", kindOf(v))
	}
	for i, e := range entries {
		p.entry = i + 1
		if d, ok := p.death(e); ok {
			deaths = append(deaths, d)
		}
	}

	return deaths, p.problem()
}

// deathParser keeps the first problem and counts the others: x-death may hold a million bad entries.
type deathParser struct {
	entry int
	first string
	more  int
}

func (p *deathParser) complain(format string, args ...any) {
	if p.first != "" {
		p.more++
		return
	}

	p.first = model.Sayf(format, args...)
	if p.entry > 0 {
		p.first = fmt.Sprintf("entry %d of x-death: %s", p.entry, p.first)
	}
}

func (p *deathParser) problem() string {
	if p.more == 0 {
		return p.first
	}
	return model.Sayf("%s; and %v more problem(s)", p.first, p.more)
}

func (p *deathParser) death(v any) (Death, bool) {
	t, ok := model.AsTable(v)
	if !ok {
		p.complain("it is %s, not a table", kindOf(v))
		return Death{}, false
	}

	d := Death{
		Queue:       p.text(t, "queue"),
		Reason:      model.Reason(p.text(t, "reason")),
		Count:       p.count(t["count"]),
		Exchange:    p.text(t, "exchange"),
		RoutingKeys: p.keys(t["routing-keys"]),
		Time:        p.time(t["time"]),
	}

	if v, ok := t["original-expiration"]; ok {
		d.OriginalExpiration = p.expiration(v)
	}

	if d.Queue == "" && d.Reason == "" {
		p.complain("it names neither a queue nor a reason")
		return Death{}, false
	}

	return d, true
}

func (p *deathParser) text(t model.Table, key string) string {
	s, ok := t.Text(key)
	if !ok {
		p.complain("%s is %s, not a text", key, kindOf(t[key]))
	}
	return s
}

func (p *deathParser) count(v any) int64 {
	n, ok := model.AsInteger(v)
	if !ok {
		p.complain("count is %s, not an integer", kindOf(v))
		if s, isText := model.AsText(v); isText {
			n, _ = strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		} else {
			n = 0
		}
	}

	if n < 0 {
		p.complain("count is negative")
		return 0
	}

	return n
}

func (p *deathParser) keys(v any) []string {
	list, ok := v.([]any)
	if !ok {
		p.complain("routing-keys is %s, not an array", kindOf(v))
		if s, ok := model.AsText(v); ok {
			return []string{s}
		}
		return nil
	}

	keys := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := model.AsText(e); ok {
			keys = append(keys, s)
		} else {
			p.complain("a routing key is %s, not a text", kindOf(e))
		}
	}

	return keys
}

// time reads an AMQP timestamp, or seconds since 1970, which the management API and some clients write.
func (p *deathParser) time(v any) time.Time {
	t, _ := v.(time.Time)
	if s, ok := model.AsInteger(v); ok {
		t = time.Unix(s, 0)
	} else if s, ok := model.AsText(v); ok && len(s) < 64 {
		t, _ = time.Parse(time.RFC3339, s)
	}

	if t = plausible(t); t.IsZero() {
		p.complain("time is %s and not a time since 1970", kindOf(v))
	}

	return t
}

func (p *deathParser) expiration(v any) string {
	if s, ok := model.AsText(v); ok {
		return s
	}
	p.complain("original-expiration is %s, not a text", kindOf(v))
	if n, ok := model.AsInteger(v); ok {
		return strconv.FormatInt(n, 10)
	}

	return ""
}

// kindOf returns the type of a header's value, for people.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "missing"
	case bool:
		return "a boolean"
	case string, []byte:
		return "a text"
	case time.Time:
		return "a time"
	case []any:
		return "an array"
	case model.Repeated:
		return "there more than once"
	case model.RawValue:
		return "unreadable"
	case model.Table, map[string]any:
		return "a table"
	case float32, float64, model.Decimal:
		return "a number"
	}

	if _, ok := model.AsInteger(v); ok {
		return "an integer"
	}

	return "of an unknown type"
}

// DeathCount returns how often the message died, as counted by the broker.
func (m *Message) DeathCount() int64 {
	var n int64
	for i := range m.Deaths {
		n = AddCapped(n, m.Deaths[i].Times())
	}
	return n
}

// DeathSummary returns "expired ×3, rejected ×3": the deaths by reason, beginning with the newest reason; "" without
// deaths.
func (m *Message) DeathSummary() string {
	const shown = 4 // RabbitMQ has four reasons; further ones that clients invent are summed up
	var reasons []model.Reason
	counts := map[model.Reason]int64{}
	for d := range model.Each(m.Deaths) {
		reason := d.Reason
		if _, seen := counts[reason]; !seen {
			if len(reasons) >= shown {
				reason = "other"
			}
			if _, seen := counts[reason]; !seen {
				reasons = append(reasons, reason)
			}
		}

		counts[reason] = AddCapped(counts[reason], d.Times())
	}

	return strings.Join(model.Mapped(reasons, func(r *model.Reason) string { return Died(*r, counts[*r]) }), ", ")
}

// Times returns the count of the group, at least 1: an entry stands for at least one death.
func (d *Death) Times() int64 { return max(d.Count, 1) }

// Died says how often messages died for a reason: "expired ×3".
func Died(r model.Reason, times int64) string {
	if r == "" {
		r = "died"
	}
	if times <= 1 {
		return string(r)
	}
	return model.Sayf("%s ×%v", r, times)
}

// AddCapped adds two counts, neither of them negative, and caps the sum at the largest number.
func AddCapped(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
