package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/preferences"
)

// Answers describe a broker as a user does when asked.
type Answers struct {
	Host           string // host, host:port, or more of an AMQP URL
	User, Password string
	API            string // "": the usual address
	Name           string // of the context
}

// url returns the AMQP URL, with the password.
func (a Answers) url() (string, error) {
	host := strings.TrimSpace(a.Host)
	if !strings.Contains(host, "://") {
		host = "amqp://" + host
	}
	if _, err := parseAMQP("the host", host); err != nil {
		return "", err
	}
	u, err := url.Parse(host)
	if err != nil {
		return "", errors.New("the host cannot be read") // the error may quote a password
	}
	u.User = url.UserPassword(a.User, a.Password)
	return u.String(), nil
}

// Connection returns the connection to that broker.
func (a Answers) Connection() (Connection, error) {
	amqp, err := a.url()
	if err != nil {
		return Connection{}, err
	}
	return settings{url: amqp, urlFrom: "the host", api: strings.TrimSpace(a.API), apiFrom: "the API"}.connection(nil)
}

// Save adds the context to the configuration file, and makes that readable only by its user, as it contains a password.
// Everything else in the file stays as it is.
func (a Answers) Save(env func(string) string) error {
	if !filterName.MatchString(a.Name) {
		return errors.New("the name of a context has letters, digits, _ and - only")
	}
	file, err := Read(env)
	_, there := file.Brokers[a.Name]
	switch {
	case err != nil:
		return err
	case file.Path == "":
		return errors.New("there is no place for a configuration file: name a directory with XDG_CONFIG_HOME")
	case there:
		return model.Errorf("%v has a context %s already", file.Path, a.Name)
	}

	amqp, err := a.url()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	added := fmt.Sprintf("[contexts.%s]\nurl = %q\n", a.Name, amqp)
	if api := strings.TrimSpace(a.API); api != "" {
		added += fmt.Sprintf("api = %q\n", api)
	}
	if len(text) > 0 {
		added = strings.TrimRight(string(text), "\n") + "\n\n" + added
	}
	if _, err := toml.Decode(added, &contents{}); err != nil {
		return errors.New("the configuration file cannot take these texts: write the context into it by hand")
	}
	path := file.Path
	if target, err := filepath.EvalSymlinks(path); err == nil { // links stay
		path = target
	}

	return preferences.File{Path: path}.Save([]byte(added))
}
