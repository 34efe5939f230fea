package cause

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// errorGroup are texts of errors that have one cause.
type errorGroup struct {
	name  string
	texts []string
}

func readGroups(t testing.TB) (groups []errorGroup, texts int) {
	t.Helper()
	file := must.Get(os.ReadFile("testdata/errors.txt"))(t)
	plain := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\x1b`, "\x1b")
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSuffix(line, "\n")
		if name, begins := strings.CutPrefix(line, "== "); begins {
			groups = append(groups, errorGroup{name: name})
		} else if line != "" && line[0] != '#' {
			at := &groups[len(groups)-1]
			at.texts = append(at.texts, plain.Replace(line))
			texts++
		}
	}
	return groups, texts
}

// known are groups that Fold gets wrong, each with why that is accepted.
var known = map[string]string{}

// TestErrorsFoldToTheirCauses: texts of one cause fold to one text, and texts of two causes to two.
func TestErrorsFoldToTheirCauses(t *testing.T) {
	groups, texts := readGroups(t)
	must.That(t, texts >= 200 && len(groups) >= 100, "%d texts in %d groups are not the table", texts, len(groups))
	split, merged := 0, 0
	owner := map[string]string{}
	for _, g := range groups {
		var folds []string
		for _, text := range g.texts {
			if folded := Fold(headOf(text)); !slices.Contains(folds, folded) {
				folds = append(folds, folded)
			}
		}
		if len(folds) > 1 {
			split++
			assert.That(t, known[g.name] != "", "%s is split:\n\t%s", g.name, strings.Join(folds, "\n\t"))
		}
		for _, folded := range folds {
			if other, taken := owner[folded]; taken {
				merged++
				assert.That(t, known[g.name] != "", "%s and %s are merged: %s", other, g.name, folded)
			}
			owner[folded] = g.name
			assert.That(t, model.Printable(folded) == folded && len(folded) <= mostFolded,
				"%s: %q is not printable, or has %d bytes", g.name, folded, len(folded))
		}
	}
	t.Logf("%d texts of %d causes: split %d (%.1f%%), merged %d (%.1f%%)", texts, len(groups),
		split, 100*float64(split)/float64(len(groups)), merged, 100*float64(merged)/float64(len(groups)))
}
