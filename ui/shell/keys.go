package shell

import (
	"strconv"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/ui/term"
)

// Tabs are the names of the numbered screens; the tabs capitalize them.
var Tabs = [...]string{"flows", "queues", "failed", "findings", "journal"}

// KeyMap holds every key of the program. It is the only place where keys have names: handlers match these bindings, and
// the footer and the help are generated from them.
type KeyMap struct {
	term.ListKeys

	// On a list and in a text field.
	Open         key.Binding `keys:"enter" does:"open"`
	Complete     key.Binding `keys:"tab" does:"complete"`
	CompleteBack key.Binding `keys:"shift+tab" does:"complete the one before"`

	// On messages.
	Replay    key.Binding `keys:"r" does:"replay"`
	ReplayAll key.Binding `keys:"R" does:"replay all shown"`
	Drop      key.Binding `keys:"d" does:"drop"`
	DropAll   key.Binding `keys:"D" does:"drop all shown"`
	Copy      key.Binding `keys:"y" does:"copy"`
	Failed    key.Binding `keys:"f" does:"failed messages"`
	NextPane  key.Binding `keys:"tab" does:"next pane"`
	PrevPane  key.Binding `keys:"shift+tab" does:"previous pane"`
	Peek      key.Binding `keys:"ctrl+r" does:"read again"`
	Causes    key.Binding `keys:"F" does:"causes of failures"`
	More      key.Binding `keys:"M" does:"read more"`
	Insist    key.Binding `keys:"i" does:"insist"`
	Earlier   key.Binding `keys:"left,h" does:"message before"`
	Later     key.Binding `keys:"right,l" does:"message after"`
	Tap       key.Binding `keys:"t" does:"tap"`
	Move      key.Binding `keys:"m" does:"move"`
	Edit      key.Binding `keys:"e" does:"edit"`
	Mend      key.Binding `keys:"E" does:"edit many"`
	Export    key.Binding `keys:"x" does:"export"`
	Raw       key.Binding `keys:"b" does:"raw body"`
	Fold      key.Binding `keys:"z" does:"fold the body"`

	// On causes.
	Resolve key.Binding `keys:"o" does:"resolved"`
	Ignore  key.Binding `keys:"O" does:"ignore"`
	Note    key.Binding `keys:"W" does:"write a note"`

	// On failed queues: when looks begin by themselves.
	Looks     key.Binding `keys:"L" does:"when to look"`
	AskEach   key.Binding `keys:"1" does:"ask each time"`
	WhileHalf key.Binding `keys:"2" does:"while half is left"`
	Always    key.Binding `keys:"3" does:"always"`

	// What to copy of a message.
	CopyBody    key.Binding `keys:"b" does:"body"`
	CopyHeaders key.Binding `keys:"h" does:"headers"`
	CopyID      key.Binding `keys:"i" does:"message id"`
	CopyJSON    key.Binding `keys:"j" does:"JSON"`

	// On a flow.
	Chart key.Binding `keys:"c" does:"chart"`

	// In a dialog.
	Confirm    key.Binding `keys:"enter" does:"do it"`
	Target     key.Binding `keys:"tab" does:"other target"`
	Cancel     key.Binding `keys:"esc" does:"back"`
	ChooseUp   key.Binding `keys:"up,ctrl+p" does:"up"`
	ChooseDown key.Binding `keys:"down,ctrl+n" does:"down"`
	Canary     key.Binding `keys:"c" does:"canary"`
	CanaryWait key.Binding `keys:"w" does:"how long the canary waits"`
	KeepTries  key.Binding `keys:"t" does:"keep tries"`
	Doubles    key.Binding `keys:"b" does:"copies, too"`
	Spread     key.Binding `keys:"o" does:"spread"`
	GoOn       key.Binding `keys:"enter" does:"do not wait longer"`

	// Everywhere.
	Screens    [len(Tabs)]key.Binding
	NextScreen key.Binding `keys:"tab" does:"next screen"`
	PrevScreen key.Binding `keys:"shift+tab" does:"previous screen"`
	Back       key.Binding `keys:"esc" does:"back"`
	Last       key.Binding `keys:"-" does:"last screen"`
	Quit       key.Binding `keys:"q" does:"back, or quit"`
	ForceQuit  key.Binding `keys:"ctrl+c" does:"quit"`
	Help       key.Binding `keys:"?" does:"help"`
	Palette    key.Binding `keys:":" does:"command"`
	Pause      key.Binding `keys:"p" does:"pause"`
	ReadNow    key.Binding `keys:"ctrl+r" does:"read again now"`
	Undo       key.Binding `keys:"u" does:"undo"`
	Resume     key.Binding `keys:"r" does:"resume"`
	Brokers    key.Binding `keys:"b" does:"all brokers"`
	Suspend    key.Binding `keys:"ctrl+z" does:"suspend"`
}

func NewKeyMap() *KeyMap {
	k := &KeyMap{}
	term.Bind(k)
	term.Bind(&k.ListKeys)
	for i, name := range Tabs {
		number := strconv.Itoa(i + 1)
		k.Screens[i] = term.Binding(name, number)
	}

	return k
}

// Body returns the keys that change how a body is shown: each switches to the other state.
func (k *KeyMap) Body(raw, folded *bool, changed func()) []term.Key {
	turn := func(state *bool) func() {
		return func() {
			*state = !*state
			changed()
		}
	}

	return []term.Key{
		term.On(k.Raw, "the body as it lies in the queue; again: decoded", turn(raw)).AsIf(*raw, "read body"),
		term.On(k.Fold, "fold the body to its outermost level; again: all of it", turn(folded)).
			AsIf(*folded, "unfold the body"),
	}
}

// Unless makes a key say why it cannot be used now; "" changes nothing.
func Unless(why string, k term.Key) term.Key {
	if why == "" {
		return k
	}
	k.Run = func() tea.Cmd { return Notice(why, true) }
	return k.Shown(false)
}

func PressOf(name string) (tea.KeyMsg, bool) {
	if runes := []rune(name); len(runes) == 1 {
		press := tea.KeyMsg{Type: tea.KeyRunes, Runes: runes}
		if name == " " {
			press.Type = tea.KeySpace
		}
		return press, true
	}

	for t := tea.KeyType(-128); t < 128; t++ {
		if press := (tea.KeyMsg{Type: t}); press.String() == name {
			return press, true
		}
	}

	return tea.KeyMsg{}, false
}
