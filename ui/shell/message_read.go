package shell

import (
	"cmp"
	"strings"

	"github.com/dlxtop/dlxtop/model/message"
)

// ReadAhead is how many rows are read beyond those that are seen, on each side, when some of these are not read: one
// that holds a key down sees no gaps.
const ReadAhead = 100

// ReadMsg brings what was read of messages that are on disk.
type ReadMsg struct {
	Request Request
	Read    readParts
}

// readParts are what is shown of messages beside their rows.
type readParts struct {
	previews map[*MessageRow]string
	row      *MessageRow // of whole; nil: it was read before
	Whole    *message.Message
}

// Parts reads the beginnings of the bodies of rows, and one message as it is shown.
func Parts(rows []*MessageRow, one *MessageRow) readParts {
	read := readParts{previews: make(map[*MessageRow]string, len(rows)), row: one}
	for _, r := range rows {
		preview := ""
		if m, err := r.Peeked.At(int(r.Index), 4*previewWidth); err == nil {
			preview = strings.Clone(m.BodyPreview(previewWidth))
		}
		read.previews[r] = cmp.Or(preview, "(empty)")
	}
	if one != nil {
		m, err := one.Peeked.At(int(one.Index), ShownBody)
		if err != nil { // the disk: what is known of it stays on the screen
			m = message.Message{
				Position: int(one.Position), BodyBytes: one.Size, Fingerprint: one.Id.Fingerprint,
				DeathsError: err.Error(),
			}
		}
		read.Whole = &m
	}
	return read
}

// Take takes over what was read.
func (p readParts) Take() {
	for r, preview := range p.previews {
		r.Preview = preview
	}
	if p.row != nil {
		p.row.Peeked.at, p.row.Peeked.last = p.row.Index, p.Whole
	}
}
