package mend

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// jsonSpace is what may stand between the parts of JSON.
const jsonSpace = " \t\r\n"

// patch writes JSON that was changed: what was not changed as it stood there, spaces and order included.
type patch struct{ out []byte }

// part is a member of an object, or an element of an array, as it stands in its JSON.
type part struct {
	name             string // of a member
	nameFrom, nameTo int    // of a member, with the quotes
	from, to         int    // of the value
}

// begin is where a part begins.
func (p *part) begin() int {
	if p.nameTo > 0 {
		return p.nameFrom
	}
	return p.from
}

// value writes is in the place of was, which stands in raw, valid JSON without spaces around it.
func (p *patch) value(raw []byte, was, is any) {
	if same(was, is) {
		p.out = append(p.out, raw...)
		return
	}
	switch was := was.(type) {
	case map[string]any:
		if is, ok := is.(map[string]any); ok && p.object(raw, was, is) {
			return
		}
	case []any:
		if is, ok := is.([]any); ok && p.array(raw, was, is) {
			return
		}
	}
	p.out = append(p.out, encoded(is)...)
}

// object writes an object. It reports false when nothing of it stays, or when a name is there twice.
func (p *patch) object(raw []byte, was, is map[string]any) bool {
	parts := partsOf(raw)
	if len(parts) != len(was) || len(parts) == 0 {
		return false
	}
	names := map[string]bool{}
	stays := false
	for i := range parts {
		names[parts[i].name] = true
		_, there := is[parts[i].name]
		stays = stays || there
	}
	if !stays || len(names) != len(was) {
		return false
	}
	first := true
	for i := range parts {
		at := &parts[i]
		value, there := is[at.name]
		if !there {
			continue
		}
		p.between(raw, parts, i, first)
		first = false
		p.out = append(p.out, raw[at.nameFrom:at.from]...)
		p.value(raw[at.from:at.to], was[at.name], value)
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if names[name] {
			continue
		}
		p.separate(raw, parts)
		p.out = append(p.out, encoded(name)...)
		p.out = append(p.out, raw[parts[0].nameTo:parts[0].from]...) // the colon
		p.out = append(p.out, encoded(is[name])...)
	}
	p.out = append(p.out, raw[parts[len(parts)-1].to:]...)
	return true
}

// array writes an array, element by element. It reports false when one of both is empty.
func (p *patch) array(raw []byte, was, is []any) bool {
	parts := partsOf(raw)
	if len(parts) != len(was) || len(parts) == 0 || len(is) == 0 {
		return false
	}
	for i := range is {
		if i < len(parts) {
			p.between(raw, parts, i, i == 0)
			p.value(raw[parts[i].from:parts[i].to], was[i], is[i])
			continue
		}
		p.separate(raw, parts)
		p.out = append(p.out, encoded(is[i])...)
	}
	p.out = append(p.out, raw[parts[len(parts)-1].to:]...)
	return true
}

// between writes what stands in front of a part: the bracket when it is the first that is written, else a comma.
func (p *patch) between(raw []byte, parts []part, at int, first bool) {
	if first {
		p.out = append(p.out, raw[:parts[0].begin()]...)
		return
	}
	p.out = append(p.out, raw[parts[at-1].to:parts[at].begin()]...)
}

// separate writes a comma in front of a part that is new, with spaces as they stand between the others.
func (p *patch) separate(raw []byte, parts []part) {
	if len(parts) > 1 {
		p.out = append(p.out, raw[parts[0].to:parts[1].begin()]...)
		return
	}
	p.out = append(p.out, ',')
	p.out = append(p.out, raw[1:parts[0].begin()]...)
}

// partsOf are the parts of an object or an array, which is valid JSON.
func partsOf(raw []byte) (parts []part) {
	object := raw[0] == '{'
	for at := spaceAt(raw, 1); at < len(raw) && raw[at] != '}' && raw[at] != ']'; {
		var one part
		if object {
			one.nameFrom, one.nameTo = at, valueAt(raw, at)
			if json.Unmarshal(raw[one.nameFrom:one.nameTo], &one.name) != nil {
				return nil // it is valid
			}
			at = spaceAt(raw, one.nameTo)
			at = spaceAt(raw, at+1) // behind the colon
		}
		one.from, one.to = at, valueAt(raw, at)
		parts = append(parts, one)
		if at = spaceAt(raw, one.to); at < len(raw) && raw[at] == ',' {
			at = spaceAt(raw, at+1)
		}
	}
	return parts
}

// spaceAt is where the spaces at a place end.
func spaceAt(raw []byte, at int) int {
	for at < len(raw) && bytes.IndexByte([]byte(jsonSpace), raw[at]) >= 0 {
		at++
	}
	return at
}

// valueAt is where the value at a place of valid JSON ends.
func valueAt(raw []byte, at int) int {
	depth := 0
	for at < len(raw) {
		switch raw[at] {
		case '"':
			at = message.EndOfText(raw, at+1)
			if depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of what the number before it stands in
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return at
}
