package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

func programmed(t testing.TB, text string) *mend.Program {
	t.Helper()
	return must.Get(mend.Parse(text))(t)
}

// numbered are dead messages whose bodies are {"n": "1"}, {"n": "2"}, …
func numbered(n int) message.MessageList {
	list := make(message.MessageList, n)
	for i := range list {
		m := deadMessage()
		m.Body = fmt.Appendf(nil, `{"n": "%d", "rest": [1, 2]}`, i+1)
		m.BodyBytes, m.Position = len(m.Body), i+1
		m.Fingerprint = message.FingerprintOf(&m)
		list[i] = m
	}
	return list
}

func mendedBy(t testing.TB, program string, messages message.MessageList, change func(*ActionWant)) (
	Plan, *model.Topology,
) {
	t.Helper()
	topology := build.TopologyOf("4.0.5", append(build.ScenarioParts["pubsub"], build.Queue("parking"),
		build.Queue("other", build.Consumers(1)))...)
	want := ActionWant{
		Operation: Replay, From: build.Ref("ucenter@user@failed"), Sample: messages, Planned: len(messages), Mark: true,
		Mode: target.ToExchange, Fixed: model.Address{Exchange: "master", RoutingKey: "ucenter@user"},
		User: "guest", Mend: programmed(t, program), Journaled: true, Selection: Chosen(messages),
	}
	if change != nil {
		change(&want)
	}
	return New(topology, want), topology
}

func TestMended(t *testing.T) {
	p, topology := mendedBy(t, `(.body.n | tonumber) as $n | if $n == 1 then . elif $n == 2 then empty
		else .body.n = $n | .headers.fixed = true end`, numbered(9), nil)
	m := p.Mended
	must.That(t, !p.Refusal.Refused() && m != nil && m.Changed == 7 && m.Same == 1 && m.Stay == 1 && m.Looked() == 9,
		"%v %+v", p.Refusal.Words(), m)
	assert.That(t, len(m.Failures) == 1 && m.Failures[0].Messages == 1 &&
		m.Failures[0].Why.(NotMended).Why.Kind == mend.Nothing, "%+v", m.Failures)
	must.That(t, len(m.Shown) == 5 && m.Shown[0].Position == 3, "%+v", m.Shown)
	want := []string{"with the header fixed: true", "body: 26 → 24 bytes, different from byte 7 on"}
	assert.Equal(t, cmp.Diff(want, m.Shown[0].Was.Differences(&m.Shown[0].Is)), "")
	stay := ""
	for _, w := range p.Warnings {
		if w.Stay != nil {
			stay = w.Words()
		}
	}
	assert.Equal(t, stay, "1 of them stays: the jq program gives nothing for it")
	run := p.On(topology)
	for i, want := range []string{`{"n": "1", "rest": [1, 2]}`, "", `{"n": 3, "rest": [1, 2]}`} {
		out, err := run.Publishing(&numbered(3)[i])
		assert.That(t, (err != nil) == (want == "") && (err != nil || string(out.Body) == want), "%s: %v", out.Body, err)
		assert.That(t, want == "" || out.Headers[message.ReplayHeader] != nil && out.Headers["x-death"] == nil &&
			(out.Headers["fixed"] != nil) == (i == 2) && len(out.Reaches) == 1, "%v %v", out.Headers, out.Reaches)
	}
	assert.That(t, p.KeepsWhole() && p.Intent(9).Mend == p.Mend, "the journal would not keep all of it")
}

// A program sees neither death history nor mark, and what it leaves alone is published as it would be without it.
func TestMendedIsAsItWouldBePublished(t *testing.T) {
	messages := numbered(1)
	messages[0].Headers[message.ReplayHeader] = "count=2; time=2026-11-22T05:00:00Z"
	messages[0].Headers["n"] = int8(5)
	messages[0].Properties.Expiration = "100"
	for name, mark := range map[string]bool{"marked": true, "unmarked": false} {
		p, topology := mendedBy(t, `if (.headers | keys) == ["n", "own"] and .exchange == "master" and
			.routing_key == "ucenter@user" and .properties.expiration == null then . else error(.headers | keys | tostring)
			end`, messages, func(w *ActionWant) { w.Mark = mark })
		run := p.On(topology)
		mended, err := run.Publishing(&messages[0])
		must.That(t, err == nil && p.Mended.Same == 1, "%v %v %v", name, err, p.Mended)
		run.Mend = nil
		plain, err := run.Publishing(&messages[0])
		diff := cmp.Diff(plain, mended)
		assert.That(t, diff == "" && err == nil, "%s: %v %s", name, err, diff)
		n, _, _ := (&message.Message{Headers: mended.Headers}).Replays()
		assert.That(t, (!mark || n == 3) && (mark || n == 2), "%s: %v", name, mended.Headers)
	}
}

func TestMendedMustBePublishable(t *testing.T) {
	for _, test := range []struct{ name, program, want string }{
		{"CC", `.headers.CC = ["a"]`, "CC would send it to further queues: leave it out"},
		{"x-death", `.headers["x-death"] = []`, "x-death is the broker's own: leave it out"},
		{"expiration", `.properties.expiration = "soon"`, "expiration soon is not a number of milliseconds"},
		{"a long key", `.routing_key = "k" * 300`, "routing_key has more than 255 bytes"},
		{"user_id", `.properties.user_id = "root"`, "user_id is not that of the connected user"},
		{"too large", `.body.n = "x" * 17825792`, "its body would have 17MB, and the broker takes at most 16MB"},
		{"nowhere", `.exchange = "nope"`, "the exchange nope does not exist"},
		{"no binding", `.routing_key = "nope"`, "no queue is bound for key nope on master"},
	} {
		p, topology := mendedBy(t, test.program, numbered(2), nil)
		assert.That(t, strings.Contains(p.Refusal.Words(), test.want) && p.Mended.Stay == 2,
			"%s: %q, %+v", test.name, p.Refusal.Words(), p.Mended)
		run := p.On(topology)
		_, err := run.Publishing(&numbered(1)[0])
		assert.That(t, err != nil && strings.Contains(err.Error(), test.want), "%s: %v", test.name, err)
	}
}

// A changed address is another way, which the plan names.
func TestMendedAddress(t *testing.T) {
	const second = `if .body.n == "2" then .exchange = "" | .routing_key = "other" else . end`
	p, topology := mendedBy(t, second, numbered(3), nil)
	must.That(t, !p.Refusal.Refused() && len(p.Ways) == 2 && len(p.Recipients) == 2 && p.Mended.Changed == 1 &&
		p.Mended.Same == 2, "%s %+v %+v", p.Refusal.Words(), p.Ways, p.Recipients)
	run := p.On(topology)
	out, err := run.Publishing(&numbered(2)[1])
	assert.That(t, err == nil && out.RoutingKey == "other" && len(out.Reaches) == 1 && out.Reaches[0].Name == "other",
		"%+v %v", out, err)
	// An address outside the sample is refused.
	few, topology := mendedBy(t, second, numbered(1), nil)
	run = few.On(topology)
	_, err = run.Publishing(&numbered(2)[1])
	assert.That(t, err != nil && strings.Contains(err.Error(), "does not name"), "%v", err)
}

func TestMendedMove(t *testing.T) {
	move := func(w *ActionWant) {
		w.Operation, w.Mode, w.Fixed = Move, target.ToQueue, model.Address{RoutingKey: "parking"}
	}
	p, topology := mendedBy(t, `.body.n |= tonumber`, numbered(2), move)
	run := p.On(topology)
	out, err := run.Publishing(&numbered(1)[0])
	assert.That(t, !p.Refusal.Refused() && err == nil && out.Headers["x-death"] != nil &&
		string(out.Body) == `{"n": 1, "rest": [1, 2]}`, "%s %v %+v", p.Refusal.Words(), err, out)
	elsewhere, _ := mendedBy(t, `.routing_key = "other"`, numbered(2), move)
	want := "the address is changed by the jq program, and a move goes to one queue"
	assert.Equal(t, elsewhere.Refusal.Words(), want)
}

// A program that never ends is not tried on all of a thousand messages.
func TestEndlessProgram(t *testing.T) {
	p, _ := mendedBy(t, `if .body.n == "1" then . else def f: f; f end`, numbered(1000), nil)
	assert.Equal(t, p.Refusal.Words(), "the jq program did not end within 1 million steps")
	m := p.Mended
	assert.That(t, m.Same == 1 && m.Stay == 999 && m.Failures[0].Messages == mostEndless, "%+v", m)
	none, _ := mendedBy(t, `.`, numbered(2), nil)
	assert.That(t, len(none.Warnings) > 0 && none.Warnings[len(none.Warnings)-1].Says == mendsNothing().Says,
		"%+v", none.Warnings)
}

// A resume changes the rest with the same program.
func TestIntentKeepsTheProgram(t *testing.T) {
	p, _ := mendedBy(t, `.body.n = "\u00fc"`, numbered(1), nil)
	text := must.Get(json.Marshal(p.Intent(1)))(t)
	read, err := ParseIntent(text)
	must.That(t, err == nil && read.Mend != nil && read.Mend.Text == p.Mend.Text, "%+v %v", read, err)
	_, err = ParseIntent([]byte(`{"edit": ".["}`))
	assert.That(t, err != nil, "a program that cannot be read is read")
}

// BenchmarkMended10k plans a replay of 10,000 messages of 1 KiB that a program changes.
func BenchmarkMended10k(b *testing.B) {
	messages := numbered(10_000)
	filler := strings.Repeat("x", 450)
	for i := range messages {
		m := &messages[i]
		m.Body = fmt.Appendf(nil, `{"order":{"id":%d,"quantity":"12","notes":["%s"],"lines":[{"sku":"a-%d","price":9.90}]},"user":"%s"}`,
			i, filler, i, filler)
		m.BodyBytes, m.Fingerprint = len(m.Body), message.FingerprintOf(m)
	}
	for b.Loop() {
		p, _ := mendedBy(b, `.body.order.quantity |= tonumber | .headers["x-fixed"] = true`, messages, nil)
		must.That(b, p.Mended.Changed == len(messages), "%+v", p.Mended)
	}
}
