package ui

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
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
	k, m := s.env.keys, row.message
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

// messageJSON is a message as one JSON object, like those of `peek -o json`.
func messageJSON(m *model.Message) string {
	body, encoding := string(m.Body), "utf-8"
	if !utf8.Valid(m.Body) {
		body, encoding = base64.StdEncoding.EncodeToString(m.Body), "base64"
	}
	properties := map[string]any{}
	for _, n := range propertyLines(m)[2:] {
		properties[n.name] = n.value
	}
	object := map[string]any{
		"position": m.Position, "message_id": m.Properties.MessageID, "exchange": m.Exchange, "routing_key": m.RoutingKey,
		"redelivered": m.Redelivered, "properties": properties, "headers": jsonValue(m.Headers),
		"body": body, "body_encoding": encoding, "body_bytes": m.BodyBytes,
	}
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return fmt.Sprintf("%q", err.Error())
	}
	return string(text)
}

// jsonValue makes a header's value one that JSON can hold.
func jsonValue(v any) any {
	switch v := v.(type) {
	case model.Table:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = jsonValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = jsonValue(e)
		}
		return out
	case []byte:
		if utf8.Valid(v) {
			return string(v)
		}
		return base64.StdEncoding.EncodeToString(v)
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	case model.Decimal:
		return fmt.Sprintf("%de-%d", v.Value, v.Scale)
	case float32, float64:
		return fmt.Sprint(v) // NaN and infinities have no JSON
	}
	return v
}
