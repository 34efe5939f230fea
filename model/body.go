package model

// BodyKind is what a body is, judged by its bytes.
type BodyKind string

// The kinds of bodies.
const (
	BodyEmpty  BodyKind = "empty"
	BodyJSON   BodyKind = "json"
	BodyText   BodyKind = "text"
	BodyBinary BodyKind = "binary"
)

// BodyView is a body made ready to be drawn.
type BodyView struct {
	Kind     BodyKind
	Encoding string   // "utf-8" or "base64": how peek -o json writes it
	Lines    []string // printable: indented JSON, text, or a hex dump
	Note     string   // what is not shown, "" when all is
}

// BodyView prepares a message's body for a screen.
func (m *Message) BodyView() BodyView { return BodyView{} }

// Size is a number of bytes for people: "412", "1.2K", "10M".
func Size(bytes int64) string { return "" }
