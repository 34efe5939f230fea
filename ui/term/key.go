package term

import (
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/press"
)

// Key is what a key does in one place, with its words in the footer. A disabled one does nothing at the moment. Footer,
// help, palette and docs/keys.md are made of these.
type Key struct {
	key.Binding
	Does   string         // in a sentence, for the help; "": the footer's words
	Hidden bool           // neither footer nor help name it, but it works
	Run    func() tea.Cmd // nil: a field or a dialog handles it
}

// On makes a key that runs something.
func On[F func() | func() tea.Cmd | func() tea.Msg](b key.Binding, does string, run F) Key {
	k := Key{Binding: b, Does: does}
	switch run := any(run).(type) {
	case func() tea.Cmd:
		k.Run = run
	case func() tea.Msg:
		k.Run = func() tea.Cmd { return run }
	case func():
		k.Run = func() tea.Cmd {
			run()
			return nil
		}
	}

	return k
}

// As gives it other words in the footer.
func (k Key) As(words string) Key {
	k.Binding = press.Describe(k.Binding, words)
	return k
}

// AsIf is As, if that holds.
func (k Key) AsIf(holds bool, words string) Key {
	if holds {
		return k.As(words)
	}
	return k
}

// When disables it unless it can be used now.
func (k Key) When(usable bool) Key {
	k.SetEnabled(usable && k.Enabled())
	return k
}

// Shown hides it unless it is worth naming now.
func (k Key) Shown(now bool) Key {
	k.Hidden = !now
	return k
}

// Named reports whether footer, help and palette name it.
func (k Key) Named() bool { return k.Enabled() && !k.Hidden }

// Named returns keys with their words in the footer, which a field or a dialog handles.
func Named(bindings ...key.Binding) []Key {
	keys := make([]Key, len(bindings))
	for i, b := range bindings {
		keys[i].Binding = b
	}
	return keys
}

// Press runs what a key press does, and reports whether it is one of the keys that can be used.
func Press(keys []Key, msg tea.KeyMsg) (cmd tea.Cmd, pressed bool) {
	for _, k := range keys {
		if press.Is(msg, k.Binding) {
			if k.Run != nil {
				cmd = k.Run()
			}
			return cmd, true
		}
	}

	return nil, false
}

// Offers reports whether a key press is one of the keys that can be used.
func Offers(keys []Key, msg tea.KeyMsg) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return press.Is(msg, k.Binding) })
}
