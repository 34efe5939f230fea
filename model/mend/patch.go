package mend

import (
	"maps"
	"slices"

	"github.com/dlxtop/dlxtop/model/message"
)

// jsonSpace is what may stand between the parts of JSON.
const jsonSpace = " \t\r\n"

// patch writes changed JSON: unchanged parts as they were, spaces and order included.
type patch struct{ out []byte }

// value writes is in place of was, whose source is raw, valid JSON without surrounding spaces.
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

// object writes an object. It is false when nothing of it stays, or when a name occurs twice.
func (p *patch) object(raw []byte, was, is map[string]any) bool {
	parts := slices.Collect(message.JSONParts(raw))
	if len(parts) != len(was) || len(parts) == 0 {
		return false
	}
	names := map[string]bool{}
	stays := false
	for i := range parts {
		name := parts[i].Name()
		names[name] = true
		_, there := is[name]
		stays = stays || there
	}

	if !stays || len(names) != len(was) {
		return false
	}
	first := true
	for i := range parts {
		at, name := &parts[i], parts[i].Name()
		value, there := is[name]
		if !there {
			continue
		}
		p.between(raw, parts, i, first)
		first = false
		p.out = append(p.out, raw[at.Begin:at.From]...)
		p.value(raw[at.From:at.To], was[name], value)
	}

	for _, name := range slices.Sorted(maps.Keys(is)) {
		if names[name] {
			continue
		}
		p.separate(raw, parts)
		p.out = append(p.out, encoded(name)...)
		p.out = append(p.out, raw[parts[0].Begin+len(parts[0].Quoted):parts[0].From]...) // the colon
		p.out = append(p.out, encoded(is[name])...)
	}

	p.out = append(p.out, raw[parts[len(parts)-1].To:]...)
	return true
}

// array writes an array, element by element. It is false when either is empty.
func (p *patch) array(raw []byte, was, is []any) bool {
	parts := slices.Collect(message.JSONParts(raw))
	if len(parts) != len(was) || len(parts) == 0 || len(is) == 0 {
		return false
	}
	for i := range is {
		if i < len(parts) {
			p.between(raw, parts, i, i == 0)
			p.value(raw[parts[i].From:parts[i].To], was[i], is[i])
			continue
		}
		p.separate(raw, parts)
		p.out = append(p.out, encoded(is[i])...)
	}

	p.out = append(p.out, raw[parts[len(parts)-1].To:]...)
	return true
}

// between writes what precedes a part: the bracket for the first one, otherwise a comma.
func (p *patch) between(raw []byte, parts []message.JSONPart, at int, first bool) {
	if first {
		p.out = append(p.out, raw[:parts[0].Begin]...)
		return
	}
	p.out = append(p.out, raw[parts[at-1].To:parts[at].Begin]...)
}

// separate writes a comma before a new part, with the spaces that stand between the others.
func (p *patch) separate(raw []byte, parts []message.JSONPart) {
	if len(parts) > 1 {
		p.out = append(p.out, raw[parts[0].To:parts[1].Begin]...)
		return
	}
	p.out = append(p.out, ',')
	p.out = append(p.out, raw[1:parts[0].Begin]...)
}
