package rules_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// asksByHTTP are the files that send requests, and why their client follows no redirect: net/http does, and takes the
// password along.
var asksByHTTP = map[string]string{
	"mgmt/client.go": "bound makes an error of a redirect",
	"demo/ready.go":  "CheckRedirect ends with the first one",
}

func TestNoRedirectIsFollowed(t *testing.T) {
	client := regexp.MustCompile(`http\.(Client\{|Default|Get\(|Head\(|Post)`)
	for _, path := range spokenFiles(t) {
		text := must.Get(os.ReadFile(path))(t)
		assert.Equal(t, client.Match(text), asksByHTTP[path] != "", "%s sends requests", path)
	}
}
