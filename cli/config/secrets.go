package config

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Passwords and names that a configuration file leaves to the machine it is used on, so that it can be shared.

// variable matches ${NAME}, and what was perhaps meant to be one.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]{0,99}\})?`)

// expanded puts environment variables in place of each ${NAME}. In a URL with more than the variable, a value in the
// user, the password or behind the host is encoded: there it is one name, whatever characters it has.
func expanded(from, text string, env func(string) string) (string, error) {
	var out strings.Builder
	rest := 0
	for _, at := range variable.FindAllStringIndex(text, -1) {
		found := text[at[0]:at[1]]
		if !strings.HasSuffix(found, "}") {
			return "", fmt.Errorf("%s: ${ begins the name of an environment variable: write ${NAME}, with letters, "+
				"digits and _ in the name", from)
		}

		name := found[2 : len(found)-1]
		value := env(name)
		if value == "" {
			return "", fmt.Errorf("%s: the environment variable %s is not set, or empty: set it before dlxtop starts",
				from, name)
		}
		if partOfURL(text, at[0]) {
			value = strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		}

		out.WriteString(text[rest:at[0]] + value)
		rest = at[1]
	}

	return out.String() + text[rest:], nil
}

// partOfURL reports whether this place of a URL is in its user and password, or behind its host.
func partOfURL(text string, at int) bool {
	scheme := strings.Index(text, "://")
	if scheme < 0 || at < scheme {
		return false
	}
	begin := scheme + len("://")
	end := len(text)
	if slash := strings.IndexAny(text[begin:], "/?"); slash >= 0 {
		end = begin + slash
	}

	credentials := begin + strings.LastIndex(text[begin:end], "@")
	return at < credentials || at >= end
}

// holdsPassword reports whether a URL in the file has a password that is written there.
func holdsPassword(text string) bool {
	found := credentials.FindString(variable.ReplaceAllString(text, ""))
	return found != "" && !strings.HasSuffix(found, ":@")
}

// commandPatience is how long a command may take that prints a password: it may ask its user for another one.
const commandPatience = time.Minute

// printed returns the first line that a command prints. What else it prints could be a secret, too, and is not shown.
func printed(from, command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandPatience)
	defer cancel()

	out, err := exec.CommandContext(ctx, "sh", "-c", command).Output()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", model.Errorf("password_command beside %s did not end within %v: try it in a shell", from,
			commandPatience)
	case errors.As(err, &ended):
		return "", fmt.Errorf("password_command beside %s failed (%s): try it in a shell", from, ended.ProcessState)
	case err != nil:
		return "", fmt.Errorf("password_command beside %s cannot be run: there is no sh", from)
	}

	line, _, _ := strings.Cut(string(out), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", fmt.Errorf("password_command beside %s printed no password: its first line is empty", from)
	}

	return line, nil
}

// needsPassword reports whether a user is named without a password, and does not log in with a certificate.
func (e *endpoint) needsPassword() bool {
	query, _ := url.ParseQuery(e.query)
	return e.password == "" && !strings.EqualFold(query.Get("auth_mechanism"), "external")
}

// complete finds the passwords that a URL does not have: that of the same user in the other URL, else what the
// context's command prints, else what the user types.
func (s settings) complete(broker, api *endpoint, ask Ask) error {
	for _, each := range [][2]*endpoint{{broker, api}, {api, broker}} {
		e, beside := each[0], each[1]
		if !e.needsPassword() {
			continue
		}
		if beside.user == e.user && beside.password != "" {
			e.password = beside.password
			continue
		}

		var err error
		if e.password, err = s.password(e, ask); err != nil {
			return err
		}
	}

	return nil
}

// from returns where the user was named, for errors.
func (s settings) from() string {
	if s.url == "" {
		return s.apiFrom
	}
	return s.urlFrom
}

func (s settings) password(e *endpoint, ask Ask) (string, error) {
	switch {
	case s.passwordCommand != "":
		return printed(s.from(), s.passwordCommand)
	case ask == nil:
		return "", model.Errorf("%s names the user %v without a password, and there is no terminal to ask on: set "+
			"DLXTOP_URL to a URL with it, or give a context a password_command", s.from(), e.user)
	}

	password, err := ask("password of " + model.Printable(e.user) + " at " + e.address() + ":")
	if err == nil && password == "" {
		err = errors.New("no password was typed")
	}

	return password, err
}

// Ask asks the user for a password with this prompt, and shows nothing of it. Its error is one sentence.
type Ask func(prompt string) (string, error)
