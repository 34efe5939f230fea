package findings

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// Every finding has a page, every page a finding, and the index names all of them.
func TestEveryFindingHasAPage(t *testing.T) {
	files, err := filepath.Glob("*.go")
	must.That(t, err == nil && len(files) > 0, "%v %v", files, err)
	index, err := os.ReadFile("../../docs/findings/README.md")
	must.Do(t, err)
	found := map[string]bool{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, code := range regexp.MustCompile(`Code: +"([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			found[code[1]] = true
		}
	}
	for code := range found {
		if _, err := os.Stat("../../" + Finding{Code: code}.Page()); err != nil {
			t.Error(err)
		}
		assert.That(t, strings.Contains(string(index), "["+code+"]("+code+".md)"), "the index does not name %s", code)
	}
	pages, err := filepath.Glob("../../docs/findings/*.md")
	must.Do(t, err)
	for _, page := range pages {
		if code := strings.TrimSuffix(filepath.Base(page), ".md"); code != "README" && !found[code] {
			t.Errorf("%s describes a finding that there is not", page)
		}
	}
}
