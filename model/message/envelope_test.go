package message

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Error messages as EasyNetQ writes them: version 3 with every property and whether it was there, version 6 with
// Newtonsoft's types, version 8 with what is there.
const (
	easyNetQ6 = `{"RoutingKey":"#","Exchange":"Mail, Messages","Queue":"Mail, Messages_mailer","Exception":"System.Exception: no","Message":"<xml>ä</xml>\n","DateTime":"2024-05-01T12:00:00Z","BasicProperties":{"ContentType":"application/xml","DeliveryMode":2,"Headers":{"$type":"System.Collections.Generic.Dictionary` + "`" + `2[[System.String],[System.Object]], mscorlib","blob":{"$type":"System.Byte[], mscorlib","$value":"AAH/"},"list":["a",1]},"Expiration":"00:01:30.5000000","Priority":7,"Timestamp":0}}`
)

func TestEasyNetQEnvelope(t *testing.T) {
	for _, test := range []struct {
		name string
		body string
		want Message
	}{
		{"version 3", build.EasyNetQ3, Message{
			Exchange: "Orders:Shop", RoutingKey: "orders.new",
			Properties: Properties{
				DeliveryMode: 2, CorrelationID: "c-1", Expiration: "60000",
				Timestamp: time.Unix(1714564800, 0).UTC(), Type: "Orders:Shop",
			},
			Headers: model.Table{"tenant": "blue", "attempt": int64(2), "ratio": 0.5, "urgent": true, "nothing": nil},
			Body:    []byte(`{"Id":121,"Name":"Zo\u00eb \"Z\" Łuk — 日本 \/","Big":12345678901234567890.10}`),
		}},
		{"version 6", easyNetQ6, Message{
			Exchange: "Mail, Messages", RoutingKey: "#",
			Properties: Properties{ContentType: "application/xml", DeliveryMode: 2, Expiration: "90500", Priority: 7},
			Headers:    model.Table{"blob": []byte{0, 1, 255}, "list": []any{"a", int64(1)}},
			Body:       []byte("<xml>ä</xml>\n"),
		}},
		{
			"no properties, an empty body",
			`{"Exception":"e","RoutingKey":"","Exchange":"","Queue":"q","Message":"","BasicProperties":{}}`,
			Message{Body: []byte{}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := Message{
				Exchange: "ErrorExchange_x", Body: []byte(test.body), BodyBytes: len(test.body),
				Properties: Properties{Type: "EasyNetQ.SystemMessages.Error:EasyNetQ"},
			}
			e, ok := m.Envelope()
			must.That(t, ok && e.Problem == "", "%v %v", ok, e.Problem)
			test.want.BodyBytes = len(test.want.Body)
			assert.NoDiff(t, cmp.Diff(test.want, e.Original, sameMessage))
			m.Properties.Type = "" // recognized without it
			if again, ok := m.Envelope(); !ok || !cmp.Equal(e, again, sameMessage) {
				t.Errorf("without the type: %v %+v", ok, again)
			}
		})
	}
}

func TestNoEnvelope(t *testing.T) {
	for _, m := range []Message{
		{},
		{Body: []byte(`{"Exception":"none"}`)},
		{Body: []byte(`{"note":"\"Exception\" \"RoutingKey\"","a":{"Exception":"","RoutingKey":"","Exchange":"","Message":"","BasicProperties":{}}}`)},
		{Body: []byte(build.EasyNetQ3)[:500], BodyBytes: len(build.EasyNetQ3)}, // cut by the peek: nobody knows the rest
		{Body: []byte(`{"queue_name":"mail","actor_name":"send","args":[121],"kwargs":{},"options":{},"message_id":"1","message_timestamp":1714564700000}`)},
		{Body: []byte(`{"queue_name":1,"actor_name":"send","options":{"retries":1},"message_id":"1"}`)},
		{Body: []byte(`{"queue_name":"q","actor_name":"send","options":[{"retries":1}],"message_id":"1"}`)},
		{Body: []byte(`["queue_name","actor_name","options","message_id"]`)},
	} {
		e, ok := m.Envelope()
		assert.That(t, !ok, "%s: %+v", m.Body, e)
	}
}

func TestWorkerOfAMessage(t *testing.T) {
	for _, test := range []struct {
		name             string
		m                Message
		queue, framework string
	}{
		{"NServiceBus", Message{Headers: model.Table{"NServiceBus.FailedQ": "mail"}}, "mail", "NServiceBus"},
		{"Rebus", Message{Headers: model.Table{"rbs2-source-queue": "mail", "rbs2-error-details": "E: x"}}, "mail", "Rebus"},
		{"Rebus, that did not fail", Message{Headers: model.Table{"rbs2-source-queue": "mail"}}, "", ""},
		{"Rascal", Message{Headers: model.Table{"rascal": model.Table{
			"originalQueue": "mail",
			"error":         model.Table{"message": "x"},
		}}}, "mail", "Rascal"},
		{"MassTransit", Message{Headers: model.Table{
			"MT-Fault-InputAddress": "rabbitmq://localhost/vh/send%20mail?durable=true",
		}}, "send mail", "MassTransit"},
		{"Watermill", Message{Headers: model.Table{"topic_poisoned": "mail", "reason_poisoned": "x"}}, "mail", "Watermill"},
		{"EasyNetQ", Message{Body: []byte(build.EasyNetQ3)}, "Orders:Shop_billing", "EasyNetQ"},
		{"none", Message{Headers: model.Table{"x": "y"}, Deaths: []Death{{Queue: "mail"}}}, "", ""},
	} {
		if queue, framework, ok := test.m.Worker(); queue != test.queue || framework != test.framework ||
			ok != (test.queue != "") {
			t.Errorf("%s: %q %q %v", test.name, queue, framework, ok)
		}
	}
}
