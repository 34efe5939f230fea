package ui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/act"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

func TestCompareGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o, _, _ := failedOptions(3)
		term := onQueue(t, o, failedQueue, width, height)
		term.await("3 messages")
		term.press(" ", " ") // each goes on to the next
		term.await("2 selected", "= compare")
		term.press("=")
		term.await("0f3c9a00-user", "0f3c9a01-user", "Body  2 lines differ", "Headers")
		term.golden()
	})
}

func TestCompareShowsWhatIsEqual(t *testing.T) {
	o, _, _ := failedOptions(3)
	term := onQueue(t, o, failedQueue, 80, 24)
	term.await("3 messages")
	term.press(" ", "=")
	term.await("1 message selected: space selects the two to compare")
	term.press(" ", "=")
	term.await("Body", "equal lines")
	term.press("z")
	term.awaitGone("equal lines")
	term.await(`"active": true`)
	term.press("G")
	term.await("app_id")
	term.press("z", "q")
	term.await("FAILURE", "2 selected")
}

// Both sides keep their width, whatever is on them, and what differs is marked.
func TestComparedSidesKeepTheirWidth(t *testing.T) {
	left, right := failedMessage(1), failedMessage(2)
	left.Body = []byte(`{"name":"关羽` + strings.Repeat("世", 60) + `","a":1}`)
	right.Body = []byte(`{"name":"关张` + strings.Repeat("世", 60) + `","b":[1,2]}`)
	right.Properties.Type = "event"
	for _, m := range []*message.Message{&left, &right} {
		m.BodyBytes = len(m.Body)
	}
	e := &shell.Env{Terminal: shell.Terminal{Styles: term.NewStyles(term.Dark, termenv.TrueColor)}}
	c := act.CompareScreen{Env: e, Parts: act.ComparedParts(&left, &right, body.Read)}
	for _, c.Whole = range []bool{false, true} {
		for width := 20; width < 130; width += 11 {
			text := ""
			for _, line := range c.Lay(width) {
				w := ansi.StringWidthWc(line)
				assert.That(t, w <= width, "%d wide at %d: %q", w, width, line)
				text += ansi.Strip(line) + "\n"
			}
			for _, mark := range []string{" < ", " > ", " | "} {
				assert.That(t, strings.Contains(text, mark) || mark == " < ", "no %q at %d in\n%s", mark, width, text)
			}
		}
	}
}

func TestCommonEnds(t *testing.T) {
	for _, c := range []struct {
		a, b          string
		before, after int
	}{
		{"", "", 0, 0},
		{"abc", "abc", 3, 0},
		{"abc", "axc", 1, 1},
		{"aa", "aaa", 2, 0},
		{"é1", "è1", 0, 1},
		{"世界", "世", 3, 0},
	} {
		if before, after := act.CommonEnds(c.a, c.b); before != c.before || after != c.after {
			t.Errorf("%q, %q: %d and %d", c.a, c.b, before, after)
		}
	}
	rows, _ := body.Compare(nil, nil)
	assert.That(t, rows == nil, "%v", rows)
}
