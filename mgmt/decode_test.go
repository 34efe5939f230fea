package mgmt

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

var opts = cmp.Options{
	cmp.AllowUnexported(model.Opt[int64]{}, model.Opt[float64]{}, model.Opt[time.Time]{}),
}

// decodeQueues decodes a list as the client does.
func decodeQueues(t testing.TB, list string) (queues []model.Queue, odd []string, err error) {
	t.Helper()
	elements, err := decodeList(strings.NewReader(list), defaultSizes, func(e *queueElement) {
		q, words := e.queue("", time.Time{})
		odd = append(odd, words...)
		if q != nil {
			queues = append(queues, *q)
		}
	})
	return queues, append(odd, elements...), err
}

func TestDecodeQueue(t *testing.T) {
	some := model.Some[int64]
	ref := model.QueueRef{VHost: "/", Name: "q"}
	for _, test := range []struct {
		name   string
		fields string // beside name and vhost
		want   model.Queue
		odd    string
	}{
		{"fresh", `"arguments":{}`, model.Queue{QueueRef: ref, Type: model.Classic, Arguments: model.Table{}}, ""},
		{
			"nulls", `"policy":null,"exclusive":null,"arguments":null,"messages_ready":null,"message_stats":null,"owner_pid_details":null,"exclusive_consumer_tag":null`,
			model.Queue{QueueRef: ref, Type: model.Classic},
			"",
		},
		{
			"Erlang's empty list", `"arguments":[],"effective_policy_definition":[],"message_stats":[]`,
			model.Queue{QueueRef: ref, Type: model.Classic, Arguments: model.Table{}, PolicyDefinition: model.Table{}},
			"",
		},
		{
			"type by argument", `"arguments":{"x-queue-type":"quorum","x-single-active-consumer":true}`,
			model.Queue{
				QueueRef: ref, Type: model.Quorum, SingleActive: true,
				Arguments: model.Table{"x-queue-type": "quorum", "x-single-active-consumer": true},
			},
			"",
		},
		{"type as told", `"type":"stream"`, model.Queue{QueueRef: ref, Type: model.Stream}, ""},
		{"unknown type", `"type":"mqtt"`, model.Queue{QueueRef: ref, Type: "mqtt"}, ""},
		{
			"counts", `"messages_ready":3,"messages_unacknowledged":2,"consumers":1,"message_bytes_ready":77,"messages_dlx":4,"messages_delayed":5,"state":"running"`,
			model.Queue{
				QueueRef: ref, Type: model.Classic, State: "running", Ready: some(3), Unacked: some(2),
				Consumers: some(1), ReadyBytes: some(77), DeadLettering: some(4), Delayed: some(5),
			},
			"",
		},
		{
			"odd counts are unknown", `"messages_ready":"many","messages_unacknowledged":1.5,"consumers":{},"message_bytes_ready":99999999999999999999,"state":7`,
			model.Queue{QueueRef: ref, Type: model.Classic},
			"",
		},
		{
			"statistics", `"message_stats":{"publish":7,"publish_details":{"rate":1.5},"deliver_get":6,"deliver_get_details":{"rate":2},"deliver_no_ack":1,"get_no_ack":2,
			"ack":3,"ack_details":{"rate":0.0},"redeliver_details":{"rate":"NaN"}}`,
			model.Queue{
				QueueRef: ref, Type: model.Classic, Published: some(7), Delivered: some(6), DeliveredNoAck: some(3), Acked: some(3),
				PublishRate: model.Some(1.5), DeliverRate: model.Some(2.0), AckRate: model.Some(0.0),
			},
			"",
		},
		{"head", `"head_message_timestamp":1700000000`, model.Queue{
			QueueRef: ref,
			Type:     model.Classic, HeadTimestamp: model.Some(time.Unix(1700000000, 0)),
		}, ""},
		{
			"owned", `"exclusive":true,"owner_pid_details":{"name":"127.0.0.1:1 -> 127.0.0.1:2"}`,
			model.Queue{QueueRef: ref, Type: model.Classic, Exclusive: true, OwnedByAnother: true},
			"",
		},
		{
			"exclusive consumer", `"exclusive_consumer_tag":"ctag"`,
			model.Queue{QueueRef: ref, Type: model.Classic, ExclusiveHeld: true},
			"",
		},
		{
			"policy", `"policy":"p","operator_policy":"o","effective_policy_definition":{"message-ttl":5,"dead-letter-exchange":"x"}`,
			model.Queue{
				QueueRef: ref, Type: model.Classic, Policy: "p", OperatorPolicy: "o",
				PolicyDefinition: model.Table{"message-ttl": int64(5), "dead-letter-exchange": "x"},
			},
			"",
		},
		{
			"odd settings are told", `"arguments":"none","policy":7,"auto_delete":"undefined"`,
			model.Queue{QueueRef: ref, Type: model.Classic},
			"queue q: its arguments, auto-delete flag and policy cannot be read",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			queues, odd, err := decodeQueues(t, `[{"name":"q","vhost":"/",`+test.fields+`}]`)
			must.That(t, err == nil && len(queues) == 1, "%v, %v", queues, err)
			assert.NoDiff(t, cmp.Diff(test.want, queues[0], opts))
			assert.Equal(t, strings.Join(odd, "; "), test.odd, "odd")
		})
	}
}

func TestDecodeListSurvivesOddElements(t *testing.T) {
	const good = `{"name":"good","vhost":"/"}`
	for _, test := range []struct {
		list   string
		queues int
		odd    string
		err    error
	}{
		{`[]`, 0, "", nil},
		{`[` + good + `,"x",` + good + `]`, 2, "element 2 of the list is a JSON string, not an object", nil},
		{`[7,[1,[2]],` + good + `]`, 1, "element 1 of the list is a JSON number, not an object; element 2 of the list " +
			"is a JSON array, not an object", nil},
		{`[null,` + good + `]`, 1, "a queue of the list: it has no readable name", nil},
		{`[{"vhost":"/"},` + good + `]`, 1, "a queue of the list: it has no readable name", nil},
		{`[{"name":["b"],"vhost":"/"},` + good + `]`, 1, "a queue of the list: it has no readable name", nil},
		{`[{"name":"b","vhost":null},` + good + `]`, 1, "queue b: its vhost cannot be read", nil},
		{`[` + good + `,{"name":"b`, 1, "", io.ErrUnexpectedEOF},
		{`[` + good, 1, "", io.ErrUnexpectedEOF},
		{``, 0, "", io.ErrUnexpectedEOF},
		{`{"error":"x"}`, 0, "", errOtherJSON},
		{`null`, 0, "", errOtherJSON},
	} {
		queues, odd, err := decodeQueues(t, test.list)
		assert.That(t, len(queues) == test.queues && strings.Join(odd, "; ") == test.odd && errors.Is(err, test.err),
			"%s: %d queues, odd %q, %v", test.list, len(queues), odd, err)
	}
}

func TestNumbersOfTablesStayWhole(t *testing.T) {
	table, err := decodeTable([]byte(`{"i":30000,"big":9007199254740993,"neg":-1,"f":1.5,"whole":2.0,"huge":18446744073709551615,"s":"7","esc":"a\u00e9\n\"","t":true,"beyond":1e999,"n":null,"l":[1,{"x":2}],"o":{}}`))
	must.Do(t, err)
	assert.NoDiff(t, cmp.Diff(model.Table{
		"i": int64(30000), "big": int64(9007199254740993), "neg": int64(-1), "f": 1.5, "whole": int64(2),
		"huge": float64(math.MaxUint64), "s": "7", "esc": "aé\n\"",
		"t": true, "beyond": "1e999", "n": nil,
		"l": []any{int64(1), model.Table{"x": int64(2)}}, "o": model.Table{},
	}, table))
	// rabbit-hole's lists have only floats.
	assert.NoDiff(t, cmp.Diff(model.Table{"i": int64(3), "f": 0.5, "t": model.Table{"x": int64(-1)}},
		tableOf(map[string]any{"i": 3.0, "f": 0.5, "t": map[string]any{"x": -1.0}})))
}

func TestListOfWordsHasAnAnd(t *testing.T) {
	for want, list := range map[string][]string{
		"": nil, "a": {"a"}, "a and b": {"b", "a"},
		"a, b and c": {"c", "a", "b"},
	} {
		assert.Equal(t, words(list), want, "%q", list)
	}
}

// One queue as 4.3.6 tells it when asked for queueColumns.
const recorded = `{"arguments":{"x-dead-letter-exchange":"master","x-dead-letter-routing-key":"k","x-message-ttl":30000,"x-queue-type":"classic"},
"auto_delete":false,"consumers":1,"durable":true,"effective_policy_definition":{"message-ttl":30000},"exclusive":false,"message_bytes_ready":12288,
"messages_ready":12,"messages_unacknowledged":0,"message_stats":{"ack":0,"deliver_get":1,"deliver_no_ack":0,"get_no_ack":1,"publish":1,
"ack_details":{"rate":0.0},"deliver_get_details":{"rate":0.4},"publish_details":{"rate":0.2},"redeliver_details":{"rate":0.0}},
"name":"orders.%05d@retry","operator_policy":"op","policy":"ttl","state":"running","type":"classic","vhost":"/"}`

func BenchmarkDecodeTenThousandQueues(b *testing.B) {
	var list strings.Builder
	for i := range 10000 {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, recorded, i)
	}
	text := "[" + list.String() + "]"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		queues, odd, err := decodeQueues(b, text)
		must.That(b, err == nil && len(odd) == 0 && len(queues) == 10000, "%v %v %v", len(queues), odd, err)
	}
}
