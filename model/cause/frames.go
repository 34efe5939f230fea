package cause

import (
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// The bounds of a stack trace.
const (
	mostFrames  = 500 // lines read
	mostFrame   = 120 // bytes of a frame
	longestLine = 1000
)

// ownFrame returns the topmost frame of a stack trace in the application's own code, without its line: where the error
// was raised, or where the library that raised it was called. It reads traces of Java (and Kotlin, Scala), .NET,
// Python, PHP, Ruby, Node.js, Go and Elixir. "" when the text is not a trace, or has only library frames.
func ownFrame(stack string) string {
	if strings.IndexByte(stack, '\n') < 0 {
		return ""
	}
	last, python := "", false
	lines := 0
	goFunction := ""
	for line := range strings.SplitSeq(stack, "\n") {
		if lines++; lines > mostFrames {
			break
		}
		indented := line != "" && (line[0] == ' ' || line[0] == '\t')
		line = strings.TrimRight(strings.TrimLeft(message.WholeRunes(line, longestLine), " \t"), " \t\r")
		f, found := frameOf(line)
		switch {
		case !found && goFunction != "" && indented:
			if file := goFile(line); file != "" {
				f, found = goFrame(goFunction, file), true
			}
		case !found && isGoFunction(line):
			goFunction = line
			continue
		}

		goFunction = ""
		if !found || f.name == "" || f.library {
			python = python || found && f.lastFirst
			continue
		}

		if !f.lastFirst {
			return framed(f.name)
		}
		last, python = f.name, true
	}

	if python {
		return framed(last)
	}

	return ""
}

// framed returns a printable frame, without the numbers that compilers put into names.
func framed(name string) string {
	return model.Escaped(withoutNumbers(strings.ToValidUTF8(message.WholeRunes(name, mostFrame), "?")))
}

// frame is one line of a stack trace.
type frame struct {
	name      string
	library   bool // not the application's own code
	lastFirst bool // the trace has the newest call at its end
}

// frameOf parses a line of a trace without leading spaces.
func frameOf(line string) (frame, bool) {
	switch {
	case strings.HasPrefix(line, "at "):
		return atFrame(line[len("at "):])
	case strings.HasPrefix(line, `File "`):
		return pythonFrame(line)
	case strings.HasPrefix(line, "#") && len(line) > 2 && isDigit(line[1]):
		return phpFrame(line)
	case strings.Contains(line, ":in `") || strings.Contains(line, ":in '"):
		return rubyFrame(line)
	case strings.HasPrefix(line, "(") || strings.Contains(line, ".ex:") || strings.Contains(line, ".exs:"):
		return elixirFrame(line)
	}

	return frame{}, false
}

// headOf returns the beginning of an error's text, before a trace or a statement.
func headOf(text string) string {
	for _, mark := range []string{"\n[SQL:", "[SQL: ", "(SQL: ", "\n[parameters:", "(Background on this error"} {
		if i := strings.Index(text, mark); i > 0 {
			text = text[:i]
		}
	}

	end := 0
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		_, isFrame := frameOf(strings.TrimRight(trimmed, "\r"))
		if end > 0 && (isFrame || startsTrace(trimmed)) {
			return text[:end]
		}
		end = min(end+len(line)+1, len(text))
		if end > mostRead {
			break
		}
	}

	return text[:end]
}

// startsTrace reports whether a line introduces a stack trace.
func startsTrace(line string) bool {
	return hasPrefixOf(line, []string{
		"Traceback (most recent", "Stack trace:", "goroutine ", "Stacktrace:", "stack traceback:", "--- End of",
	})
}
