package mgmt

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestNewReadsURLsAsPeopleWriteThem(t *testing.T) {
	for _, test := range []struct {
		options                           Options
		endpoint, address, user, password string
	}{
		{Options{URL: "http://localhost:15672"}, "http://localhost:15672", "localhost:15672", "", ""},
		{Options{URL: "http://a:b@h:1/", User: "x", Password: "y"}, "http://h:1", "h:1", "a", "b"},
		{Options{URL: "http://a@h:1", User: "x", Password: "y"}, "http://h:1", "h:1", "a", "y"},
		{Options{URL: "https://h", User: "x", Password: "y"}, "https://h", "h:443", "x", "y"},
		{Options{URL: "http://h/mq/api/"}, "http://h/mq", "h:80", "", ""},
		{Options{URL: "http://[::1]:15672/#/queues"}, "http://[::1]:15672", "[::1]:15672", "", ""},
		{Options{URL: "http://a%40b:p%2Fw@h:1?x=1"}, "http://h:1", "h:1", "a@b", "p/w"},
	} {
		c, err := New(test.options)
		if err != nil {
			t.Errorf("%s: %v", test.options.URL, err)
			continue
		}
		if c.endpoint != test.endpoint || c.address != test.address || c.user != test.user || c.password != test.password {
			t.Errorf("%s is read as %s, %s, %s, %s", test.options.URL, c.endpoint, c.address, c.user, c.password)
		}
	}
}

func TestNewExplainsABadURL(t *testing.T) {
	for url, words := range map[string]string{
		"":                           "must begin with http:// or https://",
		"localhost:15672":            "must begin with http:// or https://",
		"http://":                    "names no host",
		"http://u:hunter2@h:port":    "cannot be read",
		"amqp://u:hunter2@h:5672/v":  "is an AMQP URL",
		"ftp://u:hunter2@h":          "must begin with",
		"http://u:hunter2@h:1/%zz/%": "cannot be read",
	} {
		_, err := New(Options{URL: url})
		assert.That(t, err != nil && strings.Contains(err.Error(), words) && !strings.Contains(err.Error(), "hunter2") &&
			!strings.Contains(err.Error(), "\n"), "%q: %v", url, err)
	}
}
