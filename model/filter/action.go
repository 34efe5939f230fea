package filter

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/dlxtop/dlxtop/model/message"
)

// Action leads from a message to somewhere else: to a URL, or to a command, with fields of the message in it. It
// changes nothing on the broker.
type Action struct {
	Key  string // as written in the configuration: "ctrl-t"
	Name string
	url  Template   // empty for a command
	args []Template // the words of the command, the program first

	shell   bool // exactly one shell interprets the values, which are quoted for it
	formats bool // tmux expands them first, and treats # specially
}

// NewAction makes an action: either address or command is given, the other is "". With shell, a shell may interpret the
// command. The error is one sentence.
func NewAction(key, name, address, command string, shell bool) (Action, error) {
	a := Action{Key: key, Name: name, shell: shell}
	switch {
	case key == "" || name == "":
		return a, errors.New("it needs a key and a name")
	case (address == "") == (command == ""):
		return a, errors.New("it needs either a url or a command")
	case address != "" && shell:
		return a, errors.New("shell = true is for a command, and this is a url")
	case address != "":
		var err error
		if a.url, err = ParseTemplate(address); err != nil {
			return a, err
		}
		return a, a.checkHost()
	}
	words, err := splitWords(command)
	if err != nil {
		return a, err
	}
	for _, word := range words {
		t, err := ParseTemplate(word)
		if err != nil {
			return a, err
		}
		a.args = append(a.args, t)
	}
	if len(a.args) == 0 || len(a.args[0]) != 1 || a.args[0][0].field != nil {
		return a, errors.New("the program of a command is named, not taken from the message")
	}
	if !shell {
		return a, a.checkWords()
	}
	line, err := ParseTemplate(command)
	if err != nil {
		return a, err
	}
	return a, a.checkShell(line)
}

// checkHost refuses a URL whose server a message could choose.
func (a *Action) checkHost() error {
	u, err := url.Parse(a.url[0].text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" ||
		len(a.url) > 1 && u.Path == "" && u.RawQuery == "" && u.Fragment == "" {
		return errors.New("a url begins with https:// or http:// and its host, and fields come behind them and a /")
	}
	return nil
}

// Offered reports whether a message has all fields of the action, with values that are allowed there.
func (a *Action) Offered(m *message.Message) bool {
	if a.IsURL() {
		_, err := a.URL(m)
		return err == nil
	}
	_, err := a.Command(m)
	return err == nil
}

// IsURL reports whether it opens a URL; otherwise it runs a command.
func (a *Action) IsURL() bool { return len(a.url) > 0 }

// URL is the address for a message. In values, everything but letters, digits and -._~ is escaped: a value cannot leave
// the part of the URL that it is in.
func (a *Action) URL(m *message.Message) (string, error) {
	text, err := a.url.Fill(m, escaped)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("this message makes no valid url of it")
	}
	if parts := strings.Split(u.Path, "/"); slices.Contains(parts, ".") || slices.Contains(parts, "..") {
		return "", errors.New("a value is . or .., which would lead elsewhere")
	}
	return text, nil
}

// Command is the program with its arguments for a message. The command is split into words before values are inserted,
// so a value stays in its word, and is seen by no shell, or by one for which it is quoted. A value cannot become an
// option: at the beginning of a word, one that starts with - or + is refused.
func (a *Action) Command(m *message.Message) ([]string, error) {
	words := make([]string, len(a.args))
	for i, t := range a.args {
		if err := a.checkValues(t, m); err != nil {
			return nil, err
		}
		escape := func(value string) string { return value }
		if a.shell {
			escape = quoted
		}
		var err error
		if words[i], err = t.Fill(m, escape); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// checkValues refuses values that have a special meaning where they are inserted.
func (a *Action) checkValues(t Template, m *message.Message) error {
	for i := range t {
		if t[i].field == nil {
			continue
		}
		value, _ := fieldText(m, t[i].field)
		refuse := func(words string) error { return fmt.Errorf("the value of %s %s", t[i].name(), words) }
		begins := i == 0 || strings.HasSuffix(t[i-1].text, " ") || strings.HasSuffix(t[i-1].text, "\t")
		switch {
		case strings.ContainsRune(value, 0):
			return refuse("has a zero byte, which no argument can have")
		case a.shell && strings.ContainsFunc(value, unicode.IsControl):
			return refuse("has a line end or a control character, which not every shell takes in quotes")
		case a.formats && strings.Contains(value, "#"):
			return refuse("has a #, which tmux may read as a command")
		case begins && strings.HasPrefix(value, "-") || begins && strings.HasPrefix(value, "+"):
			return refuse(fmt.Sprintf("begins with %c, and would be taken as an option", value[0]))
		}
	}
	return nil
}

// escaped is a value escaped as a part of a URL.
func escaped(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

// splitWords splits a command at blanks; quotes hold a word together.
func splitWords(command string) (words []string, err error) {
	var word strings.Builder
	quote, begun := rune(0), false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				words = append(words, word.String())
			}
			begun = false
			word.Reset()
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
