package filter

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// Action leads from a message to somewhere else: to a URL with fields of the message in it, or to a command of sh,
// which gets the message beside it. It changes nothing on the broker.
type Action struct {
	Key     string // as written in the configuration: "ctrl-t"
	Name    string
	Command string // for sh -c; no field of a message is ever put into it
	url     template
}

// NewAction makes an action: either address or command is given, the other is "". The error is one sentence.
func NewAction(key, name, address, command string) (Action, error) {
	a := Action{Key: key, Name: name, Command: command}

	switch {
	case key == "" || name == "":
		return a, errors.New("it needs a key and a name")
	case (address == "") == (strings.TrimSpace(command) == ""):
		return a, errors.New("it needs either a url or a command")
	case address == "":
		return a, checkCommand(command)
	}

	var err error
	if a.url, err = parseTemplate(address); err != nil {
		return a, err
	}

	return a, a.checkHost()
}

// placeholder is a field as commands named it before they got the message in their environment.
var placeholder = regexp.MustCompile(`\{\{\s*(\w+)(?:\.(.+?))?\s*\}\}`)

// checkCommand refuses fields in a command, and says where the command finds them.
func checkCommand(command string) error {
	for _, found := range placeholder.FindAllStringSubmatch(command, -1) {
		variable := variableOf(found[1])
		if found[1] == "headers" {
			variable = headerVariable(found[2])
		}

		switch {
		case !slices.Contains(fieldNames(), found[1]):
			continue
		case found[1] == "json" || found[1] == "body":
			return model.Errorf("no field is put into a command: instead of %v, take the body from the message, which is JSON "+
				"on standard input: jq -r '.body | fromjson'", found[0])
		}

		return model.Errorf("no field is put into a command: instead of %v, write \"$%s\", which is in its environment",
			found[0], variable)
	}

	return nil
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

// Offered reports whether a message has all fields of a URL, with values that are allowed there. A command is offered
// on each message.
func (a *Action) Offered(m *message.Message) bool {
	if !a.IsURL() {
		return true
	}
	_, err := a.URL(m)
	return err == nil
}

// IsURL reports whether it opens a URL; otherwise it runs a command.
func (a *Action) IsURL() bool { return len(a.url) > 0 }

// URL returns the address for a message. In values, everything but letters, digits and -._~ is escaped: a value cannot
// leave the part of the URL that it is in.
func (a *Action) URL(m *message.Message) (string, error) {
	text, err := a.url.fill(m)
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

// escaped returns a value escaped as a part of a URL.
func escaped(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }
