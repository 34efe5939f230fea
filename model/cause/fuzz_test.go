package cause

import (
	"testing"

	"dlxtop/internal/limit"
	"dlxtop/model"
)

// Any text folds to one printable line of bounded length, and the same one when it is folded again.
func FuzzFold(f *testing.F) {
	groups, _ := readGroups(f)
	for _, g := range groups {
		f.Add(g.texts[0])
	}
	f.Fuzz(func(t *testing.T, text string) {
		var folded string
		limit.Keep(t, len(text), func() { folded = Fold(text) })
		if len(folded) > mostFolded || model.Printable(folded) != folded {
			t.Errorf("%q is folded to %q", text, folded)
		}
		if again := Fold(text); again != folded {
			t.Errorf("%q is folded to %q and to %q", text, folded, again)
		}
		c := Of(failed(text))
		for _, s := range []string{c.Kind, c.Text, c.Frame} {
			if model.Escaped(s) != s || len(s) > mostFolded {
				t.Errorf("%q has the cause %+v", text, c)
			}
		}
		if !Is(failed(text), c.ID()) {
			t.Errorf("%q is not of its own cause", text)
		}
	})
}
