package docs

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// Every page of a finding is readable on a terminal, without Markdown's markup.
func TestPagesAreText(t *testing.T) {
	all := Findings()
	begins := map[string]string{}
	assert.That(t, len(all) >= 39, "only %d findings", len(all))
	for _, f := range all {
		begin := f.Short[:min(len(f.Short), 40)]
		if other := begins[begin]; other != "" { // on a narrow screen only this is visible
			t.Errorf("%s and %s both begin with %q", other, f.Code, begin)
		}

		begins[begin] = f.Code
		page := strings.Join(Finding(f.Code, 76), "\n")
		whole := f.Short != "" && !strings.HasSuffix(f.Short, ",")
		assert.That(t, whole, "%s: %q: %q", f.Code, f.Short, page)
		assert.That(t, len(page) >= 60, "%s: %q: %q", f.Code, f.Short, page)
		for _, line := range strings.Split(page, "\n") {
			assert.That(t, len([]rune(line)) <= 76, "%s: %q", f.Code, line)
			assert.That(t, !strings.ContainsAny(line, "`|"), "%s: %q", f.Code, line)
			assert.Lacks(t, line, "](", "%v", f.Code)
		}
	}

	for _, other := range []string{"README", "nonsense", "../keys", ""} {
		page := Finding(other, 76)
		assert.That(t, page == nil, "%s has a page: %q", other, page)
	}
}
