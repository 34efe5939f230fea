package ui

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	longestCommand = 1000 // bytes of one that is remembered
	mostCommands   = 200  // that are remembered
	keepingTime    = 5 * time.Second
)

// keptChoices are what the dashboard remembers from start to start, as JSON in a file.
type keptChoices struct {
	Commands []string            `json:"commands,omitempty"`       // of the palette, the newest last
	Programs []string            `json:"programs,omitempty"`       // of jq, that edited messages; the newest last
	Hidden   map[string][]string `json:"hidden_columns,omitempty"` // titles, by the screen's name
}

// choicesIn are those of a file. A file that is damaged, or not one of ours, has none.
func choicesIn(text []byte) keptChoices {
	var c keptChoices
	if json.Unmarshal(text, &c) != nil {
		return keptChoices{}
	}
	c.Commands, c.Programs = rememberable(c.Commands), rememberable(c.Programs)
	return c
}

// rememberable are the texts of a file that are remembered.
func rememberable(texts []string) (past []string) {
	for _, text := range texts {
		if len(text) <= longestCommand {
			past = remembered(past, text)
		}
	}
	return past
}

// hide notes the columns that are hidden on a screen.
func (c *keptChoices) hide(msg hideMsg) {
	if c.Hidden == nil {
		c.Hidden = map[string][]string{}
	}
	if c.Hidden[msg.screen] = msg.titles; len(msg.titles) == 0 {
		delete(c.Hidden, msg.screen)
	}
}

// keeper changes the file of choices, one change after the other. What another dlxtop has written since is kept.
type keeper struct {
	mu   sync.Mutex
	file Kept // nil: nothing is kept
}

func (k *keeper) change(how func(*keptChoices)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := k.file.Load()
	if err != nil {
		return err
	}
	c := choicesIn(text)
	how(&c)
	if text, err = json.MarshalIndent(c, "", "  "); err != nil {
		return err
	}
	return k.file.Save(append(text, '\n'))
}

type (
	// choicesMsg brings the choices of earlier starts.
	choicesMsg struct{ choices keptChoices }
	// unkeptMsg says that a choice could not be kept.
	unkeptMsg struct{ err error }
	// hideMsg hides these columns of a screen, and shows its others.
	hideMsg struct {
		screen string
		titles []string
	}
)

// loadChoices reads what earlier starts have kept.
func (e *env) loadChoices() tea.Cmd {
	if e.keeper.file == nil {
		return nil
	}
	return e.command(keepingTime, func(context.Context) tea.Msg {
		text, err := e.keeper.file.Load()
		if err != nil {
			return nil // the first choice that cannot be kept says so
		}
		return choicesMsg{choicesIn(text)}
	})
}

// keep changes what the next start will find.
func (e *env) keep(how func(*keptChoices)) tea.Cmd {
	if e.keeper.file == nil {
		return nil
	}
	return e.command(keepingTime, func(context.Context) tea.Msg {
		if err := e.keeper.change(how); err != nil {
			return unkeptMsg{err}
		}
		return nil
	})
}

// remembered adds a command to the earlier ones. Done twice in a row, it is there once.
func remembered(past []string, text string) []string {
	if n := len(past); text == "" || n > 0 && past[n-1] == text {
		return past
	}
	past = append(past[:len(past):len(past)], text)
	return past[max(0, len(past)-mostCommands):]
}
