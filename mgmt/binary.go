package mgmt

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/dlxtop/dlxtop/model"
)

// notUTF8 is the management API's prefix of a text that JSON cannot contain (3.10.8 to 4.3.6).
const notUTF8 = "Not UTF-8, base64 is: "

// plain decodes a text that the management API wrote in base64. A text that only looks so, because someone wrote it, is
// plain already: what it encodes is UTF-8, or it encodes nothing.
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

// plainTexts decodes the values of a table.
func plainTexts(table model.Table) model.Table {
	for key, v := range table {
		if text, ok := v.(string); ok {
			table[key] = plain(text)
		}
	}

	return table
}
