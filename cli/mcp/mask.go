package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// secrets are the members of the commands' JSON that hold values of headers and bodies, or what is made of them.
var secrets = map[string]bool{
	"body": true, "headers": true, "message": true, "match": true, "cause": true, "text": true, "frame": true,
	"sample": true, "samples": true, "note": true,
}

// masked replaces the values of headers and bodies in JSON values by how long they are. A text that is no JSON, the
// page of a finding, has none.
func masked(text string) (string, error) {
	if !strings.HasPrefix(text, "{") {
		return text, nil
	}

	var b strings.Builder
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		d.UseNumber()
		var v map[string]any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err == nil {
			hide(v)
			err = write(&b, v)
		}
		if err != nil {
			return "", fmt.Errorf("the answer cannot be masked, and is not shown: %w", err)
		}
	}
}

func write(b *strings.Builder, v any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	b.Write(line.Bytes())
	return err
}

// hide masks the values in a table of any depth.
func hide(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			hide(e)
		}
	case map[string]any:
		for name, e := range v {
			headers, isTable := e.(map[string]any)
			switch {
			case name == "headers" && isTable:
				for header, value := range headers {
					headers[header] = mask(value)
				}
			case secrets[name], name == "kind" && !isClass(e):
				v[name] = mask(e)
			default:
				hide(e)
			}
		}
	}
}

// mask says what kind of value there is.
func mask(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return fmt.Sprintf("masked: %d characters", utf8.RuneCountInString(v))
	case []any:
		return fmt.Sprintf("masked: a list of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("masked: a table of %d", len(v))
	}

	return "masked"
}

// isClass reports whether the kind of an error is the name of a class: some applications write a sentence there.
func isClass(v any) bool {
	text, ok := v.(string)
	return ok && !strings.ContainsAny(text, " \t\n@")
}
