package shell

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	osc52 "github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/message"
)

// copyLimit is how many bytes go to the clipboard: terminals truncate or ignore longer sequences.
const copyLimit = 74_000

func (e *Env) ToClipboard() io.Writer {
	if e.Clipboard == nil {
		return os.Stdout
	}
	return e.Clipboard
}

func BodyToCopy(m *message.Message) (what, text string) {
	what = "the body"
	if len(m.Body) < m.BodyBytes {
		what = fmt.Sprintf("the first %s of the body's %s", message.Size(int64(len(m.Body))),
			message.Size(int64(m.BodyBytes)))
	}

	return what, string(m.Body)
}

func HeadersToCopy(m *message.Message) (what, text string) {
	var b strings.Builder
	for _, n := range append(PropertyLines(m), tableLines(m.Headers)...) {
		b.WriteString(n.Name + ": " + n.Value + "\n")
	}
	return "the headers", b.String()
}

// CopyText passes text to the terminal, which owns the clipboard (OSC 52): so it works over SSH too.
func CopyText(out io.Writer, what, text string) tea.Msg {
	if len(text) > copyLimit {
		text = message.WholeRunes(text, copyLimit)
		what += ", cut to " + message.Size(int64(len(text)))
	}

	if _, err := io.WriteString(out, osc52.New(text).String()); err != nil {
		return NoticeMsg{Text: "could not copy: " + err.Error(), Bad: true}
	}

	return NoticeMsg{Text: "copied " + what + " to the terminal's clipboard"}
}

func MessageJSON(m *message.Message) string {
	text, err := json.MarshalIndent(m.JSON(), "", "  ")
	if err != nil {
		return fmt.Sprintf("%q", err.Error())
	}
	return string(text)
}
