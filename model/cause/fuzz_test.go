package cause

import (
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/model"
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
		assert.That(t, len(folded) <= mostFolded && model.Printable(folded) == folded, "%q is folded to %q", text, folded)
		assert.Equal(t, Fold(text), folded, "%q is folded to", text)
		c := Of(mail, failed(text))
		for _, s := range []string{c.Kind, c.Text, c.Frame} {
			assert.That(t, model.Escaped(s) == s && len(s) <= mostFolded, "%q has the cause %+v", text, c)
		}
		assert.That(t, Is(mail, failed(text), c.ID()), "%q is not of its own cause", text)
	})
}

// Whatever is in a file that claims to be an index: it is refused, and nothing is added, or all that it says is, and is
// kept again as it was.
func FuzzRecall(f *testing.F) {
	_, kept := keptMail()
	f.Add(kept[len(indexMagic) : len(kept)-4])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		text := sealed(append([]byte(indexMagic), content...))
		g := NewGroups()
		var e Earlier
		var err error
		limit.Keep(t, len(text), func() { e, err = g.Recall(text, "rabbit@one", mail) })
		if err != nil {
			if g.Read() != 0 || len(g.List()) != 0 {
				t.Errorf("%d messages were added: %v", g.Read(), err)
			}
			return
		}
		if g.Read() != e.Messages {
			t.Errorf("%d messages are here of %d", g.Read(), e.Messages)
		}
		again := NewGroups()
		if kept := g.Keep("rabbit@one", mail, e); kept != nil {
			same, err := again.Recall(kept, "rabbit@one", mail)
			assert.That(t, err == nil && same == e, "it keeps %+v as %+v: %v", e, same, err)
		}
	})
}
