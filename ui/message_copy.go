package ui

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	osc52 "github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/message"
)

// copyLimit is how many bytes go to the clipboard: terminals cut or ignore longer sequences.
const copyLimit = 74_000

// toClipboard is where the sequences go that a terminal keeps as its clipboard.
func (e *env) toClipboard() io.Writer {
	if e.clipboard == nil {
		return os.Stdout
	}
	return e.clipboard
}

func bodyToCopy(m *message.Message) (what, text string) {
	what = "the body"
	if len(m.Body) < m.BodyBytes {
		what = fmt.Sprintf("the first %s of the body's %s", message.Size(int64(len(m.Body))),
			message.Size(int64(m.BodyBytes)))
	}
	return what, string(m.Body)
}

func headersToCopy(m *message.Message) (what, text string) {
	var b strings.Builder
	for _, n := range append(propertyLines(m), tableLines(m.Headers)...) {
		b.WriteString(n.name + ": " + n.value + "\n")
	}
	return "the headers", b.String()
}

// copyText hands text to the terminal, which keeps the clipboard (OSC 52): so it works over SSH too.
func copyText(out io.Writer, what, text string) tea.Msg {
	if len(text) > copyLimit {
		end := copyLimit
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
		what += ", cut to " + message.Size(int64(end))
	}
	if _, err := io.WriteString(out, osc52.New(text).String()); err != nil {
		return noticeMsg{text: "could not copy: " + err.Error(), bad: true}
	}
	return noticeMsg{text: "copied " + what + " to the terminal's clipboard"}
}

// messageJSON is a message as one JSON object, as `peek -o json` has it.
func messageJSON(m *message.Message) string {
	text, err := json.MarshalIndent(m.JSON(), "", "  ")
	if err != nil {
		return fmt.Sprintf("%q", err.Error())
	}
	return string(text)
}
