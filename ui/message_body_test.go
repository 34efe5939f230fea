package ui

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// packed is JSON in gzip, with JSON in a string of it.
const packed = "1f8b08000000000002031d8cd10ac32010047fa5ecb384184802fe4aaf0f477214c198706a4124ff5edbc79961b7c1ef" +
	"7076b206f29198e11a72bd040e25890e9b0a67d961c0bdd97559a7695ec671986f838b6b38b9efd108910f2138c2bb70" +
	"7cd44230043d83a46e9f04de0f1ffff2601f08afbb9faa64ad70598bfc80d319e16209e1fe02ed3a861999000000"

// packedMessage is a failed message whose body is packed.
func packedMessage(t *testing.T) message.Message {
	t.Helper()
	m := failedMessage(1)
	var err error
	if m.Body, err = hex.DecodeString(packed); err != nil {
		t.Fatal(err)
	}
	m.Properties.ContentEncoding = "gzip"
	return m
}

func TestPackedBodyGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		c := newClock()
		b := newRecordedBroker(c)
		b.put(failedQueue, packedMessage(t))
		o := Options{Source: &recorded{snapshot: busyBroker()}, Broker: b, Title: "prod", Now: c.now}
		term := onQueue(t, o, failedQueue, width, height)
		term.await("1 message")
		if term.press(keyEnter); height < messages.SplitHeight {
			term.press(keyTab, keyTab) // else it begins with the body
		}
		term.await("▸ Body", "gzip → JSON, 153B from ", `"payload": (JSON in a string) {`)
		term.golden()
	})
}

// b shows the body as it lies in the queue, z the outermost of it, and both are taken back.
func TestBodyRawAndFolded(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	b.put(failedQueue, packedMessage(t))
	o := Options{Source: &recorded{snapshot: busyBroker()}, Broker: b, Now: c.now}
	term := onQueue(t, o, failedQueue, 80, 24)
	term.await("1 message")
	term.press(keyEnter, keyTab, keyTab)
	term.await("▸ Body", "gzip → JSON", `"event": {`)
	term.press("z")
	term.await("▸ Body (folded)", `"event": { … 2 lines }`, `"payload": (JSON in a string) { … 5 lines }`)
	term.press("b")
	term.await("▸ Body (raw)", "00000000  1f 8b 08")
	term.press("b", "z")
	term.awaitGone("(folded)")
	term.await(`"event": {`, `"name": "guan yu"`)
}

// JSON that is broken says so, where it is.
func TestBrokenJSONIsNamed(t *testing.T) {
	c := newClock()
	b := newRecordedBroker(c)
	m := failedMessage(1)
	m.Body = []byte(`{"id":121,}`)
	b.put(failedQueue, m)
	term := onQueue(t, Options{Source: &recorded{snapshot: busyBroker()}, Broker: b, Now: c.now}, failedQueue, 80, 24)
	term.await("1 message")
	term.press(keyEnter, keyTab, keyTab)
	term.await("▸ Body", "! not valid JSON, although its content type says so: byte 11", `{"id":121,}`)
}

// What is coloured and broken is what was there: no width loses or doubles a part of it.
func TestDressedBodyIsTheBody(t *testing.T) {
	m := message.Message{Body: []byte(`{"name":"关羽 ` + strings.Repeat("x世", 40) + `","n":[1,"{\"a\":1}"]}`)}
	m.BodyBytes = len(m.Body)
	s := term.NewStyles(term.Dark, termenv.TrueColor)
	for _, l := range body.Read(&m).Lines {
		for width := 2; width < 100; width++ {
			var got strings.Builder
			for _, line := range shell.Dressed(s, l, width) {
				text := ansi.Strip(line)
				assert.That(t, ansi.StringWidthWc(text) <= width, "%q is wider than %d", text, width)
				got.WriteString(text)
			}
			assert.Equal(t, got.String(), l.String(), "at %d", width)
		}
	}
}

// A long line is broken behind words, and nothing of it is lost: what is marked in it is found by its bytes.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"short", 10, []string{"short"}},
		{"duplicate key value violates unique", 20, []string{"duplicate key value ", "violates unique"}},
		{"a 0123456789abcdefghij", 10, []string{"a 01234567", "89abcdefgh", "ij"}},
		{"exactly 10 more", 10, []string{"exactly 10", " more"}},
		{"世界", 1, []string{"世", "界"}},
		{"", 5, []string{""}},
	} {
		assert.List(t, shell.Pieces(c.text, c.width), c.want, "%q in %d", c.text, c.width)
	}
	long := strings.Repeat("é世 word", 5000)
	assert.That(t, strings.Join(shell.Pieces(long, 7), "") == long, "a part of the text is lost")
}

// A dump has as many bytes a line as its pane has room for: none of its lines is broken.
func TestDumpFitsItsPane(t *testing.T) {
	m := message.Message{Body: []byte("\xff\xfe" + strings.Repeat("0123456789", 9)), BodyBytes: 92}
	v := body.Read(&m)
	for width, each := range map[int]int{28: 4, 43: 4, 44: 8, 75: 12, 76: 16, 200: 16} {
		lines := shell.ViewLines(&term.Styles{}, &v, width, false)
		if want := (92 + each - 1) / each; len(lines) != want || ansi.StringWidthWc(lines[0]) > width {
			t.Errorf("%d lines in %d columns, want %d: %q", len(lines), width, want, lines[0])
		}
	}
}
