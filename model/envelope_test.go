package model

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Error messages as EasyNetQ writes them: version 3 with every property and whether it was there, version 6 with Newtonsoft's
// types, version 8 with what is there.
const (
	easyNetQ3 = `{"RoutingKey":"orders.new","Exchange":"Orders:Shop","Queue":"Orders:Shop_billing","Exception":"System.TimeoutException: smtp gateway\r\n   at Mail.Send()","Message":"{\"Id\":121,\"Name\":\"Zo\\u00eb \\\"Z\\\" Łuk — 日本 \\/\",\"Big\":12345678901234567890.10}","DateTime":"2024-05-01T12:00:00.1234567Z","BasicProperties":{"ContentTypePresent":false,"ContentEncodingPresent":false,"HeadersPresent":true,"DeliveryModePresent":true,"PriorityPresent":false,"CorrelationIdPresent":true,"ReplyToPresent":false,"ExpirationPresent":true,"MessageIdPresent":false,"TimestampPresent":true,"TypePresent":true,"UserIdPresent":false,"AppIdPresent":false,"ClusterIdPresent":false,"ContentType":null,"ContentEncoding":null,"Headers":{"tenant":"blue","attempt":2,"ratio":0.5,"urgent":true,"nothing":null},"DeliveryMode":2,"Priority":0,"CorrelationId":"c-1","ReplyTo":null,"Expiration":"60000","MessageId":null,"Timestamp":1714564800,"Type":"Orders:Shop","UserId":null,"AppId":null,"ClusterId":null,"PropertyFlags":4096}}`
	easyNetQ6 = `{"RoutingKey":"#","Exchange":"Mail, Messages","Queue":"Mail, Messages_mailer","Exception":"System.Exception: no","Message":"<xml>ä</xml>\n","DateTime":"2024-05-01T12:00:00Z","BasicProperties":{"ContentType":"application/xml","DeliveryMode":2,"Headers":{"$type":"System.Collections.Generic.Dictionary` + "`" + `2[[System.String],[System.Object]], mscorlib","blob":{"$type":"System.Byte[], mscorlib","$value":"AAH/"},"list":["a",1]},"Expiration":"00:01:30.5000000","Priority":7,"Timestamp":0}}`
)

func TestEasyNetQEnvelope(t *testing.T) {
	for _, test := range []struct {
		name string
		body string
		want Message
	}{
		{"version 3", easyNetQ3, Message{
			Exchange: "Orders:Shop", RoutingKey: "orders.new",
			Properties: Properties{DeliveryMode: 2, CorrelationID: "c-1", Expiration: "60000", Timestamp: time.Unix(1714564800, 0).UTC(), Type: "Orders:Shop"},
			Headers:    Table{"tenant": "blue", "attempt": int64(2), "ratio": 0.5, "urgent": true, "nothing": nil},
			Body:       []byte(`{"Id":121,"Name":"Zo\u00eb \"Z\" Łuk — 日本 \/","Big":12345678901234567890.10}`),
		}},
		{"version 6", easyNetQ6, Message{
			Exchange: "Mail, Messages", RoutingKey: "#",
			Properties: Properties{ContentType: "application/xml", DeliveryMode: 2, Expiration: "90500", Priority: 7},
			Headers:    Table{"blob": []byte{0, 1, 255}, "list": []any{"a", int64(1)}},
			Body:       []byte("<xml>ä</xml>\n"),
		}},
		{"no properties, an empty body", `{"Exception":"e","RoutingKey":"","Exchange":"","Queue":"q","Message":"","BasicProperties":{}}`, Message{Body: []byte{}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := Message{Exchange: "ErrorExchange_x", Body: []byte(test.body), BodyBytes: len(test.body), Properties: Properties{Type: "EasyNetQ.SystemMessages.Error:EasyNetQ"}}
			e, ok := m.Envelope()
			if !ok || e.Problem != "" {
				t.Fatal(ok, e.Problem)
			}
			test.want.BodyBytes = len(test.want.Body)
			if diff := cmp.Diff(test.want, e.Original); diff != "" {
				t.Error(diff)
			}
			m.Properties.Type = "" // recognized without it
			if again, ok := m.Envelope(); !ok || !cmp.Equal(e, again) {
				t.Errorf("without the type: %v %+v", ok, again)
			}
		})
	}
}

func TestDamagedEnvelopesStayAsTheyAre(t *testing.T) {
	for _, test := range []struct{ name, body, problem string }{
		{"the body was no text", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"a` + "\uFFFD" + `b","BasicProperties":{}}`, "lost bytes"},
		{"half a character", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"\ud83d","BasicProperties":{}}`, "lost bytes"},
		{"a message that is no text", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":{"a":1},"BasicProperties":{}}`, "no Message"},
		{"no exchange", `{"Exception":"e","RoutingKey":"k","Exchange":null,"Queue":"q","Message":"m","BasicProperties":{}}`, "no Exchange"},
		{"no properties", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"m","BasicProperties":null}`, "no BasicProperties"},
		{"a property of another type", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"m","BasicProperties":{"DeliveryMode":"two"}}`, "a property that is none"},
		{"headers of another type", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"m","BasicProperties":{"Headers":[1]}}`, "Headers"},
		{"cut off", `{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","BasicProperties":{},"Message":"m`, "no JSON"},
		{"Dramatiq, cut off", `{"queue_name":"q","actor_name":"a","args":[],"kwargs":{},"message_id":"1","options":{"retries":`, "no JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := Message{Body: []byte(test.body), RoutingKey: "k"}
			e, ok := m.Envelope()
			if !ok || !strings.Contains(e.Problem, test.problem) {
				t.Fatalf("%v %q, want a problem with %q", ok, e.Problem, test.problem)
			}
			topology := topologyOf("4.0.5", queue("errors"), queue("w", consumers(1)))
			plan := topology.Plan(ActionWant{Operation: Replay, From: ref("errors"), Sample: MessageList{m}, Planned: 1, Mode: ToQueue, Fixed: Address{"", "w"}})
			if !strings.Contains(strings.Join(plan.Warnings, "\n"), "it is published as it is") {
				t.Errorf("warnings %q", plan.Warnings)
			}
			p, err := plan.Publishing(&m)
			if err != nil || string(p.Body) != test.body {
				t.Errorf("%v %q", err, p.Body)
			}
		})
	}
}

func TestNoEnvelope(t *testing.T) {
	for _, m := range []Message{
		{},
		{Body: []byte(`{"Exception":"none"}`)},
		{Body: []byte(`{"note":"\"Exception\" \"RoutingKey\"","a":{"Exception":"","RoutingKey":"","Exchange":"","Message":"","BasicProperties":{}}}`)},
		{Body: []byte(easyNetQ3)[:500], BodyBytes: len(easyNetQ3)}, // cut by the peek: nobody knows the rest
		{Body: []byte(`{"queue_name":"mail","actor_name":"send","args":[121],"kwargs":{},"options":{},"message_id":"1","message_timestamp":1714564700000}`)},
		{Body: []byte(`{"queue_name":1,"actor_name":"send","options":{"retries":1},"message_id":"1"}`)},
		{Body: []byte(`{"queue_name":"q","actor_name":"send","options":[{"retries":1}],"message_id":"1"}`)},
		{Body: []byte(`["queue_name","actor_name","options","message_id"]`)},
	} {
		if e, ok := m.Envelope(); ok {
			t.Errorf("%s: %+v", m.Body, e)
		}
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
			"{ \"options\" : { \"retries\" : 1 , \"a\" : 1.50 , \"eta\" : 2,\n \"b\" : [ {\"eta\":1} ] } , \"queue_name\" : \"mail\", \"actor_name\":\"send\", \"message_id\":\"1\" }\n",
			"{ \"options\" : { \"a\" : 1.50,\n \"b\" : [ {\"eta\":1} ] } , \"queue_name\" : \"mail\", \"actor_name\":\"send\", \"message_id\":\"1\" }\n",
			"takes retries, eta",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := Message{
				RoutingKey: "mail.XQ", Body: []byte(test.dead), Properties: Properties{DeliveryMode: 2, Priority: 5},
				Headers: Table{"x-death": []any{}}, Deaths: []Death{{Queue: "mail", Reason: Rejected, RoutingKeys: []string{"mail"}}},
			}
			before := FingerprintOf(&m)
			e, ok := m.Envelope()
			if !ok || e.Problem != "" || e.Worker != "mail" || !strings.Contains(e.Does, test.does) {
				t.Fatalf("%v %+v", ok, e)
			}
			if diff := cmp.Diff(test.want, string(e.Original.Body)); diff != "" {
				t.Error(diff)
			}
			topology := topologyOf("4.0.5", dramatiqParts...)
			plan := topology.Plan(ActionWant{Operation: Replay, From: ref("mail.XQ"), Sample: MessageList{m}, Planned: 1})
			if plan.Refusal != "" || !strings.Contains(strings.Join(plan.Warnings, "\n"), test.does) {
				t.Fatalf("refusal %q, warnings %q", plan.Refusal, plan.Warnings)
			}
			p, err := plan.Publishing(&m)
			if err != nil {
				t.Fatal(err)
			}
			want := Publishing{Address: Address{"", "mail"}, Properties: Properties{DeliveryMode: 2, Priority: 5}, Body: []byte(test.want), Reaches: p.Reaches}
			if diff := cmp.Diff(want, p); diff != "" {
				t.Error(diff)
			}
			if FingerprintOf(&m) != before || string(m.Body) != test.dead {
				t.Error("the message in the queue changed")
			}
		})
	}
}

func TestEasyNetQIsReplayedAsItWas(t *testing.T) {
	topology := topologyOf("4.0.5",
		exchange("topic", "Orders:Shop"), queue("Orders:Shop_billing", consumers(1)), bind("Orders:Shop", "#", "Orders:Shop_billing"),
		queue("Orders:Shop_stock", consumers(1)), bind("Orders:Shop", "#", "Orders:Shop_stock"),
		exchange("direct", "ErrorExchange_orders.new"), queue("EasyNetQ_Default_Error_Queue", ready(1)), bind("ErrorExchange_orders.new", "orders.new", "EasyNetQ_Default_Error_Queue"))
	m := Message{Exchange: "ErrorExchange_orders.new", RoutingKey: "orders.new", Body: []byte(easyNetQ3), Properties: Properties{DeliveryMode: 2, Type: "EasyNetQ.SystemMessages.Error:EasyNetQ"}}
	from := ref("EasyNetQ_Default_Error_Queue")
	// Its exchange would reach stock too, which had no trouble: only the queue in which it failed gets it again.
	plan := topology.Plan(ActionWant{Operation: Replay, From: from, Sample: MessageList{m}, Planned: 1, User: "guest"})
	if plan.Refusal != "" || len(plan.Ways) != 1 || plan.Ways[0].Address != (Address{"", "Orders:Shop_billing"}) || plan.Ways[0].Why != "the worker that it failed in, as EasyNetQ wrote it" {
		t.Fatalf("refusal %q, ways %+v", plan.Refusal, plan.Ways)
	}
	if !strings.Contains(strings.Join(plan.Warnings, "\n"), "unwraps the EasyNetQ envelope") {
		t.Errorf("warnings %q", plan.Warnings)
	}
	if diff := cmp.Diff([]string{"expiration"}, plan.Strips); diff != "" {
		t.Error(diff)
	}
	p, err := plan.Publishing(&m)
	if err != nil {
		t.Fatal(err)
	}
	want := Publishing{
		Address:    Address{"", "Orders:Shop_billing"},
		Properties: Properties{DeliveryMode: 2, CorrelationID: "c-1", Timestamp: time.Unix(1714564800, 0).UTC(), Type: "Orders:Shop"},
		Headers:    Table{"tenant": "blue", "attempt": int64(2), "ratio": 0.5, "urgent": true, "nothing": nil},
		Body:       []byte(`{"Id":121,"Name":"Zo\u00eb \"Z\" Łuk — 日本 \/","Big":12345678901234567890.10}`),
		Reaches:    p.Reaches,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
	origin := topology.Plan(ActionWant{Operation: Replay, From: from, Sample: MessageList{m}, Planned: 1, Mode: ToOrigin})
	if origin.Ways[0].Address != (Address{"Orders:Shop", "orders.new"}) || len(origin.Recipients) != 2 {
		t.Errorf("its origin %+v", origin.Ways)
	}
}

func TestWorkerOfAMessage(t *testing.T) {
	for _, test := range []struct {
		name             string
		m                Message
		queue, framework string
	}{
		{"NServiceBus", Message{Headers: Table{"NServiceBus.FailedQ": "mail"}}, "mail", "NServiceBus"},
		{"Rebus", Message{Headers: Table{"rbs2-source-queue": "mail", "rbs2-error-details": "E: x"}}, "mail", "Rebus"},
		{"Rebus, that did not fail", Message{Headers: Table{"rbs2-source-queue": "mail"}}, "", ""},
		{"Rascal", Message{Headers: Table{"rascal": Table{"originalQueue": "mail", "error": Table{"message": "x"}}}}, "mail", "Rascal"},
		{"MassTransit", Message{Headers: Table{"MT-Fault-InputAddress": "rabbitmq://localhost/vh/send%20mail?durable=true"}}, "send mail", "MassTransit"},
		{"Watermill", Message{Headers: Table{"topic_poisoned": "mail", "reason_poisoned": "x"}}, "mail", "Watermill"},
		{"EasyNetQ", Message{Body: []byte(easyNetQ3)}, "Orders:Shop_billing", "EasyNetQ"},
		{"none", Message{Headers: Table{"x": "y"}, Deaths: []Death{{Queue: "mail"}}}, "", ""},
	} {
		if queue, framework, ok := test.m.Worker(); queue != test.queue || framework != test.framework || ok != (test.queue != "") {
			t.Errorf("%s: %q %q %v", test.name, queue, framework, ok)
		}
	}
}

// A shared error queue belongs to no flow: the message itself tells its worker, if that still is there.
func TestReplayToTheWorkerThatTheMessageTells(t *testing.T) {
	topology := topologyOf("4.0.5", queue("mail", consumers(1)), queue("stock", consumers(1)), queue("error"))
	for worker, want := range map[string]string{"mail": "", "gone": "does not tell its worker", "error": "does not tell its worker"} {
		m := Message{RoutingKey: "error", Headers: Table{"NServiceBus.FailedQ": worker}}
		plan := topology.Plan(ActionWant{Operation: Replay, From: ref("error"), Sample: MessageList{m}, Planned: 1})
		if want != "" {
			if !strings.Contains(plan.Refusal, want) {
				t.Errorf("%s: refusal %q", worker, plan.Refusal)
			}
		} else if len(plan.Ways) != 1 || plan.Ways[0].Address != (Address{"", worker}) {
			t.Errorf("%s: %q %+v", worker, plan.Refusal, plan.Ways)
		}
	}
}

var dramatiqParts = []part{
	queue("mail", consumers(1), dlx(""), deadKey("mail.XQ")), queue("mail.DQ", consumers(1), dlx(""), deadKey("mail.XQ")), queue("mail.XQ", ttl(604800000)),
}
