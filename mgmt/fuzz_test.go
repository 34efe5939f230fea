package mgmt

import (
	"bytes"
	"encoding/json"
	"errors"
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

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/peek"
)

// recordedAnswer is what a real node of a version answered for one path, with other names for the node.
func recordedAnswer(tb testing.TB, version, part string) []byte {
	tb.Helper()
	text := must.Get(os.ReadFile(filepath.Join("testdata", "api", version, part+".json")))(tb)
	return text
}

var recordedVersions = []string{"3.10.8", "4.0.5", "4.3.6"}

// checkWords checks that an error can be shown: one printable line, and not a long one whatever the input was.
func checkWords(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	assert.That(t, model.Printable(text) == text && len(text) <= 1000, "the error cannot be shown: %q", text)
}

// A list loses nothing but what cannot be read, and says so: each of its elements is a queue, or is told.
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
		limit.Keep(t, len(list), func() {
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
		assert.That(t, lost <= len(odd), "%d queues are not read, and only %q is told", lost, odd)
		for i := range queues {
			checkQueue(t, &queues[i])
		}
	})
}

func checkQueue(t *testing.T, q *model.Queue) {
	for _, rate := range []model.Opt[float64]{q.PublishRate, q.DeliverRate, q.AckRate, q.RedeliverRate} {
		r, known := rate.Get()
		assert.That(t, !known || !math.IsNaN(r) && !math.IsInf(r, 0), "queue %q has a rate of %v", q.Name, r)
	}
	assert.That(t, q.Type != "", "queue %q has no type", q.Name)
}

// A table is read as JSON has it, whole numbers whole, and is the same when it is written and read again.
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
			return // the decoder hands on what is well-formed
		}
		text = bytes.TrimSpace(text)
		var table model.Table
		var err error
		limit.Keep(t, len(text), func() { table, err = decodeTable(text) })
		if err != nil || table == nil {
			return
		}
		written, err := json.Marshal(table)
		must.That(t, err == nil, "%v cannot be written: %v", table, err)
		again, err := decodeTable(written)
		diff := cmp.Diff(table, again)
		assert.That(t, err == nil && diff == "", "written as %s and read again, %v: %s", written, err, diff)
	})
}

// A refusal is told in one printable sentence, whatever stands in it.
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
			c := &Client{address: "broker:15672", endpoint: "http://broker:15672", user: "shop", vhost: vhost}
			var err error
			limit.Keep(t, len(body), func() {
				resp := &http.Response{
					StatusCode: status, Header: http.Header{"Content-Type": {kind}},
					Body: io.NopCloser(bytes.NewReader(body)),
				}
				err = c.connectError(t.Context(), refusal(resp))
			})
			var connect *model.ConnectError
			assert.That(t, errors.As(err, &connect) && connect.Kind != "" && connect.Next != "", "%#v is no explanation", err)
			checkWords(t, err)
		}
	})
}

// answers is a management API that gives these bytes for each path, and none of its business what they are.
type answers struct {
	date  string
	parts map[string][]byte // by the end of the path
}

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	_, part, _ := strings.Cut(req.URL.Path, "/api/")
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Date": {a.date}},
		Body: io.NopCloser(bytes.NewReader(a.parts[part])), Request: req,
	}, nil
}

// What a poll read, whatever it was, makes a topology with its flows and findings; what it could not read makes one
// sentence.
func FuzzAnswers(f *testing.F) {
	parts := []string{"overview", "queues", "exchanges", "bindings", "policies", "operator-policies", "whoami"}
	add := func(date string, of func(part string) []byte) {
		f.Add(date, of(parts[0]), of(parts[1]), of(parts[2]), of(parts[3]), of(parts[4]), of(parts[5]), of(parts[6]))
	}
	for _, version := range recordedVersions {
		add("Sat, 21 Nov 2026 21:53:31 GMT", func(part string) []byte { return recordedAnswer(f, version, part) })
	}
	add("Fri, 31 Dec 9999 23:59:59 GMT", func(part string) []byte {
		if part == "overview" {
			return []byte(`{"rabbitmq_version":"4.3.6"}`)
		}
		return []byte(`[null,{}]`)
	})
	add("", func(part string) []byte {
		if part == "overview" {
			return []byte(`{"rabbitmq_version":"4.3.6"}`)
		}
		return []byte(`null`)
	})
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
			address: "broker:15672", endpoint: "memory://broker:15672", user: "shop", timeout: time.Minute,
			transport: transport,
		}
		limit.Keep(t, size, func() {
			s, err := c.Snapshot(t.Context())
			if err != nil {
				checkWords(t, err)
				return
			}
			for _, words := range s.Missing {
				assert.That(t, words != "", "something is missing that is not told")
			}
			topology := model.NewTopology(s)
			topology.Flows()
			for _, finding := range findings.Of(topology) {
				assert.That(t, finding.Code != "" && finding.Message != "", "a finding that says nothing: %+v", finding)
			}
			for i := range s.Queues {
				topology.Exits(s.Queues[i].QueueRef)
				peek.For(topology, s.Queues[i].QueueRef, peek.Want{})
			}
		})
	})
}

// What is not too deep stays as it is, however it is read, and JSON stays JSON.
func FuzzShallow(f *testing.F) {
	deep := strings.Repeat(`{"t":[`, 60) + `"]}\"[",{}` + strings.Repeat(`]}`, 60)
	for _, text := range []string{
		`[{"name":"q[\"{","arguments":{"x":[[],{}]}}]`, deep, `[` + deep + `,{"name":"q"}]`,
		`]]}[`, `"[`, ``,
	} {
		f.Add([]byte(text), uint(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, chunk uint) {
		s := &shallow{ReadCloser: io.NopCloser(bytes.NewReader(text))}
		var kept []byte
		limit.Keep(t, len(text), func() {
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

// One queue whose arguments are tables in tables used to take half a minute of a processor at each poll (10,000 levels
// in 70 kB, which RabbitMQ takes from everybody who may declare a queue).
func TestADeepTableIsReadOnce(t *testing.T) {
	const levels = 9900
	for _, nested := range []struct{ open, shut string }{{`{"t":`, `}`}, {`[`, `]`}} {
		list := `[{"name":"q","vhost":"/","arguments":{"x":` + strings.Repeat(nested.open, levels) + `1` +
			strings.Repeat(nested.shut, levels) + `,"x-message-ttl":5}}]`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		queues, odd, err := decodeQueues(t, list)
		runtime.ReadMemStats(&after)
		must.That(t, err == nil && len(odd) == 0 && len(queues) == 1 && queues[0].Arguments["x-message-ttl"] == int64(5),
			"%d queues, odd %.200q, %v", len(queues), odd, err)
		// Read again at each level, it is some 700 MB.
		took := after.TotalAlloc - before.TotalAlloc
		assert.That(t, took <= 200<<20, "it took %d MB of memory in all", took>>20)
	}
}
