package body

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model/serial"
)

// known makes objects of standard Java classes readable: a boxed number becomes a number, a date a time, and a stack
// trace element a line.
func known(v *serial.Value) {
	field := func(name string) string {
		if of := v.Member(name); of != nil {
			return of.Text
		}
		return ""
	}

	switch {
	case strings.HasPrefix(v.Text, "java.lang.") && len(v.Members) == 1 && v.Members[0].Name == "value":
		*v = *v.Members[0].Of
	case v.Text == "java.lang.StackTraceElement":
		at := "at " + field("declaringClass") + "." + field("methodName")
		if file := field("fileName"); file != "" {
			at += "(" + file + ":" + field("lineNumber") + ")"
		}
		*v = *serial.OfText(at)
	}
}

func addWritten(v *serial.Value, c *javaClass, values []*serial.Value) {
	if len(values) == 0 {
		return
	}
	if b := []byte(values[0].Text); c.name == "java.util.Date" && len(b) == 8 {
		at := time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()
		v.Add("$time", serial.OfText(at.Format("2006-01-02T15:04:05.000Z07:00")))
		return
	}

	list := &serial.Value{Kind: serial.List}
	for _, w := range values {
		if w.Kind == serial.Bytes && strings.HasPrefix(c.name, "java.util.") {
			continue // the number of elements, and the capacity
		}
		list.Add("", w)
	}

	if len(list.Members) == 0 {
		return
	}
	if strings.HasPrefix(c.name, "java.util.") && strings.HasSuffix(c.name, "Map") && len(list.Members)%2 == 0 {
		table := &serial.Value{Kind: serial.Object} // keys and values alternate
		for pair := range slices.Chunk(list.Members, 2) {
			table.Put(pair[0].Of, pair[1].Of)
		}
		list = table
	}

	v.Add("$data", list)
}
