package filter

import (
	"maps"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// mostOfEnvironment is the maximum length of all variables of a message, in bytes. Systems run no command
// whose environment and arguments are too long: macOS from 1 MiB on.
const mostOfEnvironment = 64 << 10

const headerPrefix = "DLXTOP_HEADER_"

// variableOf returns the environment variable of a field: DLXTOP_MESSAGE_ID.
func variableOf(field string) string { return "DLXTOP_" + strings.ToUpper(field) }

// headerVariable returns the environment variable of a header: DLXTOP_HEADER_X_TENANT. All but ASCII letters and digits
// becomes _, so that a shell can name it.
func headerVariable(name string) string {
	return headerPrefix + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// Environment returns an inherited environment with the fields of a message that have one value. What belongs to
// another message goes. Left out are the body, headers whose names make the same variable, values with a NUL byte or
// more than 4 KiB, and what comes after 64 KiB in all.
func Environment(inherited []string, m *message.Message) []string {
	environment := model.Without(inherited, isOfMessage)
	left := mostOfEnvironment
	add := func(variable string, value any) {
		text, there := scalarText(value)
		size := len(variable) + len(text) + 2

		fits := len(text) <= mostOfValue && size <= left
		if there && fits && !strings.Contains(text, "\x00") {
			environment = append(environment, variable+"="+text)
			left -= size
		}
	}

	for f := range model.Each(fields) {
		if f.Name != "body" && f.Name != "json" {
			add(variableOf(f.Name), f.of(m))
		}
	}

	headers := slices.Sorted(maps.Keys(m.Headers))
	times := map[string]int{}
	for _, name := range headers {
		times[headerVariable(name)]++
	}
	for _, name := range headers {
		if variable := headerVariable(name); times[variable] == 1 {
			add(variable, plainValue(m.Headers[name], 1))
		}
	}

	return environment
}

// isOfMessage reports whether an entry of an environment, NAME=VALUE, is a message's: a command may start dlxtop.
func isOfMessage(entry string) bool {
	variable, _, _ := strings.Cut(entry, "=")
	return strings.HasPrefix(variable, headerPrefix) ||
		slices.ContainsFunc(fields, func(f Field) bool { return variable == variableOf(f.Name) })
}
