package message

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// A line is a message, which is written and read again as the same one, or an error in one sentence.
func FuzzParseMessage(f *testing.F) {
	for _, line := range build.ExportedLines(f) {
		f.Add(line)
	}
	f.Add([]byte("0"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var m Message
		var err error
		limit.Keep(t, len(line), func() { m, err = ParseMessage(line) })
		if err != nil {
			build.CheckError(t, err)
			return
		}
		assert.That(t, m.Fingerprint == FingerprintOf(&m) && m.BodyBytes == len(m.Body), "not complete: %+v", m)
		if same, err := ParseMessage(line); err != nil || same.Fingerprint != m.Fingerprint {
			t.Errorf("read twice it is two messages: %v\n%+v\n%+v", err, m, same)
		}
		written := build.CheckLine(t, m.JSON())
		again, err := ParseMessage(written)
		must.That(t, err == nil && again.Fingerprint == m.Fingerprint && again.Position == m.Position &&
			again.Redelivered == m.Redelivered, "written as %s it is another message, %v:\n%+v\n%+v", written, err, m, again)
		twice := build.CheckLine(t, again.JSON())
		assert.That(t, bytes.Equal(written, twice), "written twice it is\n%s\n%s", written, twice)
	})
}

// What can be read of x-death is kept, and what cannot is told in one sentence; the header stays as it is.
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
		limit.Keep(t, len(text), func() { deaths, problem = ParseDeaths(headers) })
		assert.That(t, fingerprintOfTable(headers) == before, "the header has changed")
		assert.That(t, model.Printable(problem) == problem && len(problem) <= 300, "problem %q", problem)
		entries, isList := header.([]any)
		assert.That(t, !isList || len(deaths) <= len(entries) && (len(deaths) >= len(entries) || problem != ""),
			"%d deaths of %d entries, and the problem %q", len(deaths), len(entries), problem)
		m := Message{Headers: headers, Deaths: deaths, DeathsError: problem}
		for _, d := range deaths {
			assert.That(t, (d.Queue != "" || d.Reason != "") && d.Count >= 0 && (d.Time.IsZero() || d.Time.Unix() >= 1 &&
				d.Time.Year() <= 3100), "death %+v", d)
		}
		if n := m.DeathCount(); n < int64(len(deaths)) || (m.DeathSummary() == "") != (len(deaths) == 0) {
			t.Errorf("%d deaths are %d, %q", len(deaths), n, m.DeathSummary())
		}
	})
}

func fingerprintOfTable(t model.Table) Fingerprint { return FingerprintOf(&Message{Headers: t}) }

// Two header names in the file can be one name in the message.
func TestAHeaderThatIsThereTwice(t *testing.T) {
	for _, headers := range []string{`{"a":1,"$base64:YQ==":2}`, `{"t":{"a":1,"$base64:YQ==":2}}`} {
		_, err := ParseMessage([]byte(`{"properties":{},"headers":` + headers + `,"body":"","body_bytes":0}`))
		assert.That(t, err != nil && strings.Contains(err.Error(), ": it is there twice"), "%s: %v", headers, err)
	}
}
