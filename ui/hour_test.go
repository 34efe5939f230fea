package ui

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// hour is one sitting: a screen, and the broker that it must agree with.
type hour struct {
	*terminal
	channel *amqp.Channel
}

// hourQueues are the queues of the hour: two workers, the first with a retry queue, and their failed queues.
var hourQueues = []string{"mail", "mail.retry", "mail.failed", "sms", "sms.failed"}

// slowest is how long a screen may need until it agrees: statistics are up to 10 s late, those of quorum queues 5 s
// more.
const slowest = 15 * time.Second

// agrees presses keys, and waits until the screen agrees with the broker, with a row under the cursor.
func (h *hour) agrees(keys ...string) {
	h.t.Helper()
	h.press(keys...).settle()
	began := time.Now()
	h.awaitThat("it agrees with the broker", func(screen string) bool {
		wrong := h.differs()
		must.That(h.t, wrong == "" || time.Since(began) <= slowest, "after %q, for %s: %s\n%s", keys, slowest, wrong, screen)
		return wrong == ""
	})
}

var (
	tabCount    = regexp.MustCompile(`3 Failed(?: ([\d,]+))?`)
	headerCount = regexp.MustCompile(`([\d,]+) failed `)
	readyCount  = regexp.MustCompile(`([\d,]+) ready`)
	listHeads   = regexp.MustCompile(`^   +(FLOW|QUEUE|CAUSE|#|FAILED QUEUE) `)
	queueLine   = regexp.MustCompile(`(?m)^ vh\d+/(\S+)   (?:([\d,]+) messages?|[\d,]+ of ([\d,]+) read)`)
)

func numberOf(text string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err != nil {
		return -1
	}
	return n
}

// below returns the number in a line that ends below a title.
func below(head, line, title string) (int, bool) {
	at := strings.Index(head, title)
	if at < 0 {
		return 0, false
	}
	runes := []rune(line)
	end := len([]rune(head[:at+len(title)]))
	if len(runes) < end {
		return -1, true
	}
	fields := strings.Fields(string(runes[:end]))
	return numberOf(strings.TrimPrefix(fields[len(fields)-1], "≥")), true
}

// differs returns the first difference between the screen and the broker; "" for none.
func (h *hour) differs() string {
	h.t.Helper()
	there := map[string]int{}
	for _, name := range hourQueues {
		there[name] = depth.Of(h.t, h.channel, name)
	}

	failed := there["mail.failed"] + there["sms.failed"]
	s := h.screen()
	lines := strings.Split(s, "\n")
	if tab := tabCount.FindStringSubmatch(lines[1]); max(numberOf(tab[1]), 0) != failed {
		return fmt.Sprintf("the tab says %q, and %d failed", tab[0], failed)
	}
	if header := headerCount.FindStringSubmatch(lines[0]); header != nil && numberOf(header[1]) != failed {
		return fmt.Sprintf("the header says %q, and %d failed", header[0], failed)
	}
	if q := queueLine.FindStringSubmatch(s); q != nil {
		said := numberOf(q[2] + q[3])
		switch empty := strings.Contains(s, "the queue is empty"); {
		case said != there[q[1]] || empty != (said == 0) || strings.Contains(q[0], ", now "):
			return fmt.Sprintf("the list says %q, and there are %d", q[0], there[q[1]])
		}
	}

	head := slices.IndexFunc(lines, listHeads.MatchString)
	if head < 0 || len(lines) < head+2 {
		return ""
	}
	row := lines[head+1]
	if len(row) > 4 && strings.TrimSpace(row[:4]) == "" && h.cursorRow() == "" {
		return "no row has the cursor"
	}

	return differsInList(lines[head], lines[head+1:], there, failed)
}

// unmarked removes the marks from a row.
var unmarked = strings.NewReplacer(term.MarkCursor, " ", term.MarkChosen, " ", "✗", " ", "! ", " ", "·", " ")

// differsInList compares the rows of a list.
func differsInList(head string, rows []string, there map[string]int, failed int) string {
	sum := 0
	for _, row := range rows {
		fields := strings.Fields(unmarked.Replace(row))
		if len(fields) < 3 || strings.Contains(row, "──") {
			break
		}
		if n, ok := below(head, row, "MESSAGES"); ok {
			sum += n
			continue
		}

		name := fields[0][strings.Index(fields[0], "/")+1:]
		wants := map[string]int{"READY": there[name]}
		if strings.Contains(head, "FLOW") {
			wants = map[string]int{"FAILED": there[name+".failed"], "IN WORKER": there[name]}
		}

		for title, want := range wants {
			if n, ok := below(head, row, title); ok && n != want {
				return fmt.Sprintf("%s of %s is %d, and there are %d", title, name, n, want)
			}
		}
	}

	if strings.Contains(head, "MESSAGES") && !strings.Contains(head, "QUEUE") && sum != failed {
		return fmt.Sprintf("the causes are of %d messages, and there are %d", sum, failed)
	}
	if strings.Contains(head, "FLOW ") {
		for _, n := range readyCount.FindAllStringSubmatch(strings.Join(rows, "\n"), -1) {
			if !slices.Contains(slices.Collect(maps.Values(there)), numberOf(n[1])) {
				return fmt.Sprintf("the picture says %q, which no queue has", n[0])
			}
		}
	}

	return ""
}

// look waits until messages or causes were read, and agrees to the cost if asked.
func (h *hour) look(text string) {
	h.t.Helper()
	var pressed time.Time
	h.awaitThat("there is "+text, func(s string) bool {
		asks := strings.Contains(s, "enter read them")
		key := keyEnter
		if !asks {
			asks = strings.Contains(s, "look costs") || strings.Contains(s, "a look has a cost")
			key = "i"
		}

		if asks && time.Since(pressed) > time.Second {
			pressed = time.Now()
			h.press(key).settle()
		}

		return strings.Contains(s, text) && !asks
	})
}

// does presses keys that open a plan, agrees to it, and closes the account.
func (h *hour) does(keys, plan, to, account string) {
	h.t.Helper()
	h.press(keys).await(plan)
	h.agreed(to, account)
}

func (h *hour) agreed(to, account string) {
	h.t.Helper()
	h.await("enter " + to).press(keyEnter).settle() // otherwise agree could press enter a second time
	h.agree(to, account)
	h.closes()
}

// closes closes an account with esc: a second enter would open the row behind it.
func (h *hour) closes() {
	h.t.Helper()
	h.await("enter close").press(keyEsc).awaitGone("enter close")
}

// unfiltered clears a filter. Anything after the Esc in the same read would be one key with it.
func (h *hour) unfiltered() {
	h.t.Helper()
	h.press(keyEsc).awaitGone("esc clears")
	h.agrees()
}

// TestTheHour plays the tutorial: after each step header, tabs, lists and cursor agree with the broker.
func TestTheHour(t *testing.T) { storySizes(t, playHour) }

func playHour(t *testing.T, width, height int) {
	o, channel := storyVHost(t)
	kind := "classic"
	if model.ParseVersion(testNode.Get(t).Version()).AtLeast(4, 0) {
		kind = "quorum"
	}

	arguments := amqp.Table{"x-queue-type": kind}
	for _, name := range []string{"mail", "sms"} {
		dial.Queue(t, channel, name, arguments)
	}

	retry := waitingFor(30_000, "mail")
	retry["x-queue-type"] = kind
	dial.Queue(t, channel, "mail.retry", retry)
	order := 0
	for _, f := range []struct {
		queue, text string
		n           int
	}{
		{"mail.failed", "IntegrityError: duplicate key", 4},
		{"mail.failed", "TimeoutError: smtp did not answer", 5},
		{"mail.failed", "ValueError: no address", 3},
		{"sms.failed", "ValueError: no address", 2},
	} {
		dial.Queue(t, channel, f.queue, arguments)
		for range f.n {
			order++
			dial.Publish(t, channel, f.queue, amqp.Publishing{
				MessageId: fmt.Sprint("m-", order), ContentType: "application/json", Timestamp: time.Now(),
				Headers: amqp.Table{"x-error": f.text}, Body: fmt.Appendf(nil, `{"order":"A-10%02d"}`, order),
			})
		}
	}

	o.Files, o.Editor = export.Files{}, ""
	o.Editor, _ = scripted(t, `sed -i 's/A-10/B-10/' "$f"`)
	h := &hour{terminal: o.open(t, width, height), channel: channel}
	h.await("/mail ", "/sms ")
	h.agrees()
	h.messages(filepath.Join(t.TempDir(), "left.jsonl"))
	h.causes()
	h.orders()
	h.records()
}

// messages is the work on the messages of one queue.
func (h *hour) messages(backup string) {
	h.t.Helper()
	h.agrees("j")
	h.agrees("k")
	h.press("f")
	h.look("12 messages")
	h.agrees()
	h.press(keyEnter).await("Story")
	h.agrees("l", "h", "q")
	h.press("/", "timeout", keyEnter).await("of 5 in 12")
	h.agrees("n")
	h.agrees("N")
	h.unfiltered()
	h.does("r", "Replay 1 message", "replay", "1 message moved")
	h.agrees()
	h.does("u", "bring back 1 message", "bring back", "1 of 1 message brought back")
	h.agrees()

	h.press("/", "timeout", keyEnter).await("of 5 in 12").settle()
	h.press("R").await("Replay 5 messages", "c canary").press("c").await("c no canary")
	h.answer("5 messages moved", "enter do not wait longer ", keyEnter, "enter replay ", keyEnter)
	h.closes()
	h.unfiltered()
	h.press("x").await("Export 7 messages").retype(backup).press(keyEnter).settle()
	h.agree("write", "7 messages written")
	h.agrees()
	h.press("e").await("Replay 1 message", "B-10")
	h.agreed("replay", "1 message moved")
	h.agrees()
	h.does("D", "Drop 6 messages", "drop", "6 messages dropped")
	h.agrees()
	h.does("u", "bring back 6 messages", "bring back", "6 of 6 messages brought back")
	h.agrees()
	h.does("d", "Drop 1 message", "drop", "1 message dropped")
	h.agrees()
	h.does("R", "Replay 5 messages", "replay", "5 messages moved")
	h.agrees()
	h.does("u", "bring back 5 messages", "bring back", "5 of 5 messages brought back")
	h.agrees("q")
	h.agrees("2")
}

// causes is the work on causes in several queues.
func (h *hour) causes() {
	h.t.Helper()
	h.press("3")
	h.look("   7 read")
	h.agrees("g")
	h.does("r", "replay", "replay", "moved")
	h.agrees()
	h.does("u", "bring back", "bring back", "brought back")
	h.await("   7 read") // even where a look has a cost: messages that came back were read
	h.agrees("g")
	h.press(keyEnter)
	h.look("5 found")
	h.does("R", "replay 5 messages of 2 queues", "replay 5 messages", "5 messages moved")
	h.await("0 found")
	h.agrees()
	h.does("u", "bring back 5 messages", "bring back", "5 of 5 messages brought back")
	h.await("5 found")
	h.agrees("q")
	h.agrees("j")
	h.agrees("f")
	h.agrees("f")
}

// orders finds an order.
func (h *hour) orders() {
	h.t.Helper()
	h.press(":find A-1014", keyEnter)
	h.look("1 found")
	h.press(keyEnter)
	h.look("/sms.failed   2 messages")
	h.awaitThat("the cursor is on it", func(string) bool {
		return strings.HasPrefix(strings.TrimSpace(h.cursorRow()), "▸      2 ")
	})
	h.agrees()
	h.press("q")
	h.agrees("q")
}

// records is the work with the journal.
func (h *hour) records() {
	h.t.Helper()
	h.agrees("5")
	h.await("undo of") // no row has the cursor before the journal was read
	h.press("j", keyEnter).await("m-")
	h.agrees("q")
	h.agrees("1")
}
