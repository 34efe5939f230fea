package ui

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const paletteRows = 6 // suggestions; always as many, so that typing moves nothing

// palette is the command line that ":" opens. Below it stands what enter would do, and similar suggestions: commands,
// what keys do on this screen, flows and queues by name.
type palette struct {
	env   *shell.Env
	open  bool
	field term.TextField
	suggestions

	recall shell.Recall // of earlier commands

	names  map[string][]name // by command, as of when the palette was opened
	unread bool              // there is no broker yet whose names could be offered
}

// suggestions are those for the typed text.
type suggestions struct {
	found     []suggestion
	hidden    int    // how many more of them have no room
	at        int    // the one that enter takes
	completed bool   // it is in the field
	wrong     string // why enter did nothing; "" when it would do something
}

type suggestion struct {
	text string // as in the field, printable
	of   string // what follows it: "EXCHANGE"
	does string // printable
	run  effect // nil: an argument must follow
}

func (p *palette) begin(a *app) {
	p.open = true
	p.recall.Restart()
	p.names = map[string][]name{}
	p.unread = a.latest.Topology == nil
	p.field.Set("")
	p.search(a)
}

// refresh offers what a poll or an answer has brought. A completion by tab stays.
func (p *palette) refresh(a *app) {
	if !p.open || p.completed {
		return
	}
	if p.unread && a.latest.Topology != nil {
		p.unread, p.names = false, map[string][]name{}
	}

	chosen := ""
	if p.at < len(p.found) {
		chosen = p.found[p.at].text
	}

	p.search(a)
	p.at = max(0, slices.IndexFunc(p.found, func(s suggestion) bool { return s.text == chosen }))
}

// keepCommand keeps the text of a command before it runs: it may quit.
func keepCommand(text string, run effect) effect {
	return func(a *app) tea.Cmd {
		a.Commands.Add(text)
		keep := a.Keep(func(c *shell.KeptChoices) { c.Commands = shell.Remembered(c.Commands, text) })
		return tea.Sequence(keep, run(a))
	}
}

// handle handles a key while the palette is open, and returns what to run.
func (p *palette) handle(msg tea.KeyMsg, a *app) (chosen effect) {
	_, pressed := term.Press(p.keys(a, &chosen), msg)
	switch {
	case pressed:
	case msg.Type == tea.KeyPgUp:
		p.move(a, -paletteRows)
	case msg.Type == tea.KeyPgDown:
		p.move(a, paletteRows)
	case p.field.Update(msg):
		p.recall.Restart()
		p.search(a)
	}

	return chosen
}

// keys returns the keys of the line; chosen becomes what is to run.
func (p *palette) keys(a *app, chosen *effect) []term.Key {
	complete := func(by int) func() { return func() { p.complete(a, by) } }
	move := func(by int) func() { return func() { p.move(a, by) } }
	return []term.Key{
		term.On(press.Accept, "run the command", func() { *chosen = p.accept(a) }),
		term.On(press.Abandon, "close the line", p.close),
		term.On(press.Complete, "complete the command, or a name; again: the next one", complete(1)),
		term.On(press.CompleteBack, "complete the one before", complete(-1)),
		term.On(press.ChooseUp, "the suggestion before; from the first one, the command before", move(-1)),
		term.On(press.ChooseDown, "the suggestion after; in earlier commands, the command after", move(1)),
	}
}

func (p *palette) close() {
	p.open = false
	p.names = nil
	p.found = nil
}

// accept takes the first suggestion, or the completed one.
func (p *palette) accept(a *app) effect {
	switch {
	case strings.TrimSpace(p.field.Text()) == "":
		p.close()
		return nil
	case len(p.found) == 0:
		p.wrong = cmp.Or(p.wrong, p.nothing())
		return nil
	}

	chosen := p.found[p.at]
	if chosen.run == nil {
		p.complete(a, 1)
		return nil
	}
	p.close()
	return keepCommand(strings.TrimSpace(chosen.text), chosen.run)
}

func (p *palette) complete(a *app, by int) {
	if len(p.found) == 0 {
		return
	}
	if p.completed {
		p.at = (p.at + by + len(p.found)) % len(p.found)
	}

	chosen := p.found[p.at]
	p.field.Set(chosen.text)
	if p.completed = true; chosen.of != "" {
		p.field.Set(chosen.text + " ")
		p.search(a) // now for names
	}
}

// move goes through the suggestions, and from the first one up through earlier commands.
func (p *palette) move(a *app, by int) {
	if p.at == 0 && p.recall.Step(&p.field, min(max(by, -1), 1)) {
		p.search(a)
		return
	}
	p.at = max(0, min(p.at+by, len(p.found)-1))
}

// search finds suggestions for the typed text.
func (p *palette) search(a *app) {
	p.suggestions = suggestions{}
	typed := strings.TrimLeft(p.field.Text(), " ")
	word, argument, more := strings.Cut(typed, " ")

	all := slices.DeleteFunc(commands(), func(c command) bool {
		return c.name == "" || c.offline && len(c.names(a)) == 0
	})
	for c := range model.Each(all) {
		switch {
		case !more || c.name != word:
		case c.names != nil:
			p.offerNames(a, c, strings.TrimSpace(argument))
			return
		case c.text != nil:
			p.offerText(c, strings.TrimSpace(argument))
			return
		}
	}

	typed = strings.ToLower(strings.TrimSpace(typed))
	var begun []suggestion
	for _, c := range all {
		s := suggestion{text: c.name, of: strings.ToUpper(c.word), does: c.does, run: c.run}
		switch {
		case typed != "" && (c.name == typed || c.short == typed):
			p.found = append(p.found, s)
		case strings.HasPrefix(c.name, typed):
			begun = append(begun, s)
		}
	}

	if p.found = append(p.found, begun...); typed == "" {
		return
	}
	p.found = append(p.found, actions(a.top(), typed)...)
	for c := range model.Each(all) {
		if c.name == "flow" || c.name == "queue" {
			p.offerNames(a, c, typed)
		}
	}
}

func (p *palette) offerText(c *command, text string) {
	s := suggestion{text: c.name, of: strings.ToUpper(c.word), does: c.does}
	if text != "" {
		var err error
		if s.run, err = c.text(p.env, text); err != nil {
			p.wrong = model.Printable(err.Error())
			return
		}
		s.text, s.of = c.name+" "+text, ""
	}

	p.found = append(p.found, s)
}

func (p *palette) offerNames(a *app, c *command, typed string) {
	if a.latest.Topology == nil && !c.offline {
		return
	}
	names, known := p.names[c.name]
	if !known {
		names = c.names(a)
		p.names[c.name] = names
	}

	found, all := nearest(names, typed)
	p.hidden += all - len(found)
	for _, n := range found {
		p.found = append(p.found, suggestion{
			text: c.name + " " + n.shown, does: n.in, run: func(a *app) tea.Cmd { return c.open(a, n) },
		})
	}
}

// actions returns what keys of a screen do, if their words match the typed text. Keys for what is under the cursor of a
// dialog, like enter, are left out.
func actions(of shell.Screen, typed string) []suggestion {
	var found []suggestion
	for _, b := range of.Keys() {
		words := b.Help().Desc
		if !b.Named() || slices.Contains(wordless, b.Keys()[0]) || nearness(strings.ToLower(words), typed) > contains {
			continue
		}
		pressed, ok := shell.PressOf(b.Keys()[0])
		if !ok {
			continue
		}
		found = append(found, suggestion{
			text: words, does: "key " + b.Help().Key,
			run: func(a *app) tea.Cmd { return a.handleKey(pressed) },
		})
	}

	return found
}

// wordless are keys for which words are not enough.
var wordless = []string{"enter", "esc", "tab", "shift+tab", "up", "down", "left", "right"}

func (p palette) nothing() string {
	word, argument, _ := strings.Cut(strings.TrimSpace(p.field.Text()), " ")
	for _, c := range commands() {
		if c.name == word && c.names != nil && (c.offline || !p.unread) {
			return "there is no " + c.word + " " + model.Printable(strings.TrimSpace(argument))
		}
	}

	if p.unread {
		return "no such command, and the broker has not been read yet"
	}

	return "no command, flow or queue has that name"
}

// view returns the typed text, and its suggestions.
func (p palette) view(width int) []string {
	hints := term.Muted.Render("tab completes   ↑ ↓ choose, earlier ones   esc closes ")
	if ansi.StringWidthWc(p.field.Text()) > width-6-ansi.StringWidthWc(hints) {
		hints = ""
	}

	room := width - 4 - ansi.StringWidthWc(hints)
	lines := []string{term.Spread(term.Accent.Render(" : ")+p.field.View(room), hints, width)}
	first := max(0, min(p.at-paletteRows+2, len(p.found)-paletteRows))
	texts := 0
	for _, c := range p.found[first:min(first+paletteRows, len(p.found))] {
		texts = max(texts, ansi.StringWidthWc(c.text+" "+c.of))
	}

	texts = min(texts, width*3/5)
	for i := first; i < min(first+paletteRows, len(p.found)); i++ {
		c := p.found[i]
		mark, look := "  ", term.Text
		if i == p.at {
			mark = term.Accent.Render(term.MarkCursor) + " "
			look = term.Strong
		}

		text := term.CutMiddle(c.text, texts)
		if c.of != "" {
			text += " " + c.of
		}

		line := " " + mark + look.Render(term.Pad(text, texts)) + "   " + term.Muted.Render(c.does)
		if i == first+paletteRows-1 && (i < len(p.found)-1 || p.hidden > 0) {
			count := model.Count(len(p.found)-i-1+p.hidden) + " more "
			line = term.Spread(term.Cut(line, width-len(count)-1), term.Muted.Render(count), width)
		}

		lines = append(lines, term.Cut(line, width))
	}

	if len(p.found) == 0 {
		words := p.wrong
		if words == "" {
			words = p.nothing()
		}
		lines = append(lines, "   "+term.Cut(term.Danger.Render(term.MarkError+" "+words), width-4))
	}

	for len(lines) < paletteRows+1 {
		lines = append(lines, "")
	}

	return lines
}
