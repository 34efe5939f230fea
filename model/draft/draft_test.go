package draft

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

func draftOf(body string) Draft {
	at := time.Unix(1770000000, 0)
	return Draft{
		Address:    model.Address{Exchange: "master", RoutingKey: "user.create"},
		Properties: message.Properties{ContentType: "application/json", DeliveryMode: 2, MessageID: "m\xff1", Timestamp: at},
		Headers: model.Table{
			"small": int8(-3), "text": "a\x1b[2J\xff", "at": at,
			"list": []any{int64(1), nil, model.Table{"$type": "x", "when": at}}, "f": float32(1.5),
		},
		Body: []byte(body),
	}
}

// What an editor leaves alone stays the same, byte for byte.
func TestDraftComesBackAsItWas(t *testing.T) {
	for _, body := range []string{
		"", "\n", "text", "text\n", "text\n\n", "line\r\nline\r\n", "\x00\xff binary",
		"zero\x00byte", strings.Repeat("ж", 300) + "\xff", "----- body (utf-8) -----\n", `{"a":1}`, "\uFEFFbom",
	} {
		d := draftOf(body)
		for _, text := range [][]byte{d.Text(), bytes.TrimSuffix(d.Text(), []byte("\n"))} {
			if body == "\n" || strings.HasSuffix(body, "\n") && len(text) < len(d.Text()) {
				text = d.Text() // an editor that removes the final newline changes the body
			}
			got, err := Parse(text)
			must.That(t, err == nil, "%q: %v\n%s", body, err, text)
			diff := cmp.Diff(d.Headers, got.Headers)
			assert.NoDiff(t, diff, "%v", body)
			assert.That(t, bytes.Equal(d.Body, got.Body), "%q: %s %q %q", body, diff, got.Body, d.Differences(&got))
			assert.That(t, d.Same(&got), "%q: %s %q %q", body, diff, got.Body, d.Differences(&got))
			assert.Equal(t, len(d.Differences(&got)), 0, "%v", body)
			assert.That(t, reflect.DeepEqual(d.Headers, got.Headers), "%q: it counts as changed: %+v", body, got)
			assert.Equal(t, d.Properties, got.Properties, "%v", body)
		}
	}

	d := draftOf("a\x1b[2Jb")
	assert.That(t, !bytes.ContainsRune(d.Text(), '\x1b'), "an escape sequence is in the document")
}

func TestDraftErrorsNameTheLine(t *testing.T) {
	d := draftOf("XYZ")
	text := string(d.Text())
	fails := func(name, text, line, want string) {
		_, err := Parse([]byte(text))
		must.That(t, err != nil, "%s: %v, want %s… %s", name, err, line, want)
		assert.That(t, strings.HasPrefix(err.Error(), line), "%s: %v, want %s… %s", name, err, line, want)
		assert.Contains(t, err.Error(), want, "%v", name)
		assert.Lacks(t, err.Error(), "\n", "%v", name)
	}

	for _, test := range must.Cases[struct{ Name, From, To, At, Want string }](t, "testdata/errors.toml") {
		must.Contains(t, text, test.From, "%v", test.Name)
		line := "line "
		if before, _, _ := strings.Cut(text, test.At); test.At != "" {
			line += model.Count(int64(strings.Count(before, "\n")+1)) + ": "
		}
		fails(test.Name, strings.Replace(text, test.From, test.To, 1), line, test.Want)
	}

	fails("nothing", "", "line 1: ", "missing")
}

func TestDraftDifferences(t *testing.T) {
	was := draftOf("one two three")
	is := draftOf("one TWO three!")
	is.RoutingKey = "user.update"
	is.Properties.Priority = 5
	is.Properties.ContentType = ""
	delete(is.Headers, "f")
	is.Headers["new"], is.Headers["text"] = int32(7), "hello"

	want := []string{
		"routing_key: user.create → user.update",
		`content_type: application/json → ""`,
		`priority: "" → 5`,
		"without the header f",
		`with the header new: {"$type":"int32","value":7}`,
		`header text: {"$type":"string","value":"YRtbMkr/"} → "hello"`,
		"body: 13 → 14 bytes, different from byte 5 on",
	}

	assert.Same(t, want, was.Differences(&is))
}

// An edited document is a draft that survives writing and reading, or an error with its line.
func FuzzParse(f *testing.F) {
	for _, line := range build.ExportedLines(f) {
		m := must.Get(message.ParseMessage(line))(f)
		d := Draft{
			Address:    model.Address{Exchange: m.Exchange, RoutingKey: m.RoutingKey},
			Properties: m.Properties, Headers: model.Table{"tenant": "blue", "raw": []byte{0xff}}, Body: m.Body,
		}
		f.Add(d.Text())
	}

	f.Add([]byte("# x\n{\"exchange\":\"\",\n\"routing_key\":7}\n----- body (utf-8) -----\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Draft
		var err error
		limit.Check(t, len(text), func() { d, err = Parse(text) })
		if err != nil {
			build.CheckError(t, err)
			var at *lineError
			must.That(t, errors.As(err, &at), "no line of the document: %v", err)
			assert.That(t, at.line >= 1, "no line of the document: %v", err)
			assert.That(t, at.line <= bytes.Count(text, []byte("\n"))+2, "no line of the document: %v", err)
			return
		}

		again, err := Parse(d.Text())
		must.Do(t, err)
		assert.That(t, d.Same(&again), "written and read again it is another draft, %v:\n%s\n%s", err, d.Text(), again.Text())
		assert.That(t, bytes.Equal(d.Body, again.Body), "written and read again it is another draft, %v:\n%s\n%s", err,
			d.Text(), again.Text())
		lines := d.Differences(&again)
		assert.That(t, len(lines) == 0, "differences where there are none: %q", lines)
	})
}
