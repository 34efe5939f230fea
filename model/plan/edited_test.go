package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/draft"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/target"
)

// The draft is published with a mark, to its own address; the journal keeps the whole original and says what was
// changed.
func TestEditedReplay(t *testing.T) {
	topology := build.TopologyOf("3.10.8", build.ScenarioParts["pubsub"]...)
	m := message.Message{
		Exchange: "master.failed", RoutingKey: "ucenter@user", Body: []byte(`{"id":1}`), BodyBytes: 8,
		Properties: message.Properties{MessageID: "m1", Expiration: "50", UserID: "somebody"},
		Headers: model.Table{
			"x-death": []any{}, "x-orig-routing-key": "user.create", "own": "x", "old": int32(1),
			message.ReplayHeader: model.Table{"count": int64(2)},
		},
	}

	m.Fingerprint = message.FingerprintOf(&m)
	shown := NewDraft(topology, build.Ref("ucenter@user@failed"), &m, "guest")
	must.Equal(t, shown.Address, model.Address{Exchange: "master", RoutingKey: "ucenter@user"})
	must.That(t, shown.Headers["own"] == "x", "%+v", shown)
	must.Equal(t, len(shown.Headers), 3)
	must.Equal(t, shown.Properties.Expiration, "")
	must.Equal(t, shown.Properties.UserID, "")
	edited := must.Get(draft.Parse([]byte(strings.NewReplacer(`{"id":1}`, `{"id":2,"fixed":true}`, `"own": "x"`,
		`"own": "y"`, `"properties": {`, `"properties": {"expiration": "70",`).Replace(string(shown.Text())))))(t)
	delete(edited.Headers, "old")
	want := replayOf("ucenter@user@failed", "", m)
	want.Selection = chosen([]message.Message{m})
	want.User = "guest"
	want.Mark = true
	want.Edited = &edited
	plan := newRun(topology, want)
	assert.That(t, !plan.Refusal.Refused(), "%s %v", plan.Refusal.Words(), plan.Strips)
	assert.Equal(t, strings.Join(plan.Strips, " "), "user_id x-death")

	p := must.Get(plan.Publishing(&m))(t)
	replayed := message.Message{Headers: p.Headers}
	n, _, _ := replayed.Replays()
	assert.Equal(t, n, 3)
	assert.That(t, p.Headers["own"] == "y", "%+v %q", p, p.Body)
	assert.That(t, p.Headers["x-orig-routing-key"] == "user.create", "%+v %q", p, p.Body)
	assert.Equal(t, len(p.Headers), 3)
	assert.Equal(t, string(p.Body), `{"id":2,"fixed":true}`)
	assert.Equal(t, p.Properties.Expiration, "70")
	assert.Equal(t, p.Address, shown.Address)
	e := NewEntry(&m, &p, true)
	must.That(t, e.Message != nil, "kept %+v", e.Message)
	assert.Equal(t, string(e.Message.Body), `{"id":1}`)
	r := Record{Operation: Replay, User: "guest"}
	line := must.Get(model.JSONLine(e.JSON()))(t)
	again := must.Get(ParseEntry(line))(t)
	assert.Equal(t, strings.Join(r.Changes(&again), "; "), "without user_id somebody; without old, x-death; "+
		"changed dlxtop-replay, own; changed expiration, the body (21B instead of 8B)")
}

func TestDamagedEnvelopesStayAsTheyAre(t *testing.T) {
	for _, test := range []struct{ name, body, problem string }{
		{"the body was no text", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"a` +
			"\uFFFD" + `b","BasicProperties":{}}`, "lost bytes"},
		{"half a character", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"\ud83d","BasicProperties":{}}`, "lost bytes"},
		{
			"a message that is no text",
			`{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":{"a":1},"BasicProperties":{}}`, "no Message",
		},
		{
			"no exchange",
			`{"Exception":"e","RoutingKey":"k","Exchange":null,"Queue":"q","Message":"m","BasicProperties":{}}`, "no Exchange",
		},

		{
			"no properties",
			`{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"m","BasicProperties":null}`,
			"no BasicProperties",
		},
		{"a property of another type", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"m","BasicProperties":{"DeliveryMode":"two"}}`, "a property that AMQP does not have"},
		{"headers of another type", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"m","BasicProperties":{"Headers":[1]}}`, "Headers"},
		{
			"cut off", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","BasicProperties":{},"Message":"m`,
			"not JSON",
		},
		{"Dramatiq, cut off", `{"queue_name":"q","actor_name":"a","args":[],"kwargs":{},"message_id":"1","options":{"retries":`, "not JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := message.Message{Body: []byte(test.body), RoutingKey: "k"}

			e, ok := m.Envelope()
			must.That(t, ok, "%v %q, want a problem with %q", ok, e.Problem, test.problem)
			must.Contains(t, e.Problem, test.problem)

			topology := build.Described("4.0.5", `
				queue errors
				queue w consumers=1
			`)
			plan := newRun(topology, replayOf("errors", "queue:w", m))
			assert.That(t, strings.Contains(warnedOf(plan.Warnings), "it is published as it is"),
				"warnings %q", warned(plan.Warnings))

			p := must.Get(plan.Publishing(&m))(t)
			assert.Equal(t, string(p.Body), test.body)
		})
	}
}

// The bodies are as Dramatiq's JSON encoder writes them: published, and dead after its retries.
func TestDramatiqIsRestored(t *testing.T) {
	for _, test := range []struct {
		name, dead, want, does string
	}{
		{
			"retried to the end",
			`{"queue_name":"mail","actor_name":"send","args":[121,"Zo\u00eb"],"kwargs":{"retries":3},"options":{"max_retries":3,"retries":3,"traceback":"Traceback (most recent call last):\n  File \"mail.py\", line 12, in send\nTimeoutError: smtp gateway\n","requeue_timestamp":1714564790000},"message_id":"5d5b","message_timestamp":1714564700000}`,
			`{"queue_name":"mail","actor_name":"send","args":[121,"Zo\u00eb"],"kwargs":{"retries":3},"options":{"max_retries":3},"message_id":"5d5b","message_timestamp":1714564700000}`,
			"takes retries, traceback, requeue_timestamp out of Dramatiq's options, so that the workers count from 0 again",
		},
		{
			"no options of its own",
			`{"queue_name":"mail","actor_name":"send","args":[],"kwargs":{},"options":{"retries":1,"traceback":"E: x"},"message_id":"1","message_timestamp":1}`,
			`{"queue_name":"mail","actor_name":"send","args":[],"kwargs":{},"options":{},"message_id":"1","message_timestamp":1}`,
			"takes retries, traceback",
		},
		{
			"dead while it was delayed",

			`{"queue_name":"mail.DQ","actor_name":"send","args":[],"kwargs":{},"options":{"eta":1714564800000},"message_id":"1","message_timestamp":1}`,
			`{"queue_name":"mail","actor_name":"send","args":[],"kwargs":{},"options":{},"message_id":"1","message_timestamp":1}`,
			"so that it is due at once",
		},
		{
			"white space and order stay",
			"{ \"options\" : { \"retries\" : 1 , \"a\" : 1.50 , \"eta\" : 2,\n \"b\" : [ {\"eta\":1} ] } , " +
				"\"queue_name\" : \"mail\", \"actor_name\":\"send\", \"message_id\":\"1\" }\n",
			"{ \"options\" : { \"a\" : 1.50,\n \"b\" : [ {\"eta\":1} ] } , \"queue_name\" : \"mail\", " +
				"\"actor_name\":\"send\", \"message_id\":\"1\" }\n",
			"takes retries, eta",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := message.Message{
				RoutingKey: "mail.XQ", Body: []byte(test.dead), Properties: message.Properties{DeliveryMode: 2, Priority: 5},
				Headers: model.Table{"x-death": []any{}},
				Deaths:  []message.Death{{Queue: "mail", Reason: model.Rejected, RoutingKeys: []string{"mail"}}},
			}

			before := message.FingerprintOf(&m)
			e, ok := m.Envelope()
			must.That(t, ok, "%v %+v", ok, e)
			must.Equal(t, e.Problem, "")
			must.Equal(t, e.Worker, "mail")
			must.Contains(t, e.Does, test.does)
			assert.Same(t, test.want, string(e.Original.Body))
			topology := build.TopologyOf("4.0.5", build.DramatiqParts...)
			plan := newRun(topology, replayOf("mail.XQ", "", m))
			must.That(t, !plan.Refusal.Refused(), "refusal %q, warnings %q", plan.Refusal.Words(), warned(plan.Warnings))
			must.Contains(t, warnedOf(plan.Warnings), test.does)
			p := must.Get(plan.Publishing(&m))(t)
			want := message.Publishing{
				Address:    model.Address{Exchange: "", RoutingKey: "mail"},
				Properties: message.Properties{DeliveryMode: 2, Priority: 5}, Body: []byte(test.want), Reaches: p.Reaches,
			}

			assert.Same(t, want, p)
			assert.Equal(t, message.FingerprintOf(&m), before, "the message in the queue changed")
			assert.Equal(t, string(m.Body), test.dead, "the message in the queue changed")
		})
	}
}

func TestEasyNetQIsReplayedAsItWas(t *testing.T) {
	topology := build.Described("4.0.5",
		`
			exchange topic Orders:Shop
			queue Orders:Shop_billing consumers=1
			bind Orders:Shop # Orders:Shop_billing
			queue Orders:Shop_stock consumers=1
			bind Orders:Shop # Orders:Shop_stock
			exchange direct ErrorExchange_orders.new
			queue EasyNetQ_Default_Error_Queue ready=1
			bind ErrorExchange_orders.new orders.new EasyNetQ_Default_Error_Queue
		`)

	m := message.Message{
		Exchange: "ErrorExchange_orders.new", RoutingKey: "orders.new", Body: []byte(build.EasyNetQ3),
		Properties: message.Properties{DeliveryMode: 2, Type: "EasyNetQ.SystemMessages.Error:EasyNetQ"},
	}

	// Its exchange also leads to stock, where nothing failed: only the queue in which it failed gets it again.
	guest := replayOf("EasyNetQ_Default_Error_Queue", "", m)
	guest.User = "guest"
	plan := newRun(topology, guest)
	must.That(t, !plan.Refusal.Refused(), "refusal %q, ways %+v", plan.Refusal.Words(), plan.Ways)
	must.Equal(t, len(plan.Ways), 1)
	must.Equal(t, plan.Ways[0].Address, model.Address{Exchange: "", RoutingKey: "Orders:Shop_billing"})
	must.Equal(t, plan.Ways[0].Why, "the worker that it failed in, as EasyNetQ wrote it")

	assert.That(t, strings.Contains(warnedOf(plan.Warnings), "unwraps the EasyNetQ envelope"),
		"warnings %q", warned(plan.Warnings))
	assert.Same(t, []string{"expiration"}, plan.Strips)
	p := must.Get(plan.Publishing(&m))(t)

	want := message.Publishing{
		Address: model.Address{Exchange: "", RoutingKey: "Orders:Shop_billing"},
		Properties: message.Properties{
			DeliveryMode: 2, CorrelationID: "c-1", Timestamp: time.Unix(1714564800, 0).UTC(), Type: "Orders:Shop",
		},
		Headers: model.Table{"tenant": "blue", "attempt": int64(2), "ratio": 0.5, "urgent": true, "nothing": nil},
		Body:    []byte(`{"Id":121,"Name":"Zo\u00eb \"Z\" Łuk — 日本 \/","Big":12345678901234567890.10}`),
		Reaches: p.Reaches,
	}

	assert.Same(t, want, p)
	origin := New(topology, replayOf("EasyNetQ_Default_Error_Queue", "origin", m))
	assert.Equal(t, origin.Ways[0].Address, model.Address{Exchange: "Orders:Shop", RoutingKey: "orders.new"})
	assert.Equal(t, len(origin.Recipients), 2, "its origin %+v", origin.Ways)
}

// A shared error queue belongs to no flow: the message itself names its worker, if that still exists.
func TestReplayToTheWorkerNamedInTheMessage(t *testing.T) {
	topology := build.Described("4.0.5", `
		queue mail consumers=1
		queue stock consumers=1
		queue error
	`)
	for worker, want := range map[string]string{
		"mail": "", "gone": "the worker is not here: gone, which is gone (NServiceBus",
		"error": "has no trace of its worker",
	} {
		m := message.Message{RoutingKey: "error", Headers: model.Table{"NServiceBus.FailedQ": worker}}
		plan := newRun(topology, replayOf("error", "", m))
		assert.Contains(t, plan.Refusal.Words(), want, "%s: refusal", worker)
		assert.That(t, want != "" || len(plan.Ways) == 1 && plan.Ways[0].Address == (model.Address{RoutingKey: worker}),
			"%s: %q %+v", worker, plan.Refusal.Words(), plan.Ways)
	}
}

func programmed(t testing.TB, text string) *mend.Program {
	t.Helper()
	return must.Get(mend.Parse(text))(t).Within(t.Context(), mend.InProcess{})
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
	topology := build.TopologyOf("4.0.5", append(build.ScenarioParts["pubsub"], build.Text(`
		queue parking
		queue other consumers=1
	`))...)
	want := wantTo(t, topology, "ucenter@user@failed", "exchange:master/ucenter@user", messages...)
	want.User, want.Mark, want.Mend, want.Selection = "guest", true, programmed(t, program), chosen(messages)
	if change != nil {
		change(&want)
	}

	return New(topology, want), topology
}

func TestMended(t *testing.T) {
	p, topology := mendedBy(t, `(.body.n | tonumber) as $n | if $n == 1 then . elif $n == 2 then empty
		else .body.n = $n | .headers.fixed = true end`, numbered(9), nil)
	m := p.Mended
	must.That(t, !p.Refusal.Refused(), "%v %+v", p.Refusal.Words(), m)
	must.That(t, m != nil, "%v %+v", p.Refusal.Words(), m)
	must.Equal(t, m.Changed, 7)
	must.Equal(t, m.Same, 1)
	must.Equal(t, m.Stay, 1)
	must.Equal(t, m.Looked(), 9)
	must.Equal(t, len(m.Failures), 1, "%+v", m.Failures)
	assert.Equal(t, m.Failures[0].Messages, 1)
	assert.Equal(t, m.Failures[0].Why.(NotMended).Why.Kind, mend.Nothing)
	must.Equal(t, len(m.Shown), 5, "%+v", m.Shown)
	must.Equal(t, m.Shown[0].Position, 3)
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
		assert.Equal(t, err != nil, want == "", "%s: %v", out.Body, err)
		assert.That(t, err != nil || string(out.Body) == want, "%s: %v", out.Body, err)
		assert.That(t, want == "" || out.Headers[message.ReplayHeader] != nil && out.Headers["x-death"] == nil &&
			(out.Headers["fixed"] != nil) == (i == 2) && len(out.Reaches) == 1, "%v %v", out.Headers, out.Reaches)
	}

	assert.That(t, p.KeepsWhole(), "the journal would not keep all of it")
	assert.That(t, p.Intent(9).Mend == p.Mend, "the journal would not keep all of it")
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
		must.That(t, err == nil, "%v %v %v", name, err, p.Mended)
		must.Equal(t, p.Mended.Same, 1, "%v", name)
		run.Mend = nil
		plain, err := run.Publishing(&messages[0])
		diff := cmp.Diff(plain, mended)
		must.That(t, err == nil, "%s: %v %s", name, err, diff)
		assert.NoDiff(t, diff, "%v", name)
		n, _, _ := (&message.Message{Headers: mended.Headers}).Replays()
		assert.That(t, !mark || n == 3, "%s: %v", name, mended.Headers)
		assert.That(t, mark || n == 2, "%s: %v", name, mended.Headers)
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
		assert.Contains(t, p.Refusal.Words(), test.want, "%v", test.name)
		assert.Equal(t, p.Mended.Stay, 2, "%v", test.name)
		run := p.On(topology)
		_, err := run.Publishing(&numbered(1)[0])
		assert.Fails(t, err, test.want, "%v", test.name)
	}
}

// A changed address is another way, which the plan names.
func TestMendedAddress(t *testing.T) {
	const second = `if .body.n == "2" then .exchange = "" | .routing_key = "other" else . end`
	p, topology := mendedBy(t, second, numbered(3), nil)
	must.That(t, !p.Refusal.Refused(), "%s %+v %+v", p.Refusal.Words(), p.Ways, p.Recipients)
	must.Equal(t, len(p.Ways), 2)
	must.Equal(t, len(p.Recipients), 2)
	must.Equal(t, p.Mended.Changed, 1)
	must.Equal(t, p.Mended.Same, 2)
	run := p.On(topology)
	out, err := run.Publishing(&numbered(2)[1])
	must.Do(t, err)
	assert.Equal(t, out.RoutingKey, "other")
	must.Equal(t, len(out.Reaches), 1, "%+v %v", out, err)
	assert.Equal(t, out.Reaches[0].Name, "other")

	// An address outside the sample is refused.
	few, topology := mendedBy(t, second, numbered(1), nil)
	run = few.On(topology)
	_, err = run.Publishing(&numbered(2)[1])
	assert.Fails(t, err, "does not name")
}

func TestMendedMove(t *testing.T) {
	move := func(w *ActionWant) {
		w.Operation = Move
		w.Mode = target.ToQueue
		w.Fixed = model.Address{RoutingKey: "parking"}
	}

	p, topology := mendedBy(t, `.body.n |= tonumber`, numbered(2), move)
	run := p.On(topology)
	out, err := run.Publishing(&numbered(1)[0])
	must.Do(t, err)
	assert.That(t, !p.Refusal.Refused(), "%s %v %+v", p.Refusal.Words(), err, out)
	assert.That(t, out.Headers["x-death"] != nil, "%s %v %+v", p.Refusal.Words(), err, out)
	assert.Equal(t, string(out.Body), `{"n": 1, "rest": [1, 2]}`)
	elsewhere, _ := mendedBy(t, `.routing_key = "other"`, numbered(2), move)
	want := "the address is changed by the jq program, and a move goes to one queue"
	assert.Equal(t, elsewhere.Refusal.Words(), want)
}

// A program that never ends is not tried on all of a thousand messages.
func TestEndlessProgram(t *testing.T) {
	p, _ := mendedBy(t, `if .body.n == "1" then . else def f: f; f end`, numbered(1000), nil)
	assert.Equal(t, p.Refusal.Words(), "the jq program did not end within 1 million steps")
	m := p.Mended
	assert.Equal(t, m.Same, 1)
	assert.Equal(t, m.Stay, 999)
	assert.Equal(t, m.Failures[0].Messages, mostEndless)
	none, _ := mendedBy(t, `.`, numbered(2), nil)
	must.That(t, len(none.Warnings) > 0, "%+v", none.Warnings)
	assert.Equal(t, none.Warnings[len(none.Warnings)-1].Says, mendsNothing().Says)
}

// A resume changes the rest with the same program.
func TestIntentKeepsTheProgram(t *testing.T) {
	p, _ := mendedBy(t, `.body.n = "\u00fc"`, numbered(1), nil)
	text := must.Get(json.Marshal(p.Intent(1)))(t)
	read, err := ParseIntent(text)
	must.Do(t, err)
	must.That(t, read.Mend != nil, "%+v %v", read, err)
	must.Equal(t, read.Mend.Text, p.Mend.Text)
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
