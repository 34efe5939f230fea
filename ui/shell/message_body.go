package shell

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Bodies are the bodies of one message, prepared once: its own, and that of the original if it is in an envelope.
type Bodies struct {
	made          bool
	raw           bool // as they are in the queue
	own, original body.View
	envelope      message.Envelope
	enveloped     bool
}

func (b *Bodies) make(m *message.Message, raw bool) {
	if b.made && b.raw == raw {
		return
	}
	read := body.Read
	if raw {
		read = body.Raw
	}

	b.made, b.raw, b.own = true, raw, read(m)
	if b.envelope, b.enveloped = m.Envelope(); b.enveloped && b.envelope.Problem == "" {
		b.original = read(&b.envelope.Original)
	}
}

func (b *Bodies) Width(m *message.Message, raw bool) int {
	const first = 200
	b.make(m, raw)
	view := &b.own
	if b.enveloped && b.envelope.Problem == "" {
		view = &b.original
	}

	widest := ansi.StringWidthWc(view.Title)
	for _, l := range view.Lines[:min(len(view.Lines), first)] {
		widest = max(widest, ansi.StringWidthWc(l.String()))
	}

	return widest
}

// Lines returns a message's body, as far as it was kept. If it is in an envelope, the original body comes first.
func (b *Bodies) Lines(m *message.Message, width int, raw, folded bool) []string {
	b.make(m, raw)
	own := ViewLines(&b.own, width, folded)
	switch {
	case !b.enveloped:
		return own
	case b.envelope.Problem != "":
		return append(term.Warning.Wrap("", term.MarkWarning+" "+b.envelope.Problem, width), own...)
	}

	lines := append(EnvelopeHead(&b.envelope, width), ViewLines(&b.original, width, folded)...)
	return append(append(lines, RawHead()...), own...)
}

// ViewLines returns a body below a line that says how it was decoded.
func ViewLines(v *body.View, width int, folded bool) []string {
	lines := term.Muted.Wrap("", v.Title, width)
	if v.Problem != "" {
		lines = append(lines, term.Warning.Wrap("", term.MarkWarning+" "+v.Problem, width)...)
	}

	lines = append(lines, term.Muted.Wrap("", v.Note, width)...)
	shown := v.LinesIn(width)
	if folded {
		shown = body.Folded(shown, 1)
	}
	for _, l := range shown {
		lines = append(lines, Dressed(l, width)...)
	}
	if v.Format == body.Empty {
		lines = append(lines, term.Muted.Render("the body is empty"))
	}

	return lines
}

// Dressed returns a line of a body with its parts styled, broken at the width, at any character.
func Dressed(l body.Line, width int) []string {
	parts := make(term.Spans, len(l.Spans))
	for i, span := range l.Spans {
		parts[i] = bodyStyle(span.Kind).Span(span.Text)
	}
	return InkedLines(parts, width)
}

// InkedLines returns the parts of a line, broken at the width: each piece is styled separately.
func InkedLines(parts term.Spans, width int) []string {
	var whole strings.Builder
	for _, p := range parts {
		whole.WriteString(p.Text)
	}

	var lines []string
	for _, piece := range Pieces(whole.String(), width) {
		var b strings.Builder
		for left := len(piece); left > 0 && len(parts) > 0; {
			p := &parts[0]
			n := min(len(p.Text), left)
			b.WriteString(p.Style.Render(p.Text[:n]))
			p.Text, left = p.Text[n:], left-n
			if p.Text == "" {
				parts = parts[1:]
			}
		}

		lines = append(lines, b.String())
	}

	return lines
}

func bodyStyle(k body.Kind) term.Style {
	return [...]term.Style{
		body.Plain:   term.Text,
		body.Key:     term.BodyKey,
		body.String:  term.BodyText,
		body.Literal: term.BodyLiteral,
		body.Mark:    term.BodyMark,
		body.Note:    term.Muted,
	}[k]
}

// Pieces are printable text broken at the width: after a blank in the second half of a line, otherwise at any
// character. Joined they are the text.
func Pieces(text string, width int) (lines []string) {
	width = max(width, 1)
	for {
		head := text[:min(len(text), 8*width)] // more than a line: each character has at most four bytes
		for !utf8.ValidString(head) && len(head) > 8*width-utf8.UTFMax {
			head = head[:len(head)-1]
		}

		switch {
		case text == "" && lines != nil:
			return lines
		case len(head) == len(text) && ansi.StringWidthWc(text) <= width:
			return append(lines, text)
		}

		piece, _, _ := strings.Cut(ansi.HardwrapWc(head, width, true), "\n")
		if piece == "" { // a wide character, in a line of one cell
			_, size := utf8.DecodeRuneInString(text)
			piece = text[:size]
		} else if at := strings.LastIndexByte(piece, ' '); at >= len(piece)/2 && text[len(piece)] != ' ' {
			piece = piece[:at+1]
		}

		lines = append(lines, piece)
		text = text[len(piece):]
	}
}

// EnvelopeHead returns the heading of an envelope's content, RawHead that of the body in the queue.
func EnvelopeHead(e *message.Envelope, width int) []string {
	return term.Muted.Wrap("", "The original: a replay "+e.Does+".", width)
}

func RawHead() []string {
	return []string{"", term.Muted.Render("As it lies in the queue:")}
}
