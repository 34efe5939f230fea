package mgmt

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// notUTF8 is how the management API begins a text that JSON cannot hold (3.10.8 to 4.3.6).
const notUTF8 = "Not UTF-8, base64 is: "

// plain is a text as it was before the management API wrote it in base64. A text that only looks so, because somebody
// wrote it, is plain already: what it encodes is UTF-8, or it encodes nothing.
func plain(text string) string {
	encoded, ok := strings.CutPrefix(text, notUTF8)
	if !ok {
		return text
	}
	bytes, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || utf8.Valid(bytes) {
		return text
	}
	return string(bytes)
}

// plainTexts undoes it in the values of a table.
func plainTexts(table model.Table) model.Table {
	for key, v := range table {
		if text, ok := v.(string); ok {
			table[key] = plain(text)
		}
	}
	return table
}
