package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/draft"
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
	must.That(t, shown.Address == (model.Address{Exchange: "master", RoutingKey: "ucenter@user"}) &&
		shown.Headers["own"] == "x" && len(shown.Headers) == 3 && shown.Properties.Expiration == "" &&
		shown.Properties.UserID == "", "%+v", shown)
	edited := must.Get(draft.Parse([]byte(strings.NewReplacer(`{"id":1}`, `{"id":2,"fixed":true}`, `"own": "x"`,
		`"own": "y"`, `"properties": {`, `"properties": {"expiration": "70",`).Replace(string(shown.Text())))))(t)
	delete(edited.Headers, "old")
	plan := newRun(topology, ActionWant{
		Operation: Replay, From: build.Ref("ucenter@user@failed"), Sample: message.MessageList{m},
		Selection: Chosen([]message.Message{m}), Planned: 1, User: "guest", Mark: true, Edited: &edited,
	})
	assert.That(t, !plan.Refusal.Refused() && strings.Join(plan.Strips, " ") == "user_id x-death",
		"%s %v", plan.Refusal.Words(), plan.Strips)
	p := must.Get(plan.Publishing(&m))(t)
	replayed := message.Message{Headers: p.Headers}
	n, _, _ := replayed.Replays()
	assert.That(t, n == 3 && p.Headers["own"] == "y" && p.Headers["x-orig-routing-key"] == "user.create" &&
		len(p.Headers) == 3 && string(p.Body) == `{"id":2,"fixed":true}` && p.Properties.Expiration == "70" &&
		p.Address == shown.Address, "%+v %q", p, p.Body)
	e := NewEntry(&m, &p, true)
	assert.That(t, e.Message != nil && string(e.Message.Body) == `{"id":1}`, "kept %+v", e.Message)
	r := Record{Operation: Replay, User: "guest"}
	line := must.Get(model.JSONLine(e.JSON()))(t)
	again := must.Get(ParseEntry(line))(t)
	got, want := strings.Join(r.Changes(&again),
		"; "), "without user_id somebody; without old, x-death; changed dlxtop-replay, own; changed expiration, the "+
		"body (21B instead of 8B)"
	assert.That(t, got == want, "%s, want %s", got, want)
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
			must.That(t, ok && strings.Contains(e.Problem, test.problem),
				"%v %q, want a problem with %q", ok, e.Problem, test.problem)
			topology := build.TopologyOf("4.0.5", build.Queue("errors"), build.Queue("w", build.Consumers(1)))
			plan := newRun(topology, ActionWant{
				Operation: Replay, From: build.Ref("errors"), Sample: message.MessageList{m}, Planned: 1, Mode: target.ToQueue,
				Fixed: model.Address{Exchange: "", RoutingKey: "w"},
			})
			assert.That(t, strings.Contains(warnedOf(plan.Warnings), "it is published as it is"),
				"warnings %q", warned(plan.Warnings))
			p, err := plan.Publishing(&m)
			assert.That(t, err == nil && string(p.Body) == test.body, "%v %q", err, p.Body)
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
			must.That(t, ok && e.Problem == "" && e.Worker == "mail" && strings.Contains(e.Does, test.does), "%v %+v", ok, e)
			assert.NoDiff(t, cmp.Diff(test.want, string(e.Original.Body)))
			topology := build.TopologyOf("4.0.5", build.DramatiqParts...)
			plan := newRun(topology, ActionWant{
				Operation: Replay, From: build.Ref("mail.XQ"), Sample: message.MessageList{m}, Planned: 1,
			})
			must.That(t, !plan.Refusal.Refused() && strings.Contains(warnedOf(plan.Warnings), test.does),
				"refusal %q, warnings %q", plan.Refusal.Words(), warned(plan.Warnings))
			p := must.Get(plan.Publishing(&m))(t)
			want := message.Publishing{
				Address:    model.Address{Exchange: "", RoutingKey: "mail"},
				Properties: message.Properties{DeliveryMode: 2, Priority: 5}, Body: []byte(test.want), Reaches: p.Reaches,
			}
			assert.NoDiff(t, cmp.Diff(want, p))
			assert.That(t, message.FingerprintOf(&m) == before && string(m.Body) == test.dead,
				"the message in the queue changed")
		})
	}
}

func TestEasyNetQIsReplayedAsItWas(t *testing.T) {
	topology := build.TopologyOf("4.0.5",
		build.Exchange("topic", "Orders:Shop"), build.Queue("Orders:Shop_billing", build.Consumers(1)),
		build.Bind("Orders:Shop", "#", "Orders:Shop_billing"),
		build.Queue("Orders:Shop_stock", build.Consumers(1)), build.Bind("Orders:Shop", "#", "Orders:Shop_stock"),
		build.Exchange("direct", "ErrorExchange_orders.new"),
		build.Queue("EasyNetQ_Default_Error_Queue", build.Ready(1)),
		build.Bind("ErrorExchange_orders.new", "orders.new", "EasyNetQ_Default_Error_Queue"))
	m := message.Message{
		Exchange: "ErrorExchange_orders.new", RoutingKey: "orders.new", Body: []byte(build.EasyNetQ3),
		Properties: message.Properties{DeliveryMode: 2, Type: "EasyNetQ.SystemMessages.Error:EasyNetQ"},
	}
	from := build.Ref("EasyNetQ_Default_Error_Queue")
	// Its exchange also leads to stock, where nothing failed: only the queue in which it failed gets it again.
	plan := newRun(topology, ActionWant{
		Operation: Replay, From: from, Sample: message.MessageList{m}, Planned: 1, User: "guest",
	})
	must.That(t, !plan.Refusal.Refused() && len(plan.Ways) == 1 &&
		plan.Ways[0].Address == (model.Address{Exchange: "", RoutingKey: "Orders:Shop_billing"}) &&
		plan.Ways[0].Why == "the worker that it failed in, as EasyNetQ wrote it", "refusal %q, ways %+v",
		plan.Refusal.Words(), plan.Ways)
	assert.That(t, strings.Contains(warnedOf(plan.Warnings), "unwraps the EasyNetQ envelope"),
		"warnings %q", warned(plan.Warnings))
	assert.NoDiff(t, cmp.Diff([]string{"expiration"}, plan.Strips))
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
	assert.NoDiff(t, cmp.Diff(want, p))
	origin := New(topology, ActionWant{
		Operation: Replay, From: from, Sample: message.MessageList{m}, Planned: 1, Mode: target.ToOrigin,
	})
	assert.That(t, origin.Ways[0].Address == (model.Address{Exchange: "Orders:Shop", RoutingKey: "orders.new"}) &&
		len(origin.Recipients) == 2, "its origin %+v", origin.Ways)
}

// A shared error queue belongs to no flow: the message itself names its worker, if that still exists.
func TestReplayToTheWorkerThatTheMessageTells(t *testing.T) {
	topology := build.TopologyOf("4.0.5", build.Queue("mail", build.Consumers(1)),
		build.Queue("stock", build.Consumers(1)), build.Queue("error"))
	for worker, want := range map[string]string{
		"mail": "", "gone": "the worker is not here: gone, which is gone (NServiceBus",
		"error": "has no trace of its worker",
	} {
		m := message.Message{RoutingKey: "error", Headers: model.Table{"NServiceBus.FailedQ": worker}}
		plan := newRun(topology, ActionWant{
			Operation: Replay, From: build.Ref("error"), Sample: message.MessageList{m}, Planned: 1,
		})
		if want != "" {
			assert.Contains(t, plan.Refusal.Words(), want, "%s: refusal", worker)
		} else if len(plan.Ways) != 1 || plan.Ways[0].Address != (model.Address{Exchange: "", RoutingKey: worker}) {
			t.Errorf("%s: %q %+v", worker, plan.Refusal.Words(), plan.Ways)
		}
	}
}
