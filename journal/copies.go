package journal

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model/plan"
)

// copiesSince is the version of the journal from which a record's copies are in a table of their own. They are compared
// before each replay, and reading them from the entries took a second of a processor for each 400,000.
const copiesSince = 8

// sent reads the copies that a record has sent, or may have sent: after a kill an intended one may be sent, but one
// without an outcome in an ended record is untouched.
type sent struct {
	record        int64
	ended, packed bool // packed: they are in the table of copies
	outcomes      outcomes
	undos         map[int64]attempt
}

// read calls each with every copy. sure: it was sent.
func (s *sent) read(ctx context.Context, j *Journal, db *sql.DB, each func(c plan.Copy, sure bool)) (err error) {
	if s.outcomes, s.undos, err = j.fates(ctx, db, s.record); err != nil {
		return err
	}
	tell := func(position int, copies []plan.Copy) {
		sure, may := s.fate(position)
		for _, c := range copies {
			if may {
				each(c, sure)
			}
		}
	}

	if !s.packed {
		return lines(ctx, db, s.record, func(line string) error {
			if position, copies := copiesInLine(line); len(copies) > 0 {
				tell(position, copies)
			}
			return nil
		})
	}

	const query = `SELECT content FROM copies WHERE record = ? ORDER BY rowid`
	return eachRow(ctx, db, query, []any{s.record}, func(scan scanner) error {
		var content []byte
		if err := scan(&content); err != nil {
			return err
		}
		return unpackCopies(content, tell)
	})
}

// fate reports whether the message at a position may have been sent, and whether that is certain. What an undo brought
// back, or is bringing back, counts as not sent.
func (s *sent) fate(position int) (sure, may bool) {
	o, settled := s.outcomes.at(position)
	if o.Outcome != plan.Moved && o.Outcome != plan.Unsure && (settled || s.ended) {
		return false, false
	}
	e := plan.Entry{Position: position}
	for _, undo := range s.undos {
		undo.settleEntry(&e)
	}

	return o.Outcome == plan.Moved, !e.Undone && e.Claimed == 0 && len(e.Undoing) == 0
}

const copyBytes = 8 // of one in the table

// packCopies writes the copies of entries: for each entry with some its position, their number, and 8 bytes each.
func packCopies(entries []plan.Entry) (content []byte) {
	for i := range entries {
		e := &entries[i]
		if len(e.Copies) == 0 {
			continue
		}
		content = binary.AppendUvarint(content, uint64(e.Position))
		content = binary.AppendUvarint(content, uint64(len(e.Copies)))
		for _, c := range e.Copies {
			content = binary.BigEndian.AppendUint64(content, uint64(c))
		}
	}

	return content
}

// unpackCopies calls each with what packCopies wrote.
func unpackCopies(content []byte, each func(position int, copies []plan.Copy)) error {
	var copies []plan.Copy
	for len(content) > 0 {
		position, read := binary.Uvarint(content)
		n, more := binary.Uvarint(content[max(read, 0):])
		content = content[max(read, 0)+max(more, 0):]
		if read <= 0 || more <= 0 || n > uint64(len(content)/copyBytes) {
			return fmt.Errorf("the copies after position %d are damaged", position)
		}

		copies = copies[:0]
		for range n {
			copies = append(copies, plan.Copy(binary.BigEndian.Uint64(content)))
			content = content[copyBytes:]
		}

		each(int(position), copies)
	}

	return nil
}

// copiesInLine reads the copies in an entry's line, where dlxtop 1.0.0 wrote them: 16 hexadecimal digits each. Of a
// damaged entry it returns those that can be read.
func copiesInLine(line string) (position int, copies []plan.Copy) {
	position, text, _ := cutPosition(line)
	text, _ = strings.CutPrefix(text, `,"copies":"`)
	const digits = 2 * copyBytes
	for ; len(text) >= digits; text = text[digits:] {
		n, err := strconv.ParseUint(text[:digits], 16, 64)
		if err != nil {
			break
		}
		copies = append(copies, plan.Copy(n))
	}

	return position, copies
}

// cutPosition splits the position off an entry's line. Parsing each entry of a large journal completely would take
// seconds.
func cutPosition(line string) (position int, rest string, ok bool) {
	text, found := strings.CutPrefix(line, `{"position":`)
	digits := strings.IndexByte(text, ',')
	if !found || digits < 0 {
		return 0, "", false
	}
	position, err := strconv.Atoi(text[:digits])
	return position, text[digits:], err == nil
}
