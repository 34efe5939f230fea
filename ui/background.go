package ui

import (
	"bytes"
	"os"
	"regexp"
	"runtime"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// backgroundWait is how long the first frame waits for the terminal to report its background. A later answer, for
// example over a slow line, changes the colours then.
const backgroundWait = 100 * time.Millisecond

// backgroundMsg reports the terminal's background, or that the wait for it is over.
type backgroundMsg struct {
	known bool
	light bool
}

// askBackground asks the terminal for its background. Its answer arrives among the keys.
func askBackground(e *shell.Env) tea.Cmd {
	if !e.Asking {
		return nil
	}
	ask := func() tea.Msg {
		if _, err := e.Screen.Write([]byte(ansi.RequestBackgroundColor)); err != nil {
			return backgroundMsg{}
		}
		return nil
	}

	wait := tea.Tick(backgroundWait, func(time.Time) tea.Msg { return backgroundMsg{} })
	return tea.Batch(ask, wait)
}

func (a *app) background(msg backgroundMsg) {
	a.Asking = false
	if msg.known {
		a.Light = msg.light
		dress(a.Env, a.Theme)
	}
}

// dress switches everything on the screen to the styles of a theme.
func dress(e *shell.Env, theme term.Theme) {
	e.Theme = theme
	if e.Styles = term.PlainStyles(); !e.Plain {
		e.Styles = e.OwnThemes.Styles(theme, e.Profile, e.Light)
	}
}

// keyboard is the terminal that keys come from, without the answer to askBackground: its letters must never be taken
// for keys, as they are commands.
type keyboard struct {
	*os.File
	background func(light bool)

	sync.Mutex        // after an editor, the next reader of keys may begin before the last one has ended
	held       []byte // the beginning of a possible answer
}

// canAsk reports whether answers of the terminal come through keyboard.Read. On Windows Bubble Tea reads the console's
// events.
const canAsk = runtime.GOOS != "windows"

const (
	answerStart = "\x1b]11;"
	mostAnswer  = 69 // bytes; a longer text is not an answer
)

func (k *keyboard) Read(p []byte) (int, error) {
	for {
		k.Lock()
		room := max(1, len(p)-len(k.held))
		k.Unlock()
		n, err := k.File.Read(p[:room])
		k.Lock()
		n = copy(p, k.without(p[:n]))
		k.Unlock()
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// answer is what a terminal says of its background.
var answer = regexp.MustCompile("(?s)" + regexp.QuoteMeta(answerStart) + `(.*?)(\x07|\x1b\\)`)

// without returns the bytes that are keys. The beginning of a possible answer is held until more comes; Esc alone is a
// key.
func (k *keyboard) without(read []byte) []byte {
	text := append(k.held, read...)
	k.held = nil
	if at := answer.FindSubmatchIndex(text); at != nil {
		if c := ansi.XParseColor(string(text[at[2]:at[3]])); c != nil {
			r, g, b, _ := c.RGBA()
			k.background(299*r+587*g+114*b > 1000*0x7fff) // its luma (ITU-R BT.601): dark text is more readable on it
		}
		return append(bytes.Clone(text[:at[0]]), k.without(text[at[1]:])...)
	}

	start := bytes.Index(text, []byte(answerStart))
	for n := min(len(answerStart)-1, len(text)); start < 0 && n > 1; n-- {
		if bytes.HasSuffix(text, []byte(answerStart[:n])) {
			start = len(text) - n
		}
	}

	switch {
	case start < 0:
		return text
	case len(text)-start <= mostAnswer: // a longer one is neither an answer nor something that a person types
		k.held = bytes.Clone(text[start:])
	}

	return text[:start]
}
