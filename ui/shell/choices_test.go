package shell

import (
	"testing"
	"testing/synctest"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Choices are written in the order in which they were made, whichever command runs first.
func TestChoicesAreKeptInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &MarksInMemory{}
		e := &Env{Work: NewWork(t.Context()), Options: Options{Preferences: file}}
		hide := func(title string) tea.Cmd {
			return e.Keep(func(c *KeptChoices) { c.Hide(HideMsg{Screen: "flows", Titles: []string{title}}) })
		}
		first := hide("WAITING")
		second := hide("NEXT DUE")
		go second()
		synctest.Wait()
		first()
		synctest.Wait()
		text, err := file.Load()
		must.Do(t, err)
		assert.Equal(t, ChoicesIn(text).Hidden["flows"][0], "NEXT DUE", "the file is %s: %v", text, err)
	})
}

// A broker is asked about once, though not before it is known what was chosen at earlier starts, nor where something
// was.
func TestWhatWasChosenEarlierIsNotAskedAgain(t *testing.T) {
	e := &Env{Work: NewWork(t.Context()), Options: Options{Preferences: &MarksInMemory{}}}
	assert.That(t, !e.MayAskOnce("new"), "asked before the choices are known")

	e.Recall(KeptChoices{Looks: map[string]peek.Consent{"known": peek.WhileHalf}})
	assert.Equal(t, e.LookConsent("known"), peek.WhileHalf, "chosen earlier")
	assert.That(t, !e.MayAskOnce("known"), "asked again")
	assert.That(t, e.MayAskOnce("new"), "not asked about another broker")
	assert.That(t, !e.MayAskOnce("new"), "asked twice")

	e.ChooseLooks("known", peek.Always)
	assert.Equal(t, e.LookConsent("known"), peek.Always, "chosen since")
}
