package message

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// A line is a message that survives writing and reading, or an error in one sentence.
func FuzzParseMessage(f *testing.F) {
	for _, line := range build.ExportedLines(f) {
		f.Add(line)
	}

	f.Add([]byte("0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var m Message
		var err error
		limit.Check(t, len(line), func() { m, err = ParseMessage(line) })
		if err != nil {
			build.CheckError(t, err)
			return
		}

		assert.Equal(t, m.Fingerprint, FingerprintOf(&m))
		assert.Equal(t, m.BodyBytes, len(m.Body))
		same := must.Get(ParseMessage(line))(t)
		assert.Equal(t, same.Fingerprint, m.Fingerprint)
		written := build.CheckLine(t, m.JSON())
		again, err := ParseMessage(written)
		must.Do(t, err)
		must.Equal(t, again.Fingerprint, m.Fingerprint)
		must.Equal(t, again.Position, m.Position)
		must.Equal(t, again.Redelivered, m.Redelivered, "written as %s it is another message, %v:\n%+v\n%+v", written, err, m,
			again)
		twice := build.CheckLine(t, again.JSON())
		assert.That(t, bytes.Equal(written, twice), "written twice it is\n%s\n%s", written, twice)
	})
}

// The readable part of x-death is kept, and one sentence says what is unreadable; the header stays as it is.
func FuzzParseDeaths(f *testing.F) {
	for _, line := range build.ExportedLines(f) {
		var in struct {
			Headers map[string]json.RawMessage `json:"headers"`
		}
		must.Do(f, json.Unmarshal(line, &in))
		if death := in.Headers["x-death"]; death != nil {
			f.Add([]byte(death))
		}
	}

	for _, header := range []string{
		`[]`, `null`, `{}`, `"expired"`, `[[],{"count":-1,"reason":"rejected"},7]`,
		`[{"queue":"q","reason":"bored","count":"3","time":1767225600,"routing-keys":"k","original-expiration":1000}]`,
	} {
		f.Add([]byte(header))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var v any
		if decoder.Decode(&v) != nil {
			return
		}
		header, err := parseValue(v)
		if err != nil {
			return
		}
		headers := model.Table{"x-death": header}
		before := fingerprintOfTable(headers)
		var deaths []Death
		var problem string
		limit.Check(t, len(text), func() { deaths, problem = ParseDeaths(headers) })
		assert.That(t, fingerprintOfTable(headers) == before, "the header has changed")
		assert.Equal(t, model.Printable(problem), problem)
		assert.That(t, len(problem) <= 300, "problem %q", problem)
		entries, isList := header.([]any)
		assert.That(t, !isList || len(deaths) <= len(entries) && (len(deaths) >= len(entries) || problem != ""),
			"%d deaths of %d entries, and the problem %q", len(deaths), len(entries), problem)
		m := Message{Headers: headers, Deaths: deaths, DeathsError: problem}

		for _, d := range deaths {
			assert.That(t, d.Queue != "" || d.Reason != "", "death %+v", d)
			assert.That(t, d.Count >= 0, "death %+v", d)
			assert.That(t, d.Time.IsZero() || d.Time.Unix() >= 1 && d.Time.Year() <= 3100, "death %+v", d)
		}

		n := m.DeathCount()
		assert.That(t, n >= int64(len(deaths)), "%d deaths are %d, %q", len(deaths), n, m.DeathSummary())
		assert.Equal(t, m.DeathSummary() == "", len(deaths) == 0)
	})
}

func fingerprintOfTable(t model.Table) Fingerprint { return FingerprintOf(&Message{Headers: t}) }

// Two header names in the file can be the same name in the message.
func TestAHeaderThatIsThereTwice(t *testing.T) {
	for _, headers := range []string{`{"a":1,"$base64:YQ==":2}`, `{"t":{"a":1,"$base64:YQ==":2}}`} {
		_, err := ParseMessage([]byte(`{"properties":{},"headers":` + headers + `,"body":"","body_bytes":0}`))
		assert.Fails(t, err, ": it is there twice", "%v", headers)
	}
}

// deadBodies are bodies of failed messages as frameworks write them.
var deadBodies = []string{
	build.EasyNetQ3, easyNetQ6,
	`{"Exception":"e","RoutingKey":"","Exchange":"","Queue":"q","Message":"","BasicProperties":{"Expiration":"1.02:03:04.5"}}`,
	`{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"\ud83d","BasicProperties":{}}`,
	`{"Exception":"e","RoutingKey":"k","Exchange":"x","Queue":"q","Message":"m","BasicProperties":{"Headers":{"a":[1],"b":[2],"c":[3],"d":{},"e":{}}}}`,
	"{\"queue_name\":\"mail.DQ\",\"actor_name\":\"send\xe6\",\"options\":{\"retries\":3},\"message_id\":\"5d5b\"}",
	`{"queue_name":"mail.DQ","actor_name":"send","args":[121,"Zo\u00eb"],"kwargs":{"retries":3},"options":{"max_retries":3,"retries":3,"traceback":"Traceback (most recent call last):\n  File \"mail.py\", line 12, in send\nTimeoutError: smtp gateway\n","requeue_timestamp":1714564790000,"eta":1},"message_id":"5d5b","message_timestamp":1714564700000}`,
	"{ \"options\" : { \"retries\" : 1 , \"a\" : 1.50 , \"eta\" : 2,\n \"b\" : [ {\"eta\":1} ] } , \"queue_name\" : " +
		"\"mail\", \"actor_name\":\"send\", \"message_id\":\"1\" }\n",
	`{"error":"smtp gateway","num_attempts":6,"failed_at":"2024-05-01T12:00:00Z","payload":"eyJpZCI6MTIxfQ==\n","error_class":"Timeout::Error","error_message":"smtp gateway"}`,
	`{"error":{"name":"TypeError","message":"x is undefined"}}`,
}

// Opening an envelope gives the same original each time, or says what is wrong; the message in the queue stays as it
// is.
func FuzzEnvelope(f *testing.F) {
	for _, body := range deadBodies {
		f.Add(EasyNetQType, []byte(body))
		f.Add("", []byte(body))
	}

	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		m := Message{
			Exchange: "x", RoutingKey: "k", Properties: Properties{Type: kind},
			Headers: model.Table{"x-death": []any{}, "n": int32(1)}, Body: body, BodyBytes: len(body),
		}

		before := FingerprintOf(&m)
		var e, again Envelope
		var ok bool
		limit.Check(t, len(body), func() {
			e, ok = m.Envelope()
			again, _ = m.Envelope()
		})

		diff := cmp.Diff(e, again, sameMessage)
		assert.NoDiff(t, diff)
		assert.Equal(t, FingerprintOf(&m), before)

		if !ok || e.Problem != "" {
			assert.That(t, !ok || e.Framework != "" && model.Printable(e.Problem) == e.Problem, "%+v", e)
			return
		}

		o := &e.Original
		assert.That(t, e.Does != "", "%+v", e)
		assert.Equal(t, model.Printable(e.Does), e.Does)
		assert.Equal(t, len(o.Body), o.BodyBytes)
		for _, doubt := range e.Doubts {
			assert.Equal(t, model.Printable(doubt), doubt, "doubt")
		}

		_, valid := ParseExpiration(o.Properties.Expiration)
		assert.That(t, valid || o.Properties.Expiration == "",
			"an expiration of %q, which a broker refuses", o.Properties.Expiration)
		if e.Framework == "Dramatiq" {
			checkDramatiq(t, &m, &e)
			return
		}

		assert.That(t, utf8.Valid(o.Body), "a text that is none: %q", o.Body)
	})
}

// checkDramatiq checks that the original lacks only the marks of failures, and is no longer an envelope.
func checkDramatiq(t *testing.T, m *Message, e *Envelope) {
	t.Helper()
	again, ok := e.Original.Envelope()
	assert.That(t, !ok || again.Framework != e.Framework,
		"the original of %s is an envelope again: %s", m.Body, e.Original.Body)

	members := func(text []byte) map[string]any {
		var object map[string]any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err := d.Decode(&object)
		must.That(t, err == nil, "%s is no JSON: %v", text, err)
		return object
	}

	was := members(m.Body)
	is := members(e.Original.Body)

	options, _ := was["options"].(map[string]any)
	for _, mark := range dramatiqMarks {
		delete(options, mark)
	}

	was["queue_name"] = e.Worker
	assert.Same(t, was, is, "%s\nbecame %s", m.Body, e.Original.Body)
}

// The .NET time span of an EasyNetQ message becomes milliseconds that a broker accepts, or is refused.
func FuzzExpirationOfEasyNetQ(f *testing.F) {
	for _, s := range []string{
		"60000", "00:01:30.5000000", "1.02:03:04", "-1.00:00:00", "1:2:nan", "1:2:inf",
		"99999999999999.00:00:01", "0:0:9e99", ":", "",
	} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		limit.Check(t, len(s), func() {
			got, ok := milliSpan(s)
			_, valid := ParseExpiration(got)
			assert.That(t, valid || got == "", "%q is %q, which a broker refuses", s, got)
			assert.That(t, ok || got == "", "%q is %q, which a broker refuses", s, got)
			again, ok := milliSpan(got)
			assert.Equal(t, again, got)
			assert.That(t, ok, "%q is %q, and that %q", s, got, again)
		})
	})
}

// A failure has a bounded text, the same each time, whichever framework wrote it.
func FuzzFailure(f *testing.F) {
	const java = "org.springframework.amqp.rabbit.support.ListenerExecutionFailedException: Listener threw exception\n" +
		"\tat org.springframework.amqp.Container.invoke(Container.java:1700)\nCaused by: " +
		"java.util.concurrent.TimeoutException: smtp gateway\n\tat com.example.Mail.send(Mail.java:12)\n"
	const dotnet = "System.AggregateException: One or more errors occurred. (smtp gateway)\r\n ---> " +
		"System.TimeoutException: smtp gateway\r\n   at Mail.Send() in Mail.cs:line 12"
	const python = "Traceback (most recent call last):\n  File \"mail.py\", line 12, in send\n    raise " +
		"TimeoutError(\"smtp gateway\")\nTimeoutError: smtp gateway\n"
	const rebus = "2 unhandled exceptions\r\n05/01/2024 12:00:00 +00:00: System.TimeoutException: smtp gateway\r\n   " +
		"at Mail.Send()"

	var forms []failureForm
	for _, k := range frameworks() {
		forms = append(forms, k.Failures...)
	}

	for i := range forms {
		f.Add(uint(i), "Net::OpenTimeout", "smtp gateway", java, []byte(deadBodies[i%len(deadBodies)]))
		f.Add(uint(i), "", "", []string{dotnet, python, rebus, "dial tcp: i/o timeout"}[i%4], []byte{})
	}

	f.Fuzz(func(t *testing.T, which uint, kind, message, trace string, body []byte) {
		c := &forms[which%uint(len(forms))]
		m := Message{Headers: model.Table{}, Body: body, BodyBytes: len(body)}
		for _, part := range []struct {
			spots []spot
			text  string
		}{
			{c.Needs, message},
			{c.Trace, trace},
			{c.Message, message},
			{c.Kind, kind},
			{[]spot{{inHeaders, path{"error"}}, {inHeaders, path{"error_class"}}}, trace},
		} {
			if len(part.spots) > 0 && c.Needs[0].in == inHeaders {
				put(m.Headers, part.spots[int(which/64)%len(part.spots)].path, part.text)
			}
		}

		var failure Failure
		var ok bool
		limit.Check(t, len(kind)+len(message)+len(trace)+len(body), func() { failure, ok = m.Failure() })
		again, _ := m.Failure()
		assert.Equal(t, again, failure, "asked twice")
		if !ok {
			return
		}
		text := failure.String()
		assert.That(t, text != "", "%+v", failure)
		assert.That(t, failure.Source != "", "%+v", failure)
		assert.That(t, len(failure.Kind) <= maxFailureText, "%+v", failure)
		assert.That(t, len(failure.Message) <= maxFailureText, "%+v", failure)
		assert.That(t, utf8.ValidString(failure.Kind), "%+v", failure)
		assert.That(t, utf8.ValidString(failure.Message), "%+v", failure)
		build.CheckPrintable(t, model.Printable(text))
	})
}

// put sets the text at a path, in nested tables when it has several steps.
func put(t model.Table, p path, text string) {
	for _, step := range p[:len(p)-1] {
		inner, ok := t[step].(model.Table)
		if !ok {
			inner = model.Table{}
			t[step] = inner
		}
		t = inner
	}

	t[p[len(p)-1]] = text
}

// An expiration is a duration that can be added to a time, or invalid.
func FuzzParseExpiration(f *testing.F) {
	for _, s := range []string{
		"0", "5000", "-1", "1e3", " 5", "99999999999999999999", "315360000000", "315360000001",
		"+5", "-0",
	} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		d, ok := ParseExpiration(s)
		assert.That(t, !ok || d >= 0 && !build.Noon.Add(d).Before(build.Noon.Add(-time.Nanosecond)), "%q is %v", s, d)
	})
}
