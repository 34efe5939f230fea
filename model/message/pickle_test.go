package message

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
)

// pickles are a task, a result that is an exception, and a list that is in itself, as Python 3.11 pickles them, by name
// and protocol.
func pickles(t testing.TB) map[string][]byte {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/pickles.txt"))(t)
	all := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		parts := strings.Fields(line)
		body := must.Get(hex.DecodeString(parts[2]))(t)
		all[parts[0]+" "+parts[1]] = body
	}
	return all
}

func pickledMessage(body []byte) Message {
	return Message{Body: body, BodyBytes: len(body), Properties: Properties{ContentType: pickleType}}
}

func TestPickled(t *testing.T) {
	want := map[string][]string{
		"task": {
			`"task":"shop.charge"`, `"args":[121,"Zoë"]`, `"big":1180591620717411303424`, `"neg":-5`, `"f":1.5`, `"ok":true`,
			`"no":null`, `{"$class":"datetime.datetime","args":[`, `"t":[1,2]`, `"retries":2`,
			`{"$class":"collections.OrderedDict","args":[]`,
		},
		"result":    {`"ValueError","args":["smtp gateway"]`, `"task_id":"4d5"`},
		"recursive": {`[1,[1,[1,`},
	}
	all := pickles(t)
	must.Equal(t, len(all), 18, "pickles")
	for name, body := range all {
		m := pickledMessage(body)
		text, whole, ok := m.Pickled()
		kind, _, _ := strings.Cut(name, " ")
		assert.That(t, ok && whole != (kind == "recursive") && json.Valid(text), "%s: %t %t %s", name, ok, whole, text)
		for _, part := range want[kind] {
			assert.That(t, strings.Contains(
				strings.ReplaceAll(strings.ReplaceAll(string(text), "builtins.", ""), "exceptions.", ""), part),
				"%s is without %s: %s", name, part, text)
		}
	}
}

// A pickled task says what a JSON one does; its count is not written, and the replay says so.
func TestPickledTask(t *testing.T) {
	m := pickledMessage(pickles(t)["task 4"])
	assert.Equal(t, m.FrameworkWords(), "Celery: shop.charge, counts 2, due 2026-11-22T07:00:05.000Z")
	assert.Equal(t, m.BodyPreview(22), `{"task":"shop.charge",`)
	same, resets := m.Reset(ResetWish{})
	assert.That(t, len(resets) == 1 && resets[0].Kind == CounterKept && resets[0].Was == 2 && same == &m, "%+v", resets)
	m = pickledMessage(pickles(t)["result 4"])
	if f, ok := m.Failure(); !ok || f.String() != "ValueError: smtp gateway" || f.Source != "Celery" {
		t.Errorf("%+v", f)
	}
	m = pickledMessage(nil)
	m.Body = []byte(`{"status":"FAILURE","result":{"exc_type":"ValueError","exc_message":["smtp gateway"]},` +
		`"traceback":"Traceback (most recent call last):\nValueError: smtp gateway\n","task_id":"4d5"}`)
	if f, ok := m.Failure(); !ok || f.String() != "ValueError: smtp gateway" {
		t.Errorf("%+v", f)
	}
}

// What is no pickle, or one that calls for more than a body has, stays a body of bytes.
func TestNoPickle(t *testing.T) {
	bomb := append([]byte("\x80\x02]"), bytes.Repeat([]byte("2a"), 100_000)...) // more steps than are read
	for name, body := range map[string]string{
		"empty": "\x80\x02.", "no end": "\x80\x02N", "more behind the end": "\x80\x02N..",
		"a huge length":       "\x80\x02X\xff\xff\xff\x7fa.",
		"a length beyond all": "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffa.", "no mark": "\x80\x02t.",
		"below a mark": "\x80\x02N(0a.", "nothing remembered": "\x80\x02h\x05.", "a protocol to come": "\x80\x06N.",
		"a buffer apart": "\x80\x05\x97.", "text": "a sentence.", "a dict with half a pair": "\x80\x02(Nd.",
		"too many steps": string(bomb) + ".",
	} {
		m := pickledMessage([]byte(body))
		text, _, ok := m.Pickled()
		assert.That(t, !ok, "%s: %s", name, text)
	}
}

// A call of whatever a class is called stays a name with its arguments.
func TestPickledCallIsAName(t *testing.T) {
	m := pickledMessage([]byte("cos\nsystem\n(S'touch pickled'\ntR."))
	text, whole, ok := m.Pickled()
	want := `{"$class":"os.system","args":["touch pickled"]}`
	assert.That(t, ok && whole && string(text) == want, "%s, want %s", text, want)
}

// A pickle is read within bounds, as the same thing twice, and its body stays as it is.
func FuzzPickle(f *testing.F) {
	for _, body := range pickles(f) {
		f.Add(body)
	}
	f.Add([]byte("cos\nsystem\n(S'touch pickled'\ntR."))
	f.Add([]byte("\x80\x02}q\x00(h\x00K\x01u."))
	f.Add([]byte("\x80\x02]q\x00(h\x00h\x00h\x00e."))
	f.Fuzz(func(t *testing.T, body []byte) {
		m := pickledMessage(bytes.Clone(body))
		var text, again []byte
		var whole, ok bool
		limit.Keep(t, len(body), func() {
			text, whole, ok = m.Pickled()
			again, _, _ = m.Pickled()
		})
		assert.That(t, bytes.Equal(text, again) && bytes.Equal(m.Body, body), "%q, then %q", text, again)
		assert.That(t, !ok || json.Valid(text), "no JSON, whole %t: %.300q", whole, text)
		m.Failure()
	})
}
