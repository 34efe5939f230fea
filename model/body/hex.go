package body

import (
	"fmt"
	"strings"
)

// wholeDump is the width of a line of 16 bytes.
const wholeDump = 12 + 4*16

// hexDump has 16 bytes a line, or as many groups of four as fit into the width: offset, hexadecimal, ASCII.
func hexDump(b []byte, within int) []Line {
	width := 4 * min(max((within-12)/16, 1), 4)
	lines := make([]Line, 0, len(b)/width+1)
	for offset := 0; offset < len(b); offset += width {
		row := b[offset:min(offset+width, len(b))]
		var hex, ascii strings.Builder
		for i := range width {
			if i == 8 {
				hex.WriteByte(' ')
			}

			if i >= len(row) {
				hex.WriteString("   ")
				continue
			}

			fmt.Fprintf(&hex, "%02x ", row[i])
			if row[i] >= ' ' && row[i] <= '~' {
				ascii.WriteByte(row[i])
			} else {
				ascii.WriteByte('.')
			}
		}

		lines = append(lines, Line{Spans: []Span{
			{Mark, fmt.Sprintf("%08x  ", offset)}, {Plain, hex.String() + " "}, {String, ascii.String()},
		}})
	}

	return lines
}
