package trouble_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/trouble"
)

func TestSentencesNameWhatTheyAreGiven(t *testing.T) {
	values := trouble.Values{At: "mq:5672", User: "ops{vhost}", VHost: "a\x1b", Name: "n", Detail: "3"}
	e := trouble.AMQPWithoutVHost.With(values)
	assert.Equal(t, e.Cause, `the user ops{vhost} may not enter the vhost a\x1b`)
	assert.Equal(t, e.Kind, trouble.NotAllowed)
	if e := trouble.ConnectionsOfVHost.With(values); e.Cause !=
		`the vhost a\x1b takes 3 connections (max-connections), and all are in use` {
		t.Error(e.Cause)
	}

	known := []string{"{at}", "{api}", "{user}", "{vhost}", "{name}", "{detail}"}
	found := 0
	text := must.Get(os.ReadFile("words.toml"))(t)
	for _, name := range regexp.MustCompile(`\{\w+\}`).FindAllString(string(text), -1) {
		if found++; !slices.Contains(known, name) {
			t.Errorf("nothing fills %s", name)
		}
	}

	assert.That(t, found >= 50, "only %d names were found in the sentences", found)
}

func TestTroublesHaveWords(t *testing.T) {
	code := must.Get(os.ReadFile("words.go"))(t)
	names := regexp.MustCompile(`(?m)^\t\w+ +Trouble = "(\w+)"$`).FindAllStringSubmatch(string(code), -1)
	must.That(t, len(names) >= 70, "only %d troubles were found", len(names))
	for _, name := range names {
		e := trouble.Trouble(name[1]).With(trouble.Values{Detail: "3"})
		assert.That(t, e.Cause != "", "%s has no words", name[1])
		assert.That(t, e.Kind != "", "%s has no kind", name[1])
	}
}
