package body

import (
	"encoding/binary"
	"strings"
	"time"
)

// known makes an object of a class that every Java has readable: a number in its box is a number, a date a time, a line
// of a trace as a trace has it.
func (v *value) known() {
	field := func(name string) string {
		for _, m := range v.members {
			if m.name == name {
				return m.of.text
			}
		}
		return ""
	}
	switch {
	case strings.HasPrefix(v.text, "java.lang.") && len(v.members) == 1 && v.members[0].name == "value":
		*v = *v.members[0].of
	case v.text == "java.lang.StackTraceElement":
		at := "at " + field("declaringClass") + "." + field("methodName")
		if file := field("fileName"); file != "" {
			at += "(" + file + ":" + field("lineNumber") + ")"
		}
		*v = *text(at)
	}
}

// addWritten adds what a class wrote by itself.
func (v *value) addWritten(c *javaClass, values []*value) {
	if len(values) == 0 {
		return
	}
	if b := []byte(values[0].text); c.name == "java.util.Date" && len(b) == 8 {
		at := time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()
		v.add("$time", text(at.Format("2006-01-02T15:04:05.000Z07:00")))
		return
	}
	list := &value{kind: listValue}
	for _, w := range values {
		if w.kind == bytesValue && strings.HasPrefix(c.name, "java.util.") {
			continue // how many elements follow, and for how many there was room
		}
		list.add("", w)
	}
	if len(list.members) == 0 {
		return
	}
	if strings.HasPrefix(c.name, "java.util.") && strings.HasSuffix(c.name, "Map") && len(list.members)%2 == 0 {
		list = pairs(list)
	}
	v.add("$data", list)
}

// pairs is a list of keys and values in turn as an object.
func pairs(list *value) *value {
	v := &value{kind: objectValue}
	for i := 0; i+1 < len(list.members); i += 2 {
		v.add(nameOf(list.members[i].of), list.members[i+1].of)
	}
	return v
}
