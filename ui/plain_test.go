package ui

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/ui/term"
)

// voice is a screen reader: it gets what a plain screen writes, a line for each movement of the terminal's cursor.
type voice struct {
	lock
	lines term.Lines
	to    io.Writer
	said  bytes.Buffer
}

func (v *voice) Write(b []byte) (int, error) {
	v.Lock()
	defer v.Unlock()
	out := v.lines.Take(b)
	v.said.Write(out)
	if _, err := v.to.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

var movements = regexp.MustCompile(`\x1b\[[\d;]*H`)

// heard are the lines written since the last call, without the header: a poll may be slow.
func (v *voice) heard() (lines []string) {
	v.Lock()
	defer v.Unlock()
	for _, line := range movements.Split(v.said.String(), -1) {
		if line = strings.TrimSpace(ansi.Strip(line)); line != "" && !strings.HasPrefix(line, "dlxtop ") {
			lines = append(lines, line)
		}
	}
	v.said.Reset()
	return lines
}

// onRow waits until the terminal's cursor is on a row with a text.
func (terms *terminal) onRow(text string) *terminal {
	terms.t.Helper()
	return terms.awaitThat("the terminal's cursor is on "+text, func(s string) bool {
		_, y := terms.glass.cursor()
		return strings.Contains(strings.Split(s, "\n")[y], text)
	})
}

// awaitPolls waits for this many more of them.
func (terms *terminal) awaitPolls(n int) *terminal {
	terms.t.Helper()
	for range n {
		var before time.Time
		terms.awaitInside("a poll", func(a app) bool {
			if before.IsZero() {
				before = a.poller.readAt
			}
			return !a.poller.readAt.Equal(before)
		})
	}
	return terms
}

// A screen reader hears the row to which the cursor came, what changed on the broker, and nothing else.
func TestPlainScreen(t *testing.T) {
	o, channel := storyVHost(t, "mail", "push", "sms")
	for name, n := range map[string]int{"mail": 6, "push": 4, "sms": 2} {
		failInto(t, channel, name+".failed", "classic", "ValueError: no address", n)
	}
	o.Plain = true
	screen := o.open(t, 120, 24)
	screen.await("[1 Flows]", "3 Failed 12", o.VHost+"/mail ", o.VHost+"/push ", o.VHost+"/sms ").press("g").onRow("mail ")
	said := []string{""}
	for tries := 0; len(said) > 0; tries++ { // until the statistics have the new queues
		screen.voice.heard()
		screen.awaitPolls(6)
		said = screen.voice.heard()
		must.That(t, tries < 20, "nothing happens but time, and it says %q", said)
	}
	screen.press("j").onRow("push ")
	said = screen.voice.heard()
	assert.That(t, len(said) == 1 && strings.HasPrefix(said[0], o.VHost+"/push "), "j said %q", said)
	failInto(t, channel, "sms.failed", "classic", "ValueError: no address", 1)
	screen.await("3 Failed 13").awaitThat("the row has it", regexp.MustCompile(`sms .* 3\n`).MatchString)
	for _, line := range screen.voice.heard() {
		assert.That(t, strings.HasPrefix(line, o.VHost+"/sms ") || strings.Contains(line, "3 Failed 13"),
			"said %q, which did not change", line)
	}
	screen.onRow("push ")
	screen.press("z") // the pane, in turn
	screen.await("failed queue", "2 of 3").press("z").onRow("push ")
}

// A list scrolls a row at a time, and the terminal's cursor is where text is typed; a dialog is alone.
func TestPlainListScrolls(t *testing.T) {
	o, channel := storyVHost(t, "mail")
	for i := range 30 {
		failInto(t, channel, "mail.failed", "classic", fmt.Sprint("ValueError: number ", i), 1)
	}
	o.Plain = true
	screen := o.open(t, 120, 24).onRow("mail ").press("f").await(o.VHost + "/mail.failed   30 messages")
	screen.onRow("number 0 ").awaitPolls(2)
	screen.voice.heard()
	for i := range 25 { // more than a screen
		screen.press("j")
		row := fmt.Sprintf("ValueError: number %d ", i+1)
		screen.onRow(row)
		said := slices.DeleteFunc(screen.voice.heard(), func(line string) bool { // statistics of new queues may arrive
			return !strings.Contains(line, "ValueError")
		})
		must.That(t, len(said) == 1 && strings.Contains(said[0], row), "j to %q said %q", row, said)
	}
	screen.press("/", "number 1").await("/ number 1")
	screen.awaitThat("the terminal's cursor is in the field", func(s string) bool {
		x, y := screen.glass.cursor()
		return strings.HasSuffix(strings.Split(s, "\n")[y][:x], "/ number 1")
	})
	screen.press(keyEnter, keyEsc, "r").await("Replay 1 message")
	if s := screen.screen(); strings.Contains(s, "ValueError: number 3") || strings.ContainsAny(s, "│╭▸─") {
		t.Errorf("a dialog stands among something else\n%s", s)
	}
}
