package ui

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/ui/term"
)

// bodies are the bodies of one message, made ready once: its own, and that of the original when it is in an envelope.
type bodies struct {
	read          func(*message.Message) body.View
	made          bool
	raw           bool // as they lie in the queue
	own, original body.View
	envelope      message.Envelope
	enveloped     bool
}

// make reads the bodies of a message, unless that was done.
func (b *bodies) make(m *message.Message, raw bool) {
	if b.made && b.raw == raw {
		return
	}
	read := b.read
	if raw {
		read = body.Raw
	}
	b.made, b.raw, b.own = true, raw, read(m)
	if b.envelope, b.enveloped = m.Envelope(); b.enveloped && b.envelope.Problem == "" {
		b.original = read(&b.envelope.Original)
	}
}

// width is how wide the first lines are.
func (b *bodies) width(m *message.Message, raw bool) int {
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

// lines are a message's body, as far as it was kept. When it is in an envelope, the original body comes first.
func (b *bodies) lines(s *term.Styles, m *message.Message, width int, raw, folded bool) []string {
	b.make(m, raw)
	own := viewLines(s, &b.own, width, folded)
	switch {
	case !b.enveloped:
		return own
	case b.envelope.Problem != "":
		return append(toned(s.Warning, term.MarkWarning+" "+model.Printable(b.envelope.Problem), width), own...)
	}
	lines := append(envelopeHead(s, &b.envelope, width), viewLines(s, &b.original, width, folded)...)
	return append(append(lines, rawHead(s)...), own...)
}

// viewLines are a body under what was done to read it.
func viewLines(s *term.Styles, v *body.View, width int, folded bool) []string {
	lines := toned(s.Muted, v.Title, width)
	if v.Problem != "" {
		lines = append(lines, toned(s.Warning, term.MarkWarning+" "+v.Problem, width)...)
	}
	lines = append(lines, toned(s.Muted, v.Note, width)...)
	shown := v.LinesIn(width)
	if folded {
		shown = body.Folded(shown, 1)
	}
	for _, l := range shown {
		lines = append(lines, dressed(s, l, width)...)
	}
	if v.Format == body.Empty {
		lines = append(lines, s.Muted.Render("the body is empty"))
	}
	return lines
}

// toned are words in one style, wrapped.
func toned(style term.Style, words string, width int) []string {
	lines := term.Wrap(words, width)
	for i := range lines {
		lines[i] = style.Render(lines[i])
	}
	return lines
}

// dressed is a line of a body with its parts in their styles, broken at the width, wherever that is.
func dressed(s *term.Styles, l body.Line, width int) []string {
	parts := make([]inked, len(l.Spans))
	for i, span := range l.Spans {
		parts[i] = inked{span.Text, bodyStyle(s, span.Kind)}
	}
	return inkedLines(parts, width)
}

// inked is a printable text in a style.
type inked struct {
	text  string
	style term.Style
}

// inkedLines are the parts of a line, broken at the width: each piece is dressed by itself.
func inkedLines(parts []inked, width int) []string {
	var whole strings.Builder
	for _, p := range parts {
		whole.WriteString(p.text)
	}
	var lines []string
	for _, piece := range pieces(whole.String(), width) {
		var b strings.Builder
		for left := len(piece); left > 0 && len(parts) > 0; {
			p := &parts[0]
			n := min(len(p.text), left)
			b.WriteString(p.style.Render(p.text[:n]))
			p.text, left = p.text[n:], left-n
			if p.text == "" {
				parts = parts[1:]
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}

func bodyStyle(s *term.Styles, k body.Kind) term.Style {
	switch k {
	case body.Key:
		return s.BodyKey
	case body.String:
		return s.BodyText
	case body.Literal:
		return s.BodyLiteral
	case body.Mark:
		return s.BodyMark
	case body.Note:
		return s.Muted
	}
	return s.Text
}

// pieces are printable text broken at the width: behind a blank in the second half of a line, else wherever that is.
// Together they are the text.
func pieces(text string, width int) (lines []string) {
	width = max(width, 1)
	for {
		head := text[:min(len(text), 8*width)] // more than a line: each character has four bytes at most
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
		lines, text = append(lines, piece), text[len(piece):]
	}
}

// envelopeHead stands above what was in an envelope, rawHead above what lies in the queue.
func envelopeHead(s *term.Styles, e *message.Envelope, width int) []string {
	var lines []string
	for _, l := range term.Wrap("The original: a replay "+model.Printable(e.Does)+".", width) {
		lines = append(lines, s.Muted.Render(l))
	}
	return lines
}

func rawHead(s *term.Styles) []string {
	return []string{"", s.Muted.Render("As it lies in the queue:")}
}
