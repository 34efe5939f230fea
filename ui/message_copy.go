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

	"dlxtop/model"
)

// copyLimit is how many bytes go to the clipboard: terminals cut or ignore longer sequences.
const copyLimit = 74_000

// copyKey takes the key that says what to copy; any other key copies nothing.
func (s messagesScreen) copyKey(msg tea.KeyMsg) (screen, tea.Cmd) {
	s.copying = false
	row, ok := s.table.current()
	if !ok {
		return s, nil
	}
	k, m := s.env.keys, row.message()
	switch {
	case is(msg, k.CopyBody):
		what := "the body"
		if len(m.Body) < m.BodyBytes {
			what = fmt.Sprintf("the first %s of the body's %s", model.Size(int64(len(m.Body))), model.Size(int64(m.BodyBytes)))
		}
		return s, s.copyText(what, string(m.Body))
	case is(msg, k.CopyHeaders):
		var b strings.Builder
		for _, n := range append(propertyLines(m), tableLines(m.Headers)...) {
			b.WriteString(n.name + ": " + n.value + "\n")
		}
		return s, s.copyText("the headers", b.String())
	case is(msg, k.CopyID):
		if m.Properties.MessageID == "" {
			return s, notice("this message has no id", true)
		}
		return s, s.copyText("the id "+m.Properties.MessageID, m.Properties.MessageID)
	case is(msg, k.CopyJSON):
		return s, s.copyText("the message as JSON", messageJSON(m))
	}
	return s, nil
}

// copyText hands text to the terminal, which keeps the clipboard (OSC 52): so it works over SSH too.
func (s messagesScreen) copyText(what, text string) tea.Cmd {
	out := s.env.clipboard
	if out == nil {
		out = os.Stdout
	}
	return s.env.command(0, func(context.Context) tea.Msg {
		if len(text) > copyLimit {
			end := copyLimit
			for end > 0 && !utf8.RuneStart(text[end]) {
				end--
			}
			text = text[:end]
			what += ", cut to " + model.Size(int64(end))
		}
		if _, err := io.WriteString(out, osc52.New(text).String()); err != nil {
			return noticeMsg{text: "could not copy: " + err.Error(), bad: true}
		}
		return noticeMsg{text: "copied " + what + " to the terminal's clipboard"}
	})
}

// messageJSON is a message as one JSON object, as `peek -o json` has it.
func messageJSON(m *model.Message) string {
	text, err := json.MarshalIndent(m.JSON(), "", "  ")
	if err != nil {
		return fmt.Sprintf("%q", err.Error())
	}
	return string(text)
}
