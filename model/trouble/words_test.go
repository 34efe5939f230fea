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
	text := must.Get(os.ReadFile("words.go"))(t)
	for _, name := range regexp.MustCompile(`\{\w+\}`).FindAllString(string(text), -1) {
		if found++; !slices.Contains(known, name) {
			t.Errorf("nothing fills %s", name)
		}
	}

	assert.That(t, found >= 50, "only %d names were found in the sentences", found)
}
