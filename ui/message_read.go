package ui

import (
	"cmp"
	"strings"

	"github.com/dlxtop/dlxtop/model/message"
)

// readAhead is how many rows are read beyond those that are seen, on each side, when some of these are not read: one
// that holds a key down sees no gaps.
const readAhead = 100

// readMsg brings what was read of messages that are on disk.
type readMsg struct {
	request request
	read    readParts
}

// readParts are what is shown of messages beside their rows.
type readParts struct {
	previews map[*messageRow]string
	row      *messageRow // of whole; nil: it was read before
	whole    *message.Message
}

// parts reads the beginnings of the bodies of rows, and one message as it is shown.
func parts(rows []*messageRow, one *messageRow) readParts {
	read := readParts{previews: make(map[*messageRow]string, len(rows)), row: one}
	for _, r := range rows {
		preview := ""
		if m, err := r.peeked.At(int(r.index), 4*previewWidth); err == nil {
			preview = strings.Clone(m.BodyPreview(previewWidth))
		}
		read.previews[r] = cmp.Or(preview, "(empty)")
	}
	if one != nil {
		m, err := one.peeked.At(int(one.index), shownBody)
		if err != nil { // the disk: what is known of it stays on the screen
			m = message.Message{
				Position: int(one.position), BodyBytes: one.size, Fingerprint: one.id.fingerprint,
				DeathsError: err.Error(),
			}
		}
		read.whole = &m
	}
	return read
}

// take takes over what was read.
func (p readParts) take() {
	for r, preview := range p.previews {
		r.preview = preview
	}
	if p.row != nil {
		p.row.peeked.at, p.row.peeked.last = p.row.index, p.whole
	}
}
