package cause

import (
	"slices"
	"strings"
)

// atFrame reads what is behind "at ", as Java, .NET and Node.js write it.
func atFrame(line string) (frame, bool) {
	open := strings.LastIndexByte(line, '(')
	switch {
	case open < 0 && strings.ContainsAny(line, `/\`), open > 0 && line[open-1] == ' ' && !strings.Contains(line, ") in "):
		return nodeFrame(line, open)
	case open < 0:
		return frame{}, false
	}
	if inside := strings.TrimSuffix(line[open+1:], ")"); isJava(inside) {
		return javaFrame(line[:open])
	}
	return dotnetFrame(line)
}

// isJava reports whether a place is as the JVM writes it.
func isJava(place string) bool {
	if i := strings.LastIndexByte(place, ':'); i > 0 {
		place = place[:i]
	}
	return slices.ContainsFunc([]string{
		".java", ".kt", ".scala", ".groovy", ".clj", "Native Method", "Unknown Source", "<generated>",
	}, func(end string) bool { return strings.HasSuffix(place, end) })
}

// javaFrame is "Mail.send" of "app//com.example.Mail.send".
func javaFrame(call string) (frame, bool) {
	if i := strings.LastIndexByte(call, '/'); i >= 0 {
		call = call[i+1:]
	}
	dot := strings.LastIndexByte(call, '.')
	if dot < 0 {
		return frame{}, false
	}
	class, method := call[:dot], call[dot+1:]
	if i := strings.Index(class, "$$"); i > 0 { // a class that a framework generated around one
		return frame{name: call, library: true}, true
	}
	if rest, ok := strings.CutPrefix(method, "lambda$"); ok {
		method, _, _ = strings.Cut(rest, "$")
	}
	library := hasPrefixOf(class, javaLibraries)
	return frame{name: lastPart(class, '.') + "." + method, library: library}, true
}

// dotnetFrame is "Mail.Send" of "Shop.Mail.Send(String to) in /src/Mail.cs:line 12".
func dotnetFrame(line string) (frame, bool) {
	open := strings.IndexByte(line, '(')
	if open <= 0 {
		return frame{}, false
	}
	call := line[:open]
	if i := strings.IndexAny(call, " ["); i > 0 {
		call = call[:i]
	}
	if method, ok := strings.CutSuffix(call, ".MoveNext"); ok { // Shop.Mail.<Send>d__3.MoveNext
		call = method
	}
	library := hasPrefixOf(call, dotnetLibraries)
	if open, end := strings.IndexByte(call, '<'), strings.IndexByte(call, '>'); open > 0 && end > open+1 {
		call = strings.TrimSuffix(call[:open], ".") + "." + call[open+1:end]
	}
	call = strings.ReplaceAll(call, "+", ".")
	dot := strings.LastIndexByte(call, '.')
	if dot <= 0 {
		return frame{}, false
	}
	return frame{name: lastPart(call[:dot], '.') + "." + call[dot+1:], library: library}, true
}

// nodeFrame is "Mail.send" of "async Mail.send (/app/src/mail.js:12:3)", or the file where no function has a name.
func nodeFrame(line string, open int) (frame, bool) {
	name, place := "", line
	if open >= 0 {
		name, place = strings.TrimSpace(line[:open]), strings.TrimSuffix(line[open+1:], ")")
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "async "), "new ")
	if i := strings.IndexByte(name, ' '); i > 0 { // Mail.send [as handler]
		name = name[:i]
	}
	library := strings.Contains(place, "node_modules") || strings.HasPrefix(place, "node:") ||
		strings.HasPrefix(place, "internal/") || !strings.ContainsAny(place, `/\`)
	file := fileOf(strings.TrimPrefix(place, "async "))
	if name == "" || strings.HasSuffix(name, "<anonymous>") {
		name = file
	}
	return frame{name: strings.TrimPrefix(name, "Object."), library: library}, name != ""
}

// pythonFrame is "send in shop/mail.py" of `File "/srv/shop/mail.py", line 12, in send`.
func pythonFrame(line string) (frame, bool) {
	file, rest, ok := strings.Cut(line[len(`File "`):], `"`)
	if !ok {
		return frame{}, false
	}
	f := frame{name: fileOf(file), lastFirst: true}
	if _, function, ok := strings.Cut(rest, ", in "); ok && function != "<module>" {
		f.name = function + " in " + f.name
	}
	f.library = file == "" || file[0] == '<' ||
		containsAny(file, "site-packages", "dist-packages", "/lib/python", "/lib64/python", `\lib\`, `\Lib\`)
	return f, true
}

// phpFrame is the file of "#0 /app/src/Mail.php(12): Shop\Mail->send()": the call is made there.
func phpFrame(line string) (frame, bool) {
	_, rest, ok := strings.Cut(line, " ")
	place, _, _ := strings.Cut(rest, ": ")
	if open := strings.LastIndexByte(place, '('); open > 0 {
		place = place[:open]
	}
	if !ok || !strings.HasSuffix(place, ".php") && place != "[internal function]" && place != "{main}" {
		return frame{}, false
	}
	library := place[0] == '[' || place[0] == '{' || containsAny(place, "/vendor/", `\vendor\`)
	return frame{name: fileOf(place), library: library}, true
}

// rubyFrame is "send in lib/mail.rb" of "/srv/lib/mail.rb:12:in `send'".
func rubyFrame(line string) (frame, bool) {
	line = strings.TrimPrefix(line, "from ")
	place, method, ok := strings.Cut(line, ":in ")
	if !ok {
		return frame{}, false
	}
	if i := strings.LastIndexByte(place, ':'); i > 0 {
		place = place[:i]
	}
	method = strings.Trim(method, "`'")
	method = strings.TrimPrefix(strings.TrimPrefix(method, "rescue in "), "ensure in ")
	if i := strings.LastIndex(method, " in "); i >= 0 { // block in send
		method = method[i+len(" in "):]
	}
	library := strings.HasPrefix(place, "<internal:") || containsAny(place, "/gems/", "/lib/ruby/", "/bundler/")
	return frame{name: method + " in " + fileOf(place), library: library}, true
}

// elixirFrame is "Shop.Mail.send/2" of "(shop 0.1.0) lib/shop/mail.ex:12: Shop.Mail.send/2".
func elixirFrame(line string) (frame, bool) {
	app := ""
	if line[0] == '(' {
		inside, rest, ok := strings.Cut(line[1:], ") ")
		if !ok {
			return frame{}, false
		}
		app, _, _ = strings.Cut(inside, " ")
		line = rest
	}
	place, call, ok := strings.Cut(line, ": ")
	if !ok || !containsAny(place, ".ex:", ".exs:", ".erl:") {
		return frame{}, false
	}
	if i := strings.IndexByte(call, '('); i > 0 && !strings.HasPrefix(call, "anonymous") { // the arguments
		call = call[:i]
	}
	call = strings.TrimPrefix(call, "anonymous fn/")
	if i := strings.LastIndex(call, " in "); i >= 0 {
		call = call[i+len(" in "):]
	}
	return frame{name: call, library: elixirLibraries[app] || strings.HasPrefix(place, "deps/")}, true
}

// isGoFunction reports whether a line can be the function of a trace of Go; its file is on the next one.
func isGoFunction(line string) bool {
	dot := strings.LastIndexByte(line, '.')
	return dot > 0 && dot < len(line)-1 && strings.IndexByte(line, ' ') < 0 || strings.HasPrefix(line, "created by ") ||
		dot > 0 && strings.HasSuffix(line, ")") && isLetterOrDigit(line[0]) && strings.Contains(line[:dot], "/")
}

// goFile is the file of "/app/mail.go:12 +0x1d", "" when the line is none.
func goFile(line string) string {
	i := strings.Index(line, ".go:")
	if i < 0 || i+4 >= len(line) || !isDigit(line[i+4]) {
		return ""
	}
	return line[:i+3]
}

// goFrame is "mail.(*Sender).Send" of "example.com/shop/mail.(*Sender).Send(0xc000…)".
func goFrame(function, file string) frame {
	library := containsAny(file, "/go/src/", "/pkg/mod/", "/vendor/") || strings.HasPrefix(function, "created by ")
	if i := strings.LastIndexByte(function, '/'); i >= 0 && !strings.Contains(function[:i], "(") {
		function = function[i+1:]
	}
	open := strings.LastIndexByte(function, '(')
	if open > 0 && strings.HasSuffix(function, ")") && function[open-1] != '.' {
		function = function[:open]
	}
	return frame{name: function, library: library}
}

// fileOf is a file with the folder it is in, without line and column: releases lie in folders of their own.
func fileOf(path string) string {
	path = strings.ReplaceAll(strings.TrimPrefix(path, "file://"), `\`, "/")
	for range 2 {
		if i := strings.LastIndexByte(path, ':'); i > 0 && isDigits(path[i+1:]) {
			path = path[:i]
		}
	}
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		if j := strings.LastIndexByte(path[:i], '/'); j >= 0 {
			return path[j+1:]
		}
	}
	return strings.TrimPrefix(path, "/")
}

func lastPart(s string, separator byte) string { return s[strings.LastIndexByte(s, separator)+1:] }

// hasPrefixOf reports whether a name is in one of these packages.
func hasPrefixOf(name string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(name, p) })
}

// containsAny reports whether a place has one of these parts.
func containsAny(place string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(place, part) })
}

var (
	javaLibraries   = list("javaLibraries")
	dotnetLibraries = list("dotnetLibraries")
	elixirLibraries = set("elixirLibraries")
)
