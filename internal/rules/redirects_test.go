package rules_test

import (
	"os"
	"regexp"
	"testing"

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
		if asks := client.Match(text); asks != (asksByHTTP[path] != "") {
			t.Errorf("%s sends requests: %t; add it to the list, or take it off, and say what stops redirects", path, asks)
		}
	}
}
