package shell

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	longestCommand = 1000 // bytes of a remembered command
	MostCommands   = 200  // remembered commands
	KeepingTime    = 5 * time.Second
)

// KeptChoices are what the dashboard remembers between starts, as JSON in a file.
type KeptChoices struct {
	Commands []string            `json:"commands,omitempty"`       // of the palette, the newest last
	Programs []string            `json:"programs,omitempty"`       // of jq, that edited messages; the newest last
	Hidden   map[string][]string `json:"hidden_columns,omitempty"` // titles, by the screen's name
	// when looks that use up delivery limits begin by themselves, by cluster
	Looks map[string]peek.Consent `json:"looks,omitempty"`
}

// ChoicesIn returns the choices in a file. A damaged or foreign file has none.
func ChoicesIn(text []byte) KeptChoices {
	var c KeptChoices
	if json.Unmarshal(text, &c) != nil {
		return KeptChoices{}
	}
	c.Commands, c.Programs = rememberable(c.Commands), rememberable(c.Programs)
	maps.DeleteFunc(c.Looks, func(_ string, by peek.Consent) bool {
		_, err := peek.ConsentOf(string(by))
		return err != nil
	})

	return c
}

// rememberable returns the texts of a file short enough to be remembered.
func rememberable(texts []string) (past []string) {
	for _, text := range texts {
		if len(text) <= longestCommand {
			past = Remembered(past, text)
		}
	}

	return past
}

func (c *KeptChoices) Hide(msg HideMsg) {
	if model.Put(&c.Hidden, msg.Screen, msg.Titles); len(msg.Titles) == 0 {
		delete(c.Hidden, msg.Screen)
	}
}

type (
	// ChoicesMsg brings the choices of earlier starts.
	ChoicesMsg struct{ Choices KeptChoices }
	// UnkeptMsg says that a choice could not be stored.
	UnkeptMsg struct{ Err error }
	// HideMsg hides these columns of a screen, and shows its others.
	HideMsg struct {
		Screen string
		Titles []string
	}
)

func (e *Env) LoadChoices() tea.Cmd {
	if e.Preferences == nil {
		return nil
	}

	return e.Command(KeepingTime, func(context.Context) tea.Msg {
		text, err := e.Preferences.Load()
		if err != nil {
			return ChoicesMsg{} // only the first failure to store a choice is reported
		}
		return ChoicesMsg{ChoicesIn(text)}
	})
}

// Keep changes the file of choices, after the changes that were asked for before. It keeps what another dlxtop has
// written since.
func (e *Env) Keep(how func(*KeptChoices)) tea.Cmd {
	if e.Preferences == nil {
		return nil
	}
	before, done := e.keeping, make(chan struct{})
	e.keeping = done

	return e.Command(KeepingTime, func(ctx context.Context) tea.Msg {
		defer close(done)
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
			}
		}

		_, err := e.Preferences.Change(func(text []byte) ([]byte, error) {
			c := ChoicesIn(text)
			how(&c)
			changed, err := json.MarshalIndent(c, "", "  ")
			return append(changed, '\n'), err
		})
		if err != nil {
			return UnkeptMsg{err}
		}
		return nil
	})
}

// Past is what was typed earlier in a field, the newest last.
type Past struct{ texts []string }

func (p *Past) Add(text string) { p.texts = Remembered(p.texts, text) }

// Precede puts texts of earlier starts before those of this one.
func (p *Past) Precede(texts []string) {
	for _, text := range p.texts {
		texts = Remembered(texts, text)
	}
	p.texts = texts
}

func (p *Past) Recall() Recall { return Recall{past: p, at: len(p.texts)} }

// Recall steps through earlier texts in a field. After the newest comes what was typed.
type Recall struct {
	past  *Past
	at    int    // which of them is in the field; their number for none
	draft string // what was typed before the first step back
}

// Restart forgets what was typed before these texts were stepped through.
func (r *Recall) Restart() { *r = r.past.Recall() }

// Step goes to a later text, or to an earlier one if by is negative, and reports whether there is one.
func (r *Recall) Step(field *term.TextField, by int) bool {
	to, past := r.at+by, r.past.texts
	if to < 0 || to > len(past) {
		return false
	}
	if r.at == len(past) {
		r.draft = field.Text()
	}

	r.at = to
	field.Set(append(slices.Clone(past), r.draft)[to])
	return true
}

// Remembered appends a command to the earlier ones, only once if it is repeated.
func Remembered(past []string, text string) []string {
	if n := len(past); text == "" || n > 0 && past[n-1] == text {
		return past
	}
	past = append(past[:len(past):len(past)], text)
	return past[max(0, len(past)-MostCommands):]
}
