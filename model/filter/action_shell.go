package filter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// reading is what a program does with its arguments.
type reading int

const (
	passes    reading = iota + 1 // runs the rest of them as a command, unchanged
	joins                        // passes them to a shell
	readsC                       // a shell that interprets the one after -c
	otherwise                    // interprets them as other code, or several times
)

// readers are programs that interpret their arguments as a command.
var readers = readersOf(map[reading]string{
	passes: `alacritty busctl chroot chrt command doas env exec flock foot gnome-terminal ionice kitty konsole nice nohup
		nsenter pkexec rxvt setpriv setsid st start stdbuf strace sudo systemd-run taskset time timeout unshare urxvt
		wezterm x-terminal-emulator xargs xfce4-terminal xterm`,
	joins:  `autossh rsh ssh tmux watch`,
	readsC: `ash bash busybox dash ksh mksh rbash runuser script sh su zsh`,
	otherwise: `awk batch bun cmd crontab csh deno ed elixir elvish emacs emacsclient erl eval ex expect fish gawk gdb ghci
		groovy jshell julia lua make mawk mongosh mosh mysql nawk node nodejs nu nvim osascript parallel perl php
		powershell psql pwsh python rscript ruby scala screen sed source sqlite tclsh tcsh vi vim wish wsl xonsh`,
})

func readersOf(kinds map[reading]string) map[string]reading {
	all := map[string]reading{}
	for kind, names := range kinds {
		for _, name := range strings.Fields(names) {
			all[name] = kind
		}
	}
	return all
}

// readerOf is what a word of a command does with those after it, if it is a known program: /usr/bin/python3.11 is
// python.
func readerOf(word string) reading {
	name := strings.ToLower(word[strings.LastIndexAny(word, `/\`)+1:])
	name = strings.TrimSuffix(name, ".exe")
	if strings.HasSuffix(name, ".bat") || strings.HasSuffix(name, ".cmd") {
		return otherwise // cmd interprets their arguments
	}
	if kind, known := readers[name]; known {
		return kind
	}
	return readers[strings.TrimRight(name, "0123456789.-")]
}

// Shell builtins that interpret their arguments as code, or as names of variables, which can contain code.
const shellBuiltins = " . [ [[ alias declare export let local read readonly test trap typeset unset "

// script says what to do where a field is not allowed.
const script = "write a script that takes the value as an argument, and name that"

// checkWords refuses a field whose value a shell, or another interpreter, may interpret.
func (a *Action) checkWords() error {
	for i, t := range a.args {
		field := t.field()
		if field == "" {
			continue
		}
		if strings.ContainsAny(t.literal(), " \t\n") {
			return fmt.Errorf("{{%s}} stands in a quoted word of several words, which a shell may read as a command: "+
				"make it a word of its own, or write shell = true, and the value is quoted for that shell", field)
		}
		for _, before := range a.args[:i] {
			if word := before.literal(); readerOf(word) != 0 {
				return fmt.Errorf("{{%s}} stands behind %s, which makes a command of its arguments: %s, or shell = true "+
					"where a shell reads it", field, model.Printable(word), script)
			}
		}
	}
	return nil
}

// checkShell refuses a field whose value cannot be quoted for exactly one shell: the one that the command names, or the
// sh that runs the whole command, which is line.
func (a *Action) checkShell(line Template) error {
	reader, at := "", 0
	for i, t := range a.args {
		field := t.field()
		if field == "" {
			if kind := readerOf(t.literal()); reader == "" && kind > passes {
				reader, at = t.literal(), i
				a.formats = strings.HasSuffix(reader, "tmux")
			}
			continue
		}
		if reader == "" {
			continue
		}
		switch kind := readerOf(reader); {
		case kind == otherwise:
			return fmt.Errorf("{{%s}} stands behind %s, for which no value can be quoted: %s", field,
				model.Printable(reader), script)
		case kind == readsC && !asksForCommand(a.args[i-1].literal()):
			return fmt.Errorf("{{%s}} is no part of the command behind %s -c: write it there, or %s", field,
				model.Printable(reader), script)
		}
		for _, between := range a.args[at+1 : i] {
			if word := between.literal(); strings.ContainsAny(word, "'\"\\`") || readerOf(word) > passes {
				return fmt.Errorf("{{%s}} passes through more than %s: %s", field, model.Printable(reader), script)
			}
		}
		if err := t.checkShellText(); err != nil {
			return err
		}
		at = len(a.args) // what follows is interpreted by the same shell
	}
	if reader == "" {
		a.args = []Template{{{text: "sh"}}, {{text: "-c"}}, line}
		return line.checkShellText()
	}
	return nil
}

// asksForCommand reports whether the next word is a command for a shell: -c, -lc, --command.
func asksForCommand(option string) bool {
	return option == "--command" || len(option) > 1 && option[0] == '-' && option[1] != '-' && option[len(option)-1] == 'c'
}

// checkShellText refuses a field in a shell's text where even a quoted value is more than a part of an argument: inside
// quotes, as the program, as an output file, or where a shell interprets a word twice.
func (t Template) checkShellText() error {
	var s shellText
	for i := range t {
		if t[i].field == nil {
			s.read(t[i].text)
			continue
		}
		refuse := func(words string) error { return fmt.Errorf("{{%s}} %s", t[i].name(), words) }
		switch {
		case s.odd != "":
			return refuse("stands behind " + model.Printable(s.odd) + ", where a value is read more than once: " + script)
		case s.quote != 0 || s.escaped:
			return refuse("stands in quotes, or behind a \\, of what the shell reads: leave those away, it is quoted")
		case !s.program:
			return refuse("would be the program that the shell runs: that is named, not taken from the message")
		case s.writes:
			return refuse("would name the file that is written: that is named, not taken from the message")
		}
		s.word.WriteByte('x')
	}
	if s.quote != 0 {
		return errors.New("a quote is not closed in what the shell reads")
	}
	return nil
}

// shellText is the state while a shell's text is scanned.
type shellText struct {
	quote   byte // the open quote
	escaped bool // the next character is escaped
	last    byte
	word    strings.Builder
	program bool   // the current command has its program
	writes  bool   // the word is an output file
	odd     string // what makes a shell interpret a word twice, from there to the end
}

func (s *shellText) read(text string) {
	for i := range len(text) {
		c, last := text[i], s.last
		s.last = c
		switch {
		case s.escaped:
			s.escaped = false
			s.word.WriteByte(c)
		case s.quote != '\'' && (c == '`' || last == '$' && (c == '{' || c == '\'' || c == '"')),
			s.quote == 0 && (last == '(' || last == '<') && c == last:
			s.odd = strings.TrimSpace(string(last) + string(c))
		case c == '\\' && s.quote != '\'':
			s.escaped = true
		case s.quote != 0 && c == s.quote:
			s.quote = 0
		case s.quote != 0:
			s.word.WriteByte(c)
		case c == '\'' || c == '"':
			s.quote = c
		case c == ' ' || c == '\t' || c == '<' || c == '>':
			s.writes = c == '>' || s.writes && s.word.Len() == 0 && c != '<'
			s.end()
		case strings.IndexByte("\n;|&()", c) >= 0:
			s.end()
			s.program, s.writes = false, false
		default:
			s.word.WriteByte(c)
		}
	}
}

func (s *shellText) end() {
	word := s.word.String()
	s.word.Reset()
	kind := readerOf(word)
	if s.odd == "" && (kind > passes || !s.program && word != "" && strings.Contains(shellBuiltins, " "+word+" ")) {
		s.odd = word
	}
	switch {
	case word == "", kind != 0, strings.IndexByte("-0123456789", word[0]) >= 0, strings.Contains(word, "="):
	case strings.Contains(" ! { if then else elif do while until in ", " "+word+" "):
	default:
		s.program = true
	}
}

// quoted is a value quoted as a part of a shell word: sh, bash, dash, ksh, zsh and fish read it unchanged. Quotes and
// backslashes are put in double quotes, because in fish a backslash is special in single ones.
func quoted(value string) string {
	return "'" + strings.NewReplacer("'", `'"'"'`, `\`, `'"\\"'`).Replace(value) + "'"
}

// field is the name of the first field, "" without one.
func (t Template) field() string {
	for i := range t {
		if t[i].field != nil {
			return t[i].name()
		}
	}
	return ""
}

// literal is the text around the fields.
func (t Template) literal() string {
	var b strings.Builder
	for i := range t {
		b.WriteString(t[i].text)
	}
	return b.String()
}
