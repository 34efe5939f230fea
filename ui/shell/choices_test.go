package shell

import (
	"testing"
	"testing/synctest"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// Choices are written in the order in which they were made, whichever command runs first.
func TestChoicesAreKeptInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &MarksInMemory{}
		e := &Env{Work: NewWork(t.Context()), Memory: Memory{Choices: file}}
		hide := func(title string) tea.Cmd {
			return e.Keep(func(c *KeptChoices) { c.Hide(HideMsg{Screen: "flows", Titles: []string{title}}) })
		}
		first, second := hide("WAITING"), hide("NEXT DUE")
		go second()
		synctest.Wait()
		first()
		synctest.Wait()
		text, err := file.Load()
		assert.That(t, err == nil && ChoicesIn(text).Hidden["flows"][0] == "NEXT DUE", "the file is %s: %v", text, err)
	})
}
