package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	osc52 "github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/term"
)

// copyLimit is how many bytes go to the clipboard: terminals cut or ignore longer sequences.
const copyLimit = 74_000

// copyKey takes the key that says what to copy; any other key copies nothing.
func (s messagesScreen) copyKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	s.copying = false
	row, ok := s.table.Current()
	if !ok {
		return s, nil
	}
	var of func(*message.Message) (what, text string)
	k := s.env.keys
	switch {
	case term.Is(msg, k.CopyBody):
		of = bodyToCopy
	case term.Is(msg, k.CopyHeaders):
		of = headersToCopy
	case term.Is(msg, k.CopyID):
		of = func(m *message.Message) (what, text string) {
			return "the id " + m.Properties.MessageID, m.Properties.MessageID
		}
	case term.Is(msg, k.CopyJSON):
		of = func(m *message.Message) (what, text string) { return "the message as JSON", messageJSON(m) }
	default:
		return s, nil
	}
	out := s.env.toClipboard()
	return s, s.env.command(0, func(context.Context) tea.Msg {
		m := parts(nil, row).whole
		what, text := of(m)
		if text == "" && term.Is(msg, k.CopyID) {
			return noticeMsg{text: "this message has no id", bad: true}
		}
		return copyText(out, what, text)
	})
}

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
