package ui

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/charmbracelet/x/ansi"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// packed is JSON in gzip, with JSON in one of its strings.
const packed = "1f8b08000000000002031d8cd10ac32010047fa5ecb384184802fe4aaf0f477214c198706a4124ff5edbc79961b7c1ef" +
	"7076b206f29198e11a72bd040e25890e9b0a67d961c0bdd97559a7695ec671986f838b6b38b9efd108910f2138c2bb70" +
	"7cd44230043d83a46e9f04de0f1ffff2601f08afbb9faa64ad70598bfc80d319e16209e1fe02ed3a861999000000"

// packedMessage returns a failed message whose body is packed.
func packedMessage(t *testing.T) message.Message {
	t.Helper()
	m := failedMessage(1)
	m.Body = must.Get(hex.DecodeString(packed))(t)
	m.Properties.ContentEncoding = "gzip"
	return m
}

func TestPackedBodyGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		term := holding(packedMessage(t)).onFailed(t, width, height)
		if term.press(keyEnter); height < messages.SplitHeight {
			term.press(keyTab, keyTab) // otherwise it begins with the body
		}
		term.await("▸ Body", "gzip → JSON, 153B from ", `"payload": (JSON in a string) {`).golden()
	})
}

// b shows the body as it is in the queue, z only its outermost level, and both toggle.
func TestBodyRawAndFolded(t *testing.T) {
	term := holding(packedMessage(t)).onFailed(t, 80, 24)
	term.press(keyEnter, keyTab, keyTab).await("▸ Body", "gzip → JSON", `"event": {`).press("z")
	term.await("▸ Body (folded)", `"event": { … 2 lines }`, `"payload": (JSON in a string) { … 5 lines }`)
	term.press("b").await("▸ Body (raw)", "00000000  1f 8b 08").press("b", "z").awaitGone("(folded)")
	term.await(`"event": {`, `"name": "guan yu"`)
}

// Broken JSON is reported, with the position.
func TestBrokenJSONIsNamed(t *testing.T) {
	m := failedMessage(1)
	m.Body = []byte(`{"id":121,}`)
	term := holding(m).onFailed(t, 80, 24).press(keyEnter, keyTab, keyTab)
	term.await("▸ Body", "! not valid JSON, although its content type says so: byte 11", `{"id":121,}`)
}

// Colouring and breaking lines keeps the text: no width loses or doubles a part of it.
func TestDressedBodyIsTheBody(t *testing.T) {
	m := message.Message{Body: []byte(`{"name":"关羽 ` + strings.Repeat("x世", 40) + `","n":[1,"{\"a\":1}"]}`)}
	m.BodyBytes = len(m.Body)
	for _, l := range body.Read(&m).Lines {
		for width := 2; width < 100; width++ {
			var got strings.Builder
			for _, line := range shell.Dressed(l, width) {
				text := ansi.Strip(line)
				assert.That(t, ansi.StringWidthWc(text) <= width, "%q is wider than %d", text, width)
				got.WriteString(text)
			}
			assert.Equal(t, got.String(), l.String(), "at %d", width)
		}
	}
}

// A long line is broken after words, and nothing of it is lost: matches in it are found by their bytes.
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

// A hex dump has as many bytes a line as its pane has room for: none of its lines is broken.
func TestDumpFitsItsPane(t *testing.T) {
	m := message.Message{Body: []byte("\xff\xfe" + strings.Repeat("0123456789", 9)), BodyBytes: 92}
	v := body.Read(&m)
	for width, each := range map[int]int{28: 4, 43: 4, 44: 8, 75: 12, 76: 16, 200: 16} {
		lines := shell.ViewLines(&v, width, false)
		want := (92 + each - 1) / each
		must.Equal(t, len(lines), want, "%d lines in %d columns, want %d: %q", len(lines), width, want, lines[0])
		assert.That(t, ansi.StringWidthWc(lines[0]) <= width, "%d lines in %d columns, want %d: %q", len(lines), width, want,
			lines[0])
	}
}

// n and N go from match to match, wrapping around, and show the match's number.
func TestStepThroughMatches(t *testing.T) {
	terms := failed(47).onFailed(t).press("/", "valueerror").await("match 1 of 23 in 47")
	terms.press(keyEnter, "n").await("match 2 of 23 in 47", "user3@")
	terms.press("n").await("match 3 of 23 in 47", "user5@").press("N", "N", "N").await("match 23 of 23 in 47")
	terms.press("n").await("match 1 of 23 in 47", "user1@").press(keyEnter).await("message 1 of 23")
	terms.press("n").await("message 2 of 23", "user3@")
}

// In a body, each line with a match is a step, then the next message; backwards from its end.
func TestStepThroughABody(t *testing.T) {
	o := holding(longMessage("first"), longMessage("second"))
	terms := o.onFailed(t, 80, 24).press("/", "needle", keyEnter, keyEnter).await("message 1 of 2")
	terms.press(keyTab, keyTab).await("▸ Body", "the first Needle 100", "line 100")
	for _, step := range []struct{ key, seen string }{
		{"n", "the first Needle 150"},
		{"n", "the second Needle 100"},
		{"n", "the second Needle 150"},
		{"n", "the first Needle 100"},
		{"N", "the second Needle 150"},
		{"N", "the second Needle 100"},
		{"N", "the first Needle 150"},
	} {
		terms.press(step.key).await("▸ Body", step.seen)
	}
}

// The filter's line completes names, shows errors below it, and keeps what was typed.
func TestFilterCompletes(t *testing.T) {
	o := failed(47)
	o.Filters = filter.Saved{"smtp": `failure contains "smtp"`, "often": "deaths > 3"}
	terms := o.onFailed(t)
	terms.press("/").await("text in any case, or = and an expression: =deaths > 3, or a saved one: =@often")
	terms.press("=").await("tab completes  body  json  headers  exchange")
	terms.press("fail").await("tab completes  failure  failure_kind  failure_message")
	terms.press(keyTab, keyTab).await("/ =failure_kind").press(keyBackTab, ` contains "x" and json.em`)
	terms.await(`/ =failure contains "x" and json.em`, "tab completes  json.email").press(keyTab, " ==")
	terms.await(`/ =failure contains "x" and json.email ==`, "! the filter cannot be read at character", "showing 0")
	terms.press(` "user3@example.com" or headers["x-er`).await(`tab completes  headers["x-error"]`)
	terms.press(keyTab, ` == 1 or json.email == "user3@example.com"`).await("match 1 of 1 in 47", "user3@")
	terms.press(keyEsc, "/", "=@s").await("tab completes  @smtp")
	terms.press(keyTab).await("/ =@smtp", "match 4 of 24 in 47").press("x")
	terms.await("! there is no saved filter @smtpx: [filters] in the configuration file has @often, @smtp")
	terms.press(keyEnter, "D").await("the filter is not complete")
}

// traced has two messages: one with a trace, one without.
func traced(t *testing.T) Options {
	t.Helper()
	o := holding(
		message.Message{RoutingKey: "k", Body: []byte("a"), Headers: model.Table{"trace": "ab c/\x1b[2J"}},
		message.Message{RoutingKey: "k", Body: []byte("b")})
	trace := must.Get(filter.NewAction("ctrl-t", "trace", "https://t.example/{{headers.trace}}", ""))(t)
	echo := must.Get(filter.NewAction("a", "say", "", `echo "it is ${DLXTOP_HEADER_TRACE:?is missing}"`))(t)
	o.ReadOnly = true
	o.Production = true
	o.Actions = []filter.Action{trace, echo}
	return o
}

// An action is offered when the message has its fields, even on a read-only connection.
func TestActionsOnMessages(t *testing.T) {
	var opened, copied strings.Builder
	terms := newTerminal(t, traced(t), 200, 50, withQueue(failedQueue), func(a *app) {
		a.Clipboard = io.Writer(&copied)
		a.Opener = func(_ context.Context, url string) error {
			opened.WriteString(url)
			return nil
		}
	})

	terms.await("2 messages", "ctrl-t trace", "a say")
	terms.press("\x14").await("trace: opened and copied: https://t.example/ab%20c%2F%1B%5B2J")
	assert.Equal(t, opened.String(), "https://t.example/ab%20c%2F%1B%5B2J", "opened %q, copied %q", opened.String(),
		copied.String())
	assert.That(t, strings.HasPrefix(copied.String(), "\x1b]52;"), "opened %q, copied %q", opened.String(),
		copied.String())
	terms.press("a").await(`say: it is ab c/\x1b[2J`).press(keyDown).awaitGone("ctrl-t trace")
	terms.press("\x14").await("trace: not opened: this message has no headers.trace")
	terms.press("a").await("say: exit status", "DLXTOP_HEADER_TRACE: is missing")
}

// Without a desktop, the URL is copied and shown.
func TestActionWithoutADesktop(t *testing.T) {
	for want, err := range map[string]error{
		"trace: copied: https://t.example/ab":                              act.ErrNoDesktop,
		"trace: copied, not opened (no such opener): https://t.example/ab": errors.New("no such opener"),
	} {
		terms := newTerminal(t, traced(t), 120, 36, withQueue(failedQueue), func(a *app) {
			a.Clipboard = io.Discard
			a.Opener = func(context.Context, string) error { return err }
		})
		terms.await("2 messages").press("\x14").await(want)
	}
}

func TestCheckActionKey(t *testing.T) {
	for _, free := range []string{"ctrl-t", "ctrl-l", "a", "f5", "\u00e9"} {
		err := CheckActionKey(free)
		assert.That(t, err == nil, "%s: %v", free, err)
	}

	for name, want := range map[string]string{
		"r": "is taken", "ctrl-d": "is taken", "ctrl-n": "is taken", "esc": "is taken", "tab": "is taken",
		"ctrl-i": "no key", "ctrl-shift-t": "no key", "F": "is taken", "\x1b[2J": "no key", "space": "no key",
	} {
		err := CheckActionKey(name)
		assert.Fails(t, err, want, "%v", name)
	}
}

// readings are messages that count how often each was read.
type readings struct {
	message.MessageList
	reads atomic.Int64
}

func (c *readings) At(i, body int) (message.Message, error) {
	c.reads.Add(1)
	return c.MessageList.At(i, body)
}

// The rows, due times and findings of messages come from one reading, in queues in which messages wait and in others.
func TestALookReadsItsMessagesOnce(t *testing.T) {
	topology := model.NewTopology(busyBroker())
	for _, queue := range []string{failedQueue, "ucenter@user@retry"} {
		const n = 50
		list := &readings{}
		for i := range n {
			m := failedMessage(i)
			m.Position = i + 1
			list.MessageList = append(list.MessageList, m)
		}

		at := newClock().now()
		look := messages.PeekedMsg{Queue: ref(queue), Peeked: peek.Peeked{Messages: list, TakenAt: at}}
		must.Do(t, look.Read(topology, story.Sight{}, nil, messages.OfCause{}))
		assert.Equal(t, list.reads.Load(), n, "%s", queue)
		waits := queue != failedQueue
		assert.Equal(t, len(look.Rows), n, "%s: %d rows, waits %v", queue, len(look.Rows), look.Waits)
		assert.Equal(t, waits, look.Waits != nil, "%v", queue)
	}
}

// Lists and panes have the columns and widths that their contents need, on a real broker.
func TestWidthsByContent(t *testing.T) {
	const worker = "checkout.invoice-service"
	o, channel := storyVHost(t, worker, worker+".failed")
	dial.Queue(t, channel, worker+".retry", waitingFor(30_000, worker))
	body := []byte(`{"order": 1}`)
	dial.Publish(t, channel, worker+".failed", amqp.Publishing{DeliveryMode: 2, Body: body, Headers: amqp.Table{
		"x-exception-message": "customer 7 has no address for the invoice",
		"x-exception-stacktrace": "java.lang.IllegalStateException: customer 7 has no address for the invoice\n" +
			"\tat com.acme.AddressBook.require(AddressBook.java:88)\n\tat com.acme.Invoices.render(Invoices.java:142)",
	}})

	wide := o.open(t, 200, 50).await(o.VHost+"/"+worker+" ", "NEXT DUE", "LAST 5 MIN", "── "+o.VHost+"/"+worker)

	term := o.open(t, 80, 24).await(o.VHost + "/" + worker).press("3")
	term.await(`body      {"order": 1}`, "trace     java.lang.IllegalStateException: customer 7",
		"\n                 at com.acme.AddressBook.require(AddressBook.java:88)")
	term.press("1").press("f").await("IllegalStateException: customer 7", "FAILURE")
	head := strings.Split(term.screen(), "\n")[5]
	failure := strings.Index(head, "FAILURE")
	assert.That(t, failure <= strings.Index(head, "ROUTING KEY"), "the columns are %q", head)
	assert.That(t, failure >= 0, "the columns are %q", head)
	assert.Lacks(t, head, "DEATHS")
	wide.press("f").await("failed  IllegalStateException: customer 7 has no address for the invoice ", `"order": 1`)

	term.press(keyEnter, keyTab)
	term.await("▸ Headers", "\n   java.lang.IllegalStateException",
		"\n       at com.acme.AddressBook.require(AddressBook.java:88)",
		"\n       at com.acme.Invoices.render(Invoices.java:142)")
	wide.press(keyTab, keyEnter) // a pane beside the list gets the whole screen
	wide.awaitThat("the story is alone", func(s string) bool {
		return strings.Contains(s, "▸ Story") && !strings.Contains(s, `"order": 1`)
	})
	wide.press(keyEnter).await("▸ Story", `"order": 1`)
}
