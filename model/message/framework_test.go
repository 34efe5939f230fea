package message

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Messages as the frameworks write them, and similar bodies without a framework.
const (
	machineryTask = `{"UUID":"task_5c7b5b4a-6c3f-4f8a-9a53-2f9ab6a4c4d1","Name":"ship","RoutingKey":"machinery_task",` +
		`"ETA":"2026-11-22T07:00:05.123456789Z","GroupUUID":"","GroupTaskCount":0,"Args":[{"Name":"","Type":"int64",` +
		`"Value":7}],"Headers":{},"Priority":0,"Immutable":false,"RetryCount":1,"RetryTimeout":2,"OnSuccess":null,` +
		`"OnError":null,"ChordCallback":null,"BrokerMessageGroupId":"","SQSReceiptHandle":"",` +
		`"StopTaskDeletionOnError":false,"IgnoreWhenTaskNotRegistered":false}`
	celeryFirst = `{"task": "shop.charge", "id": "3f8a", "args": [9], "kwargs": {"user": "bob"}, "group": null, ` +
		`"retries": 2, "eta": "2026-11-22T07:00:05.123456+00:00", "expires": null, "utc": true, "callbacks": null, ` +
		`"errbacks": null, "timelimit": [null, null], "taskset": null, "chord": null}`
	faktoryJob = `{"jid":"a1b2c3","queue":"mail","jobtype":"SendMail","args":[1],"retry":25,"failure":{"retry_count":3,` +
		`"failed_at":"2026-11-22T07:00:00Z","message":"smtp gateway","errtype":"Net::OpenTimeout"}}`
	dramatiqActor = `{"queue_name":"mail","actor_name":"send","args":[121],"kwargs":{},"options":{"retries":3},` +
		`"message_id":"5d5b","message_timestamp":1714564700000}`
	sneakersBody = `{"error":"smtp gateway","num_attempts":6,"failed_at":"2024-05-01T12:00:00Z","payload":"e30="}`
)

// written returns one message for each row of the table.
func written(t testing.TB) map[Framework]Message {
	all := map[Framework]Message{
		"EasyNetQ":  bodied(build.EasyNetQ3),
		"Dramatiq":  bodied(dramatiqActor),
		"Machinery": bodied(machineryTask),
		"Faktory":   bodied(faktoryJob),
	}

	type headers struct {
		Framework Framework
		Headers   asJSON
	}
	for _, c := range must.Cases[headers](t, "testdata/written.toml") {
		all[c.Framework] = headed(model.Table(c.Headers))
	}

	return all
}

func TestEachFrameworkIsRecognizedByWhatItWrites(t *testing.T) {
	messages := written(t)
	for _, k := range frameworks() {
		if k.Evidence == nil {
			continue
		}
		m, there := messages[k.Name]
		got := m.Frameworks()
		assert.That(t, there, "%s: %v", k.Name, got)
		assert.List(t, got, []Framework{k.Name}, "%v", k.Name)
	}

	for text, want := range map[string]Framework{
		celeryFirst: "Celery", sneakersBody: "Sneakers",
		`O:36:\"Symfony\\Component\\Messenger\\Envelope\":2:{}`:                    "Symfony Messenger",
		"TzozNjpcIlN5bWZvbnlcXENvbXBvbmVudFxcTWVzc2VuZ2VyXFxFbnZlbG9wZVwiOjI6e30=": "Symfony Messenger",
	} {
		m := Message{Body: []byte(text)}
		got, ok := m.Framework()
		assert.That(t, ok, "%s: %s", text, got)
		assert.Equal(t, got, want, "%v", text)
	}
}

// Not evidence: a queue's name, a word inside a text or a nested object, a header of another type.
func TestNoFrameworkWithoutEvidence(t *testing.T) {
	for _, m := range []Message{
		{},
		{Exchange: "celery", RoutingKey: "celery", Headers: model.Table{"x-tenant": "acme"}},
		{Headers: model.Table{"task": int32(7), "id": "x", "retries": "2", "root_id": "1"}},
		{Headers: model.Table{"rascal": "text", "retries": int32(1)}},
		{Headers: model.Table{"rascal": model.Table{"originalQueue": int64(4)}}},
		{Body: []byte(`{"wrapped":` + machineryTask + `}`)},
		{Body: []byte(`{"note":"\"UUID\":1,\"Name\":2,\"RoutingKey\":3,\"ETA\":4,\"RetryCount\":5,\"RetryTimeout\":6"}`)},
		{Body: []byte(`["UUID","Name","RoutingKey","ETA","RetryCount","RetryTimeout"]`)},
		{Body: []byte(`{"a":["UUID","Name","RoutingKey","ETA","RetryCount","RetryTimeout"]}`)},
		{Body: []byte(`{"jid\\":1,"jobtype":"\\\"","args`)},
		{Body: []byte(`"`)},
		{Body: []byte(`{"`)},
		{Body: []byte(`{"jid":"jobtype args`)},
		{Body: []byte("\x80\x04 a picture")},
	} {
		got := m.Frameworks()
		assert.That(t, got == nil, "%v %s: %v", m.Headers, m.Body, got)
	}
}

func TestTwoFrameworksInOneMessage(t *testing.T) {
	m := Message{Headers: written(t)["Celery"].Headers, Body: []byte(dramatiqActor)}
	m.Headers["x-exception-message"] = "no"
	assert.List(t, m.Frameworks(), []Framework{"Spring AMQP", "Celery", "Dramatiq"})
	got, _ := m.Framework()
	assert.Equal(t, got, "Spring AMQP")
}

// The cost of recognizing a message: the mean over all frameworks and as many messages without one; under 2 µs.
func BenchmarkFramework(b *testing.B) {
	var messages []Message
	for _, m := range written(b) {
		messages = append(messages, m, Message{
			Headers: model.Table{"tenant": "acme", "trace": "00-4bf92f3577b34da6a3ce929d0e0e4736", "n": int32(1)},
			Body:    []byte(`{"order":7,"lines":[{"sku":"a-1","n":2,"price":"12.50"}],"customer":{"id":"c-1"}}`),
		})
	}

	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, _ = messages[i%len(messages)].Framework()
	}
}

// phpText returns a text in PHP's serialize format, phpStamps an array of one class of stamps.
func phpText(s string) string { return fmt.Sprintf(`s:%d:"%s";`, len(s), s) }

func phpObject(class string, properties ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `O:%d:"%s":%d:{`, len(class), class, len(properties)/2)
	for i := 0; i < len(properties); i += 2 {
		b.WriteString(phpText("\x00" + class + "\x00" + properties[i]))
		b.WriteString(properties[i+1])
	}

	return b.String() + "}"
}

func phpStamps(class string, stamps ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sa:%d:{", phpText(class), len(stamps))
	for i, s := range stamps {
		fmt.Fprintf(&b, "i:%d;%s", i, s)
	}
	return b.String() + "}"
}

// symfonyEnvelope returns a body as Symfony 5.4 writes it into its failure transport, with these lists of stamps.
func symfonyEnvelope(message string, stamps ...string) []byte {
	const envelope = `Symfony\Component\Messenger\Envelope`
	list := fmt.Sprintf("a:%d:{%s}", len(stamps), strings.Join(stamps, ""))
	return []byte(addSlashes.Replace(phpObject(envelope, "stamps", list, "message", message)))
}

const busStamp = stampClass + "BusNameStamp"

var (
	symfonyInvoice = phpObject("SendInvoice", "id", "i:7;", "mail", phpText(`o'neil "z" \ @example.com`))
	symfonyBus     = phpStamps(busStamp, phpObject(busStamp, "busName", phpText("messenger.bus.default")))
	symfonyRetries = phpStamps(symfonyRedelivery, phpObject(symfonyRedelivery, "retryCount", "i:1;"),
		phpObject(symfonyRedelivery, "retryCount", "i:2;"), phpObject(symfonyRedelivery, "retryCount", "i:0;"))
	symfonyDetails = phpStamps(symfonyError, phpObject(symfonyError, "exceptionClass", phpText(`App\MailException`),
		"exceptionCode", "i:550;", "exceptionMessage", phpText("SMTP 550 mailbox unavailable"), "flattenException", "N;"))
	symfonyFailure = phpStamps(symfonyFailed, phpObject(symfonyFailed, "originalReceiverName", phpText("async")))
)

// failedOfSymfony returns one failed message in each of Symfony's two serializers.
func failedOfSymfony() (php, json Message) {
	php.Body = symfonyEnvelope(symfonyInvoice, symfonyBus, symfonyRetries, symfonyDetails, symfonyFailure)
	php.BodyBytes = len(php.Body)
	json.Headers = model.Table{
		"type": "SendInvoice", "Content-Type": "application/json",
		symfonyStamp + busStamp:          `[{"busName":"messenger.bus.default"}]`,
		symfonyStamp + symfonyRedelivery: `[{"retryCount":1,"redeliveredAt":"2026-11-22T07:00:00+00:00"},{"retryCount":2},{"retryCount":0}]`,
		symfonyStamp + symfonyError: `[{"exceptionClass":"App\\MailException","exceptionCode":550,` +
			`"exceptionMessage":"SMTP 550 mailbox unavailable","flattenException":null}]`,
		symfonyStamp + symfonyFailed: `[{"originalReceiverName":"async"}]`,
	}

	return php, json
}

func TestSymfonyIsReadFromHeadersAndBodies(t *testing.T) {
	php, json := failedOfSymfony()
	for name, m := range map[string]Message{"PHP": php, "JSON": json} {
		failure, _ := m.Failure()
		want := Failure{`App\MailException`, "SMTP 550 mailbox unavailable", "Symfony Messenger"}
		task, _ := m.Task()
		retries, more, _ := m.Retried()
		assert.Equal(t, failure, want, "%v", name)
		assert.Equal(t, task, "SendInvoice", "%v", name)
		assert.Equal(t, retries, 2, "%v", name)
		assert.That(t, more, "%s: %+v, %q, %d", name, failure, task, retries)
	}
}

// The stamps that a first try does not have are removed, and every other byte stays.
func TestSymfonyIsReset(t *testing.T) {
	php, json := failedOfSymfony()
	want := []Reset{
		{"Symfony Messenger", CounterReset, "RedeliveryStamp", "", 2, 0, ""},
		{"Symfony Messenger", ErrorRemoved, "ErrorDetailsStamp", "", 0, 0, ""},
		{"Symfony Messenger", MarkRemoved, "SentToFailureTransportStamp", "", 0, 0, ""},
	}

	got, resets := php.Reset(ResetWish{})
	first := symfonyEnvelope(symfonyInvoice, symfonyBus)
	diff := cmp.Diff(want, resets)
	assert.NoDiff(t, diff)
	assert.That(t, bytes.Equal(got.Body, first), "%s\n%s\nwant %s", diff, got.Body, first)
	kept, _ := php.Reset(ResetWish{KeepTries: true})
	retried := symfonyEnvelope(symfonyInvoice, symfonyBus, symfonyRetries)
	assert.That(t, bytes.Equal(kept.Body, retried), "%s\nwant %s", kept.Body, retried)
	got, _ = json.Reset(ResetWish{})

	left := model.Table{
		"type": "SendInvoice", "Content-Type": "application/json",
		symfonyStamp + busStamp: `[{"busName":"messenger.bus.default"}]`,
	}

	assert.Same(t, left, got.Headers)

	// A value that refers to another one by its number would refer to the wrong one: the body stays.
	referring := symfonyEnvelope("r:1;", symfonyBus, symfonyRetries)
	m := bodied(string(referring))
	got, resets = m.Reset(ResetWish{})
	assert.That(t, bytes.Equal(got.Body, referring), "%s %+v", got.Body, resets)
	must.Equal(t, len(resets), 1)
	assert.Equal(t, resets[0].Kind, CounterKept)
}

func TestBadSymfony(t *testing.T) {
	_, json := failedOfSymfony()
	json.Headers[symfonyStamp+symfonyRedelivery] = int64(3)
	json.Headers[symfonyStamp+symfonyError] = `{"exceptionClass":7}`
	f, ok := json.Failure()
	assert.That(t, !ok, "%v", f)
	n, _, ok := json.Retried()
	assert.That(t, !ok, "%v", n)

	begins, _ := symfonyBodies()
	deep := strings.Repeat("a:1:{i:0;", 100_000)
	for _, body := range []string{
		begins[0], begins[0] + `2:{`, begins[1] + "!", begins[0] + "9999999999:{}",
		addSlashes.Replace(`O:36:"Symfony\Component\Messenger\Envelope":1:{s:1:"x";` + deep),
		string(symfonyEnvelope(symfonyInvoice, symfonyBus)) + "x",
	} {
		m := Message{Body: []byte(body), BodyBytes: len(body)}
		_, ok := m.Failure()
		assert.That(t, !ok, "%.60s", body)
		same, resets := m.Reset(ResetWish{})
		assert.That(t, same == &m, "%.60s: %v", body, resets)
		assert.That(t, resets == nil, "%.60s: %v", body, resets)
	}
}

// Reading what PHP serialized is bounded, and a body stays readable after stamps are removed.
func FuzzSymfonyBody(f *testing.F) {
	php, _ := failedOfSymfony()
	f.Add(php.Body)
	begins, _ := symfonyBodies()
	f.Add([]byte(begins[1]))
	f.Add(symfonyEnvelope("r:1;", symfonyBus, symfonyRetries))
	f.Add(symfonyEnvelope(`C:3:"Odd":4:{x:1;}`, symfonyBus))

	f.Fuzz(func(t *testing.T, body []byte) {
		m := Message{Body: body, BodyBytes: len(body)}
		limit.Check(t, len(body), func() {
			got, _ := m.Reset(ResetWish{})
			if got == &m {
				return
			}
			s, ok := got.symfony()
			assert.That(t, ok, "%q became %q", body, got.Body)
			assert.Equal(t, len(s.stale), 0)
		})
	})
}

// The last RedeliveryStamp has the time at which a worker resent a message.
func TestWhenSymfonySentAMessageAgain(t *testing.T) {
	at := time.Date(2026, 11, 22, 7, 0, 1, 0, time.UTC)
	inBody := func(date, zone string) Message {
		stamp := func(date string) string {
			return phpObject(symfonyRedelivery, "retryCount", "i:1;", "redeliveredAt",
				fmt.Sprintf(`O:17:"DateTimeImmutable":3:{%s%s%si:3;%s%s}`, phpText("date"), phpText(date),
					phpText("timezone_type"), phpText("timezone"), phpText(zone)))
		}

		m := Message{Body: symfonyEnvelope(symfonyInvoice,
			phpStamps(symfonyRedelivery, stamp("2026-11-22 06:00:00.000000"), stamp(date)))}
		m.BodyBytes = len(m.Body)
		return m
	}

	inHeader := func(stamps string) Message {
		return Message{Headers: model.Table{symfonyStamp + symfonyRedelivery: stamps}}
	}

	for name, c := range map[string]struct {
		m  Message
		ok bool
	}{
		"PHP, with microseconds":     {inBody("2026-11-22 07:00:01.999999", "UTC"), true},
		"PHP, with an offset":        {inBody("2026-11-22 08:30:01.000000", "+01:30"), true},
		"PHP, a zone by its name":    {inBody("2026-11-22 08:00:01.000000", "Europe/Berlin"), false},
		"PHP, no date":               {inBody("yesterday", "UTC"), false},
		"PHP, a date that cannot be": {inBody("0001-01-01 00:00:00.000000", "UTC"), false},
		"JSON, a text": {
			inHeader(`[{"retryCount":1,"redeliveredAt":"2026-11-22T06:00:00+00:00"},` +
				`{"retryCount":2,"redeliveredAt":"2026-11-22T08:00:01+01:00"}]`), true,
		},
		"JSON, an object": {
			inHeader(`[{"retryCount":1,"redeliveredAt":{"timezone":{"name":"UTC"},"offset":0,"timestamp":1795330801}}]`), true,
		},
		"JSON, something else": {inHeader(`[{"retryCount":1,"redeliveredAt":[7]}]`), false},
		"JSON, no time":        {inHeader(`[{"retryCount":1}]`), false},
		"no stamp":             {Message{}, false},
	} {
		from, to, ok := c.m.SentAgain()
		assert.Equal(t, ok, c.ok, "%s: between %v and %v, %v", name, from, to, ok)
		assert.That(t, !ok || from.Equal(at) && to.Equal(at.Add(time.Second)), "%s: between %v and %v, %v", name, from, to,
			ok)

		n, _, _ := c.m.Retried()
		assert.That(t, !c.ok || n != 0, "%s: no tries", name)
	}
}
