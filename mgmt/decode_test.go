package mgmt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/hosts"
	"github.com/dlxtop/dlxtop/model/peek"
)

var opts = cmp.Options{cmp.AllowUnexported(model.Opt[int64]{}, model.Opt[float64]{}, model.Opt[time.Time]{})}

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
	type expected struct {
		Name, Odd string
		Fields    string      // in addition to name and vhost
		Want      model.Queue // in addition to name and vhost; a classic one unless it has a type
	}

	for _, test := range append(must.Cases[expected](t, "testdata/decode_queue.toml"), []expected{
		{
			"counts", "", `"messages_ready":3,"messages_unacknowledged":2,"consumers":1,"message_bytes_ready":77,
			"messages_dlx":4,"messages_delayed":5,"messages_active_priorities":6,
			"next_delayed_at":1796090268146,"last_delayed_at":1796090272152,"state":"running"`,
			model.Queue{
				State: "running", Ready: some(3), Unacked: some(2), Consumers: some(1), ReadyBytes: some(77),
				DeadLettering: some(4), Delayed: some(5), Priorities: some(6),
				NextRetry: model.Some(time.UnixMilli(1796090268146)), LastRetry: model.Some(time.UnixMilli(1796090272152)),
			},
		},
		{
			"statistics", "", `"message_stats":{"publish":7,"deliver_get":6,
			"deliver_get_details":{"rate":2},"deliver_no_ack":1,"get_no_ack":2,"ack":3,"ack_details":{"rate":0.0},"redeliver_details":{"rate":"NaN"}}`,
			model.Queue{
				Published: some(7), Delivered: some(6), DeliveredNoAck: some(3), Acked: some(3),
				DeliverRate: model.Some(2.0), AckRate: model.Some(0.0),
			},
		},

		{"head", "", `"head_message_timestamp":1700000000`, model.Queue{HeadTimestamp: model.Some(time.Unix(1700000000, 0))}},
		{
			"no active consumer", "", `"consumers":2,"single_active_consumer_tag":null,
			"arguments":{"x-single-active-consumer":true}`,
			model.Queue{
				Consumers: some(2), SingleActive: true, NoneActive: true,
				Arguments: model.Table{"x-single-active-consumer": true},
			},
		},
		{
			"whether one is active is not reported (4.0.5)", "", `"consumers":2,"arguments":{"x-single-active-consumer":true}`,
			model.Queue{
				Consumers: some(2), SingleActive: true, Arguments: model.Table{"x-single-active-consumer": true},
			},
		},

		{
			"an active consumer", "", `"consumers":2,"single_active_consumer_tag":"ctag1",
			"arguments":{"x-single-active-consumer":true}`,
			model.Queue{
				Consumers: some(2), SingleActive: true, Arguments: model.Table{"x-single-active-consumer": true},
			},
		},
	}...) {
		t.Run(test.Name, func(t *testing.T) {
			queues, odd, err := decodeQueues(t, `[{"name":"q","vhost":"/",`+test.Fields+`}]`)
			must.Do(t, err)
			must.Equal(t, len(queues), 1, "%v", queues)

			test.Want.QueueRef = build.Ref("q")
			if test.Want.Type == "" {
				test.Want.Type = model.Classic
			}

			assert.NoDiff(t, cmp.Diff(test.Want, queues[0], opts))
			assert.Equal(t, strings.Join(odd, "; "), test.Odd, "odd")
		})
	}
}

func TestDecodeListSurvivesOddElements(t *testing.T) {
	ends := map[string]error{"": nil, "early": io.ErrUnexpectedEOF, "other": errOtherJSON}
	for _, test := range must.Cases[struct {
		List, Odd, Ends string
		Queues          int
	}](t, "testdata/odd_lists.toml") {
		list := strings.ReplaceAll(test.List, "GOOD", `{"name":"good","vhost":"/"}`)
		queues, odd, err := decodeQueues(t, list)
		assert.Equal(t, len(queues), test.Queues, "%s: odd %q, %v", list, odd, err)
		assert.Equal(t, strings.Join(odd, "; "), test.Odd, "%v", list)
		assert.That(t, errors.Is(err, ends[test.Ends]), "%s: %d queues, odd %q, %v", list, len(queues), odd, err)
	}
}

func TestNumbersOfTablesStayWhole(t *testing.T) {
	table := must.Get(decodeTable([]byte(`{"i":30000,"big":9007199254740993,"neg":-1,"f":1.5,"whole":2.0,"huge":18446744073709551615,"s":"7","esc":"a\u00e9\n\"","t":true,"beyond":1e999,"n":null,"l":[1,{"x":2}],"o":{}}`)))(t)
	assert.Same(t, model.Table{
		"i": int64(30000), "big": int64(9007199254740993), "neg": int64(-1), "f": 1.5, "whole": int64(2),
		"huge": float64(math.MaxUint64), "s": "7", "esc": "aé\n\"", "t": true, "beyond": "1e999", "n": nil,
		"l": []any{int64(1), model.Table{"x": int64(2)}}, "o": model.Table{},
	}, table)
}

func TestListOfWordsHasAnAnd(t *testing.T) {
	for want, list := range map[string][]string{
		"": nil, "a": {"a"}, "a and b": {"b", "a"}, "a, b and c": {"c", "a", "b"},
	} {
		assert.Equal(t, joinAnd(list), want, "%q", list)
	}
}

// One queue as reported by 4.3.6 for queueColumns.
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
		must.Do(b, err)
		must.Equal(b, len(odd), 0, "%v %v", len(queues), odd)
		must.Equal(b, len(queues), 10000)
	}
}

// recordedAnswer returns the answer of a real node of a version for one path, with the node's name replaced.
func recordedAnswer(tb testing.TB, version, part string) []byte {
	tb.Helper()
	return must.Get(os.ReadFile(filepath.Join("testdata", "api", version, part+".json")))(tb)
}

var recordedVersions = []string{"3.10.8", "4.0.5", "4.3.6"}

// Only unreadable elements of a list are lost, and reported: each element is a queue, or is reported.
func FuzzQueueList(f *testing.F) {
	for _, version := range recordedVersions {
		f.Add(recordedAnswer(f, version, "queues"))
		f.Add(recordedAnswer(f, version, "counts"))
	}

	for _, list := range []string{
		`[]`, `null`, `[null,7,"x",{"name":"q"},{"name":"q","vhost":"/","arguments":[1]}]`,
		`[{"name":"\ud800","vhost":"\u0000","messages_ready":-1e99}]`,
	} {
		f.Add([]byte(list))
	}

	f.Fuzz(func(t *testing.T, list []byte) {
		var queues []model.Queue
		var odd []string
		elements, lost := 0, 0
		limit.Check(t, len(list), func() {
			words, err := decodeList(bytes.NewReader(list), defaultSizes, func(e *queueElement) {
				elements++
				q, told := e.queue("", time.Time{})
				if odd = append(odd, told...); q == nil {
					lost++
					return
				}
				queues = append(queues, *q)
			})

			elements += len(words)
			var all []json.RawMessage
			assert.That(t, json.Unmarshal(list, &all) != nil || all == nil || err == nil && elements == len(all),
				"%d of %d elements, %v", elements, len(all), err)
		})

		assert.That(t, lost <= len(odd), "%d queues are not read, and only %q is reported", lost, odd)

		for i := range queues {
			checkQueue(t, &queues[i])
		}
	})
}

func checkQueue(t *testing.T, q *model.Queue) {
	for _, rate := range []model.Opt[float64]{q.DeliverRate, q.AckRate, q.RedeliverRate} {
		r, known := rate.Get()
		assert.That(t, !known || !math.IsNaN(r) && !math.IsInf(r, 0), "queue %q has a rate of %v", q.Name, r)
	}
	assert.That(t, q.Type != "", "queue %q has no type", q.Name)
}

// A table is decoded as in JSON, integers exactly, and survives being written and read again.
func FuzzTable(f *testing.F) {
	for _, table := range []string{
		`{}`, `[]`, `null`, `{"x-dead-letter-exchange":"master","x-message-ttl":30000,"x-queue-type":"quorum"}`,
		`{"x-match":"all-with-x","tenant":"blue","n":7,"f":1.5,"l":["a",2]}`,
		`{"a":{"b":[{},[],null,true]},"n":9007199254740993}`,
		`{"n":18446744073709551616,"m":-0,"f":1e999,"e":"\ud800\u0000"}`, `{"federation-upstream-set":"all","max-length":-1}`,
	} {
		f.Add([]byte(table))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return // the decoder only passes on well-formed JSON
		}
		text = bytes.TrimSpace(text)
		var table model.Table
		var err error
		limit.Check(t, len(text), func() { table, err = decodeTable(text) })
		if err != nil || table == nil {
			return
		}
		written, err := json.Marshal(table)
		must.That(t, err == nil, "%v cannot be written: %v", table, err)
		again, err := decodeTable(written)
		diff := cmp.Diff(table, again)
		must.Do(t, err)
		assert.NoDiff(t, diff, "written as %s and read again: %s", written, diff)
	})
}

// A refusal is one printable sentence, whatever it contains.
func FuzzRefusal(f *testing.F) {
	for _, body := range []string{
		`{"error":"not_authorized","reason":"Login failed"}`, `{"error":"not_authorized","reason":"Not_Authorized"}`,
		`{"error":"not_authorised","reason":"User not authorised to access virtual host"}`,
		`{"error":"Object Not Found","reason":"Not Found"}`, `{"error":"bad_request","reason":["a",1]}`,
		"400 Bad Request\nThe plain HTTP request was sent to HTTPS port", "<html><h1>nginx</h1></html>", "",
		"\x1b[2J\u202e\xff", `{"reason":"\u001b[2J\n\u202e"}`,
	} {
		for _, status := range []int{400, 401, 403, 404, 500} {
			f.Add(status, "application/json", []byte(body))
		}
		f.Add(502, "text/plain", []byte(body))
	}

	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		for _, vhost := range []string{"", "orders"} {
			c := &Client{
				hosts: hosts.New(nil, hosts.HTTP, "broker:15672"), endpoint: "http://broker:15672", user: "shop", vhost: vhost,
			}
			var err error
			limit.Check(t, len(body), func() {
				resp := &http.Response{
					StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body)),
				}
				err = c.connectError(t.Context(), refusal(resp))
			})

			connect := connectError(t, err)
			assert.That(t, connect.Kind != "", "%#v is no explanation", err)
			assert.That(t, connect.Next != "", "%#v is no explanation", err)
			build.CheckError(t, err)
		}
	})
}

// answers is a management API that returns these bytes for each path, whatever they are.
type answers struct {
	date  string
	parts map[string][]byte // by the end of the path
}

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	_, part, _ := strings.Cut(strings.TrimSuffix(req.URL.Path, "/"), "/api/")
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Date": {a.date}},
		Body: io.NopCloser(bytes.NewReader(a.parts[part])), Request: req,
	}, nil
}

// The result of any poll makes a topology with flows and findings; an unreadable part makes one sentence.
func FuzzAnswers(f *testing.F) {
	parts := []string{"overview", "queues", "exchanges", "bindings", "policies", "operator-policies", "whoami"}
	add := func(date string, of func(part string) []byte) {
		f.Add(date, of(parts[0]), of(parts[1]), of(parts[2]), of(parts[3]), of(parts[4]), of(parts[5]), of(parts[6]))
	}
	for _, version := range recordedVersions {
		add("Sat, 21 Nov 2026 21:53:31 GMT", func(part string) []byte { return recordedAnswer(f, version, part) })
	}

	for date, list := range map[string]string{"Fri, 31 Dec 9999 23:59:59 GMT": `[null,{}]`, "": `null`} {
		add(date, func(part string) []byte {
			if part == "overview" {
				return []byte(`{"rabbitmq_version":"4.3.6"}`)
			}
			return []byte(list)
		})
	}

	f.Fuzz(func(t *testing.T, date string, overview, queues, exchanges, bindings, policies, operator, whoami []byte) {
		transport := &http.Transport{}
		server := answers{date, map[string][]byte{}}
		size := 0
		for i, body := range [][]byte{overview, queues, exchanges, bindings, policies, operator, whoami} {
			server.parts[parts[i]] = body
			size += len(body)
		}

		transport.RegisterProtocol("memory", server)
		c := &Client{
			hosts: hosts.New(nil, hosts.HTTP, "broker:15672"), members: &hosts.Cluster{},
			endpoint: "memory://broker:15672", user: "shop",
			timeout: time.Minute, transport: transport, most: defaultSizes,
		}

		limit.Check(t, size, func() {
			s, err := c.Snapshot(t.Context())
			if err != nil {
				build.CheckError(t, err)
				return
			}

			for _, words := range s.Missing {
				assert.That(t, words != "", "something is missing that is not reported")
			}

			topology := model.NewTopology(s)
			topology.Flows()
			for _, finding := range findings.Of(topology) {
				assert.That(t, finding.Code != "", "a finding that says nothing: %+v", finding)
				assert.That(t, finding.Message != "", "a finding that says nothing: %+v", finding)
			}

			for i := range s.Queues {
				topology.Exits(s.Queues[i].QueueRef)
				peek.For(topology, s.Queues[i].QueueRef, peek.Want{})
			}
		})
	})
}

// Anything not too deep stays unchanged, however it is read, and JSON stays JSON.
func FuzzShallow(f *testing.F) {
	deep := strings.Repeat(`{"t":[`, 60) + `"]}\"[",{}` + strings.Repeat(`]}`, 60)
	for _, text := range []string{
		`[{"name":"q[\"{","arguments":{"x":[[],{}]}}]`, deep, `[` + deep + `,{"name":"q"}]`, `]]}[`, `"[`, ``,
	} {
		f.Add([]byte(text), uint(3))
	}

	f.Fuzz(func(t *testing.T, text []byte, chunk uint) {
		s := &shallow{ReadCloser: io.NopCloser(bytes.NewReader(text))}
		var kept []byte
		limit.Check(t, len(text), func() {
			part := make([]byte, 1+chunk%4096)
			for {
				n, err := s.Read(part)
				kept = append(kept, part[:n]...)
				if err != nil {
					break
				}
			}
		})

		must.That(t, !json.Valid(text) || json.Valid(kept), "%q is no JSON any more", kept)
		assert.That(t, bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > deepest || bytes.Equal(kept, text),
			"%q is changed to %q", text, kept)
		left := depthOf(kept)
		assert.That(t, !json.Valid(text) || left <= deepest+1, "%d levels are left", left)
	})
}

func depthOf(text []byte) (deepest int) {
	open := 0
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		switch token, err := d.Token(); {
		case err != nil:
			return deepest
		case token == json.Delim('['), token == json.Delim('{'):
			open++
			deepest = max(deepest, open)
		case token == json.Delim(']'), token == json.Delim('}'):
			open--
		}
	}
}

// One queue whose arguments are nested tables used to take half a minute of CPU at each poll (10,000 levels in 70 kB,
// which RabbitMQ accepts from anyone who may declare a queue).
func TestADeepTableIsReadOnce(t *testing.T) {
	const levels = 9900
	for _, nested := range []struct{ open, shut string }{{`{"t":`, `}`}, {`[`, `]`}} {
		list := `[{"name":"q","vhost":"/","arguments":{"x":` + strings.Repeat(nested.open, levels) + `1` +
			strings.Repeat(nested.shut, levels) + `,"x-message-ttl":5}}]`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		queues, odd, err := decodeQueues(t, list)
		runtime.ReadMemStats(&after)
		must.Do(t, err)
		must.Equal(t, len(odd), 0, "%d queues, odd %.200q", len(queues), odd)
		must.Equal(t, len(queues), 1)
		must.That(t, queues[0].Arguments["x-message-ttl"] == int64(5), "%d queues, odd %.200q", len(queues), odd)

		// Reading again at each level would allocate some 700 MB.
		took := after.TotalAlloc - before.TotalAlloc
		assert.That(t, took <= 200<<20, "it took %d MB of memory in all", took>>20)
	}
}

// Texts in arguments may be any bytes, including the dead-letter routing key: the API writes them in base64, and dlxtop
// decodes them. (The routing key of a binding may not: RabbitMQ closes the connection, 501.)
func TestBinaryRoutingKeys(t *testing.T) {
	b := realBroker(t)
	vhost := b.vhost("binary")
	channel := dial.Channel(t, b.AMQP()+vhost)

	// the second was literally written like that
	const key, written = "\xff\x00\xfeorders", "Not UTF-8, base64 is: b3JkZXJz"
	for name, arguments := range map[string]amqp.Table{
		"other":  nil,
		"buffer": {"x-message-ttl": int64(60000), "x-dead-letter-exchange": "amq.direct", "x-dead-letter-routing-key": key},
	} {
		must.Get(channel.QueueDeclare(name, true, false, false, false, arguments))(t)
	}

	must.Do(t, channel.QueueBind("other", written, "amq.direct", false, nil))
	must.Do(t, channel.QueueBind("other", "", "amq.headers", false, amqp.Table{"x-match": "all", "bytes": key}))
	topology := model.NewTopology(poll(t, client(t, Options{URL: b.API(), VHost: vhost})))
	keys := map[string]string{}
	for _, binding := range topology.Snapshot.Bindings {
		switch binding.Source {
		case "amq.direct":
			keys[binding.Destination] = binding.RoutingKey
		case "amq.headers":
			keys["header"], _ = binding.Arguments.Text("bytes")
		}
	}

	assert.Equal(t, keys["other"], written, "keys %q", keys)
	assert.Equal(t, keys["header"], key)
	ref := model.QueueRef{VHost: vhost, Name: "buffer"}
	set := topology.Settings(ref).Key
	assert.Equal(t, set.Value, key, "the dead-letter key is")
}
