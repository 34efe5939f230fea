package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	minWidth, minHeight = 60, 16
	aboveScreen         = 3 // header, tabs, rule
	mostNotice          = 3 // lines of a notice; there is always one, so that an ordinary notice moves nothing
)

func (a app) tooSmall() bool { return a.width < minWidth || a.height < minHeight }

func (a *app) prepare() tea.Cmd {
	if a.tooSmall() || a.latest.Topology == nil {
		return nil
	}
	page := a.page()
	s, ok := page.Screen.(shell.Preparing)
	if !ok {
		return nil
	}
	return page.Asked(s.Prepare(a.width, a.height-aboveScreen-len(a.below())))
}

func (a app) below() []string {
	if a.palette.open {
		return a.palette.view(a.width)
	}
	return append(a.noticeLines(), a.footer())
}

// View draws the whole terminal from the state that Update left: it reads nothing, not even the clock.
func (a app) View() string {
	frame := a.Styles.Dress(a.frame())
	if a.Plain {
		frame = term.Undrawn(frame)
	}
	if a.Ascii {
		frame = term.ASCII(frame)
	}

	return frame
}

func (a app) frame() string {
	if a.width == 0 || a.Asking {
		return "" // the size or the background of the terminal is not known yet
	}
	if a.tooSmall() {
		words := fmt.Sprintf("dlxtop needs %d x %d, this is %d x %d.", minWidth, minHeight, a.width, a.height)
		next := press.Quit.Help().Key + " quits."
		if why := a.unfinished(); why != "" {
			next = press.Quit.Help().Key + " does " + why + "; " + press.ForceQuit.Help().Key + " quits."
		}
		return term.Block(term.Wrap(words+" "+next, a.width), a.width, a.height)
	}

	below := a.below()

	return strings.Join([]string{
		a.headerLine(),
		term.Pad(a.tabLine(), a.width),
		a.rule(),
		a.body(a.width, a.height-aboveScreen-len(below)),
		term.Block(below, a.width, len(below)),
	}, "\n")
}

func (a app) body(width, height int) string {
	if a.latest.Topology != nil {
		return a.top().View(width, height)
	}
	cause, next := a.poller.trouble()
	if cause == "" {
		return term.Block([]string{"", "   " + term.Muted.Render("reading the broker …")}, width, height)
	}
	lines := append([]string{""}, shell.Indented(term.Danger, cause, width)...)
	lines = append(lines, shell.Indented(term.Text, next, width)...)
	return term.Block(lines, width, height)
}

// headerLine has the colour of production on a context marked as such: on every screen.
func (a app) headerLine() string {
	line := term.Pad(a.header(), a.width)
	if a.Production {
		return term.Production.Under(line)
	}
	return line
}

// header says what is shown, how bad it is, and how old the data is. If there is little room the node's name is dropped
// first: what the user chose, and how fresh it is, must stay.
func (a app) header() string {
	between := "   "
	if a.width < 100 {
		between = "  "
	}

	left := []string{term.Title.Render(" dlxtop")}
	if title := model.Printable(a.Title); title != "" {
		if a.Production {
			left = append(left, term.Strong.Render(title+" production"))
		} else {
			left = append(left, term.Strong.Render(title))
		}
	}

	if a.ReadOnly {
		left = append(left, term.Warning.Render("read only"))
	}

	if n := a.RunningJobs(); n > 0 {
		left = append(left, term.Accent.Render(model.Plural(n, "job")))
	}
	if n := len(a.News); n > 0 {
		words := term.MarkWarning + " " + a.News[n-1].Kind
		if n > 1 {
			words += " +" + model.Count(n-1)
		}
		left = append(left, term.Warning.Render(words))
	}

	right := a.freshness() + between + a.Shown.Format("15:04:05") + " "
	if t := a.latest.Topology; t != nil {
		o := t.Snapshot.Overview
		vhost := term.Muted.Render("vhost ") + a.vhostName()
		right = a.findingsCount() + between + right
		if words := clusterWords(t.Snapshot); words != "" {
			right = term.Danger.Render(words) + between + right
		}

		width := func() int {
			return ansi.StringWidthWc(strings.Join(left, between) + between + between + vhost + between + right)
		}
		add := func(words string) {
			before := right
			right = words + between + right
			if a.Plain || width()+ansi.StringWidthWc(o.Version.String()) > a.width { // the screens have it
				right = before
			}
		}

		if n := t.Parked(); n > 0 {
			add(term.Muted.Render(model.Count(n) + " parked"))
		}
		if n := a.latest.Failed; n > 0 {
			add(term.Danger.Render(model.Count(n) + " failed"))
		}

		taken := width()
		version := o.Version.Words()
		node := model.Printable(o.Node) + " " + version
		also := ", AMQP " + model.Printable(o.AMQP)
		room := a.width - taken
		switch {
		case room < ansi.StringWidthWc(node):
			node = version
		case o.AMQP == "", strings.HasSuffix(o.Node, "@"+model.HostOf(o.AMQP)): // one node answers both
		case room >= ansi.StringWidthWc(node+also):
			node += also
		}

		left = append(left, node, vhost)
	}

	return term.Spread(strings.Join(left, between), between[1:]+right, a.width) // it adds a blank
}

func (a app) vhostName() string {
	if a.VHost != "" {
		return model.Printable(a.VHost)
	}
	vhosts := a.latest.Topology.Snapshot.VHosts
	switch len(vhosts) {
	case 0:
		return "?"
	case 1:
		return model.Printable(vhosts[0])
	default:
		return fmt.Sprintf("all %d", len(vhosts))
	}
}

// clusterWords say which resource is low, because publishers are then blocked and replays wait, and which nodes are not
// there as they should be.
func clusterWords(s *model.Snapshot) string {
	var short, words []string
	for _, a := range s.Alarms() {
		if resource := string(a.Resource); !slices.Contains(short, resource) {
			short = append(short, resource)
		}
	}

	if short != nil {
		words = append(words, strings.Join(short, ", ")+" alarm")
	}

	count := func(name string, is func(model.Node) bool) {
		n := 0
		for _, node := range s.Nodes {
			if is(node) {
				n++
			}
		}
		if n > 0 {
			words = append(words, fmt.Sprintf("%d of %d %s", n, len(s.Nodes), name))
		}
	}

	count("nodes down", func(n model.Node) bool { return !n.Running })
	count("cut off", func(n model.Node) bool { return len(n.Partitions) > 0 })
	count("in maintenance", func(n model.Node) bool { return n.Running && n.Drained })
	if words == nil {
		return ""
	}

	return term.MarkError + " " + strings.Join(words, ", ")
}

func (a app) findingsCount() string {
	var words []string
	for _, level := range []findings.Level{findings.LevelError, findings.LevelWarning, findings.LevelInfo} {
		if level == findings.LevelInfo && words != nil && a.width < 100 {
			break // worse ones need the room
		}
		n := 0
		for i := range a.latest.Findings {
			if a.latest.Findings[i].Level == level {
				n++
			}
		}

		name := model.Plural(n, string(level))
		if level == findings.LevelInfo {
			name = model.Count(n) + " info"
		}
		if a.width < 100 { // the screen of findings has the words
			name = model.Count(n)
		}
		if mark := shell.LevelMark(level); n > 0 {
			words = append(words, term.StyleOf(mark).Render(mark+" "+name))
		}
	}

	if words == nil {
		return term.Muted.Render("no findings")
	}

	return strings.Join(words, "  ")
}

// freshness says how old the data is and what is being done about it.
func (a app) freshness() string {
	p := &a.poller
	now := a.Shown
	if p.err != nil {
		next := "retry in " + shell.Age(max(0, p.next.Sub(now)))
		switch {
		case p.inFlight != 0:
			next = "trying …"
		case p.paused:
			next = "paused"
		}
		return term.Danger.Render("! lost " + shell.Age(now.Sub(p.lostAt)) + "  " + next)
	}

	switch {
	case p.last.Topology == nil:
		return term.Muted.Render("connecting …")
	case p.paused:
		return term.Warning.Render("paused, " + shell.Age(now.Sub(p.readAt)) + " old")
	}

	old := now.Sub(p.readAt)
	every := shell.RoundUp(p.pause)
	switch {
	case old > p.pause+2*p.took+2*time.Second:
		return term.Warning.Render("slow, " + shell.Age(old) + " old")
	case every > shell.RoundUp(a.Interval) && !a.Plain: // the broker is slow
		return term.Good.Render(shell.Age(old) + " old, every " + shell.Age(every))
	}

	return term.Good.Render("live " + model.ShortDuration(a.Interval))
}

// tabLine names the tabs and, at the right, the path to the visible screen.
func (a app) tabLine() string {
	tabs := strings.Join(a.tabLabels(), "")
	stack := a.tabs[a.tab].stack
	var path []string
	for _, screen := range stack[1:] {
		path = append(path, screen.Title())
	}
	if len(path) == 0 {
		return tabs
	}
	room := a.width - ansi.StringWidthWc(tabs) - 4
	way := strings.Join(path, " › ")
	if n := ansi.StringWidthWc(way); n > room {
		way = "…" + term.Behind(way, n-room+1)
	}

	return term.Spread(tabs, term.Strong.Render(way)+" ", a.width)
}

// tabLabels returns the tabs as drawn: the key, the name, and a count, each in its style.
func (a app) tabLabels() (labels []string) {
	between := " "
	if a.width < 80 {
		between = ""
	}

	for i := range a.tabs {
		count, look := "", term.Text
		if of := numbered[i].count; of != nil {
			if n, mark := of(a.latest); n > 0 {
				count, look = " "+model.Count(n), term.StyleOf(mark)
			}
		}

		help := shell.Screens[i].Help()
		name := help.Key + " " + strings.ToUpper(help.Desc[:1]) + help.Desc[1:]
		switch {
		case i == a.tab && a.Plain:
			labels = append(labels, between+"["+name+count+"]")
		case i == a.tab:
			labels = append(labels, between+term.Selected.Render(" "+name+count+" "))
		default:
			labels = append(labels, between+" "+name+look.Render(count)+" ")
		}
	}

	return labels
}

func (a app) rule() string {
	if a.poller.err == nil || a.poller.last.Topology == nil {
		return term.Border.Render(strings.Repeat("─", a.width))
	}
	words := fmt.Sprintf(" stale: this is how it was at %s, %s ago ",
		a.poller.readAt.Format("15:04:05"), shell.Age(a.Shown.Sub(a.poller.readAt)))
	rest := max(0, a.width-ansi.StringWidthWc(words)-3)
	return term.Danger.Render("───" + words + strings.Repeat("─", rest))
}

// noticeLines show what just happened, or else what is wrong with the connection: in full, because the next step is at
// the end, or as far as there is room, with a mark.
func (a app) noticeLines() []string {
	text, style := "", term.Strong
	cause, next := a.poller.trouble()
	switch {
	case a.notice.Text != "" && a.notice.Bad:
		text, style = "! "+a.notice.Text, term.Danger
	case a.notice.Text != "":
		text = a.notice.Text
	case a.waits != nil:
		text, style = "waits: "+a.waits.Words(), term.Warning
	case cause != "" && a.latest.Topology != nil:
		text, style = "! "+cause+": "+next, term.Danger
	case a.latest.Topology != nil && len(a.latest.Topology.Snapshot.Missing) > 0:
		text = "! not read: " + strings.Join(a.latest.Topology.Snapshot.Missing, "; ")
		style = term.Warning
	}

	lines := term.Wrap(text, a.width-2)
	if len(lines) > mostNotice {
		lines = lines[:mostNotice]
		lines[mostNotice-1] = term.Cut(lines[mostNotice-1]+" …", a.width-2)
	}

	for i := range lines {
		lines[i] = " " + style.Render(lines[i])
	}
	if lines == nil {
		return []string{""}
	}

	return lines
}

// hint is a key in the footer, with its columns there.
type hint struct {
	term.Key
	from, to int
}

// hintsOf returns keys from a column on, as many as fit.
func hintsOf(keys []term.Key, from, width int) (hints []hint) {
	end := from + width
	for _, b := range keys {
		if !b.Named() {
			continue
		}
		to := from + ansi.StringWidthWc(b.Help().Key+" "+b.Help().Desc)
		if to+hintGap > end {
			break
		}
		hints = append(hints, hint{b, from, to})
		from = to + hintGap
	}

	return hints
}

const hintGap = 2 // columns after a hint

// hints returns the active keys, most useful first, and at the right those that are always active.
func (a app) hints() (own, always []hint) {
	top := a.top()
	last := press.Describe(press.Quit, "quit")
	if len(a.tabs[a.tab].stack) > 1 {
		last = press.Describe(press.Quit, "back")
	}

	keys := term.Named(last, press.Help, press.Palette)
	if _, help := top.(*helpScreen); help {
		keys = keys[:1]
	}
	if !top.Typing() {
		always = hintsOf(keys, 0, a.width)
	}

	room := a.width
	if n := len(always); n > 0 {
		room -= always[n-1].to + hintGap
	}

	for i := range always {
		always[i].from += room
		always[i].to += room
	}

	if a.Plain && !top.Typing() {
		return nil, always // they change from row to row, and the help has them
	}

	return hintsOf(top.Keys(), 1, room-3), always
}

func (a app) footer() string {
	own, always := a.hints()
	write := func(hints []hint) string {
		text := " "
		for _, h := range hints {
			text += term.Accent.Render(h.Help().Key) + " " + h.Help().Desc + strings.Repeat(" ", hintGap)
		}
		return text
	}

	return term.Spread(write(own), write(always), a.width)
}

const wheelRows = 3 // how far one notch of the wheel moves in a list

const tabRow = 1 // the line of the terminal with the tabs

func (a *app) handleMouse(msg tea.MouseMsg) tea.Cmd {
	if !a.Mouse || a.tooSmall() || a.palette.open {
		return nil
	}
	switch {
	case msg.Button == tea.MouseButtonWheelUp:
		return a.wheel(tea.KeyUp)
	case msg.Button == tea.MouseButtonWheelDown:
		return a.wheel(tea.KeyDown)
	case msg.Action != tea.MouseActionPress || msg.Button != tea.MouseButtonLeft:
		return nil
	case msg.Y == a.height-1:
		return a.clickHint(msg.X)
	case a.top().Typing():
		return nil
	case msg.Y == tabRow:
		if i, ok := a.tabAt(msg.X); ok {
			a.notice = shell.NoticeMsg{}
			return a.show(i)
		}
		return nil
	}

	return a.click(msg.X, msg.Y-aboveScreen)
}

// clickHint presses the key that the footer shows in a column. Consent, and anything with a cost, needs a key: a mouse
// slips easily.
func (a *app) clickHint(x int) tea.Cmd {
	_, rows := a.top().(shell.Clickable) // enter opens one; elsewhere it agrees
	opens := rows && !a.top().Typing()
	own, always := a.hints()
	for _, h := range append(own, always...) {
		if x < h.from || x >= h.to || sharesKey(h.Binding, press.Insist) || !opens && sharesKey(h.Binding, press.Confirm) {
			continue
		}
		if pressed, ok := shell.PressOf(h.Keys()[0]); ok {
			return a.handleKey(pressed)
		}
	}

	return nil
}

func sharesKey(a, b key.Binding) bool {
	return slices.ContainsFunc(a.Keys(), func(name string) bool { return slices.Contains(b.Keys(), name) })
}

// wheel moves in a list or scrolls a text, through the keys for that.
func (a *app) wheel(direction tea.KeyType) tea.Cmd {
	rows := 1
	if _, list := a.top().(shell.Clickable); list {
		rows = wheelRows
	}

	var cmds []tea.Cmd
	for range rows {
		cmds = append(cmds, a.toScreen(tea.KeyMsg{Type: direction}))
	}

	return tea.Batch(cmds...)
}

// click puts the cursor on a row of the screen, and opens it at the second click.
func (a *app) click(x, y int) tea.Cmd {
	_, ok := a.top().(shell.Clickable)
	if !ok || y < 0 || y >= a.height-aboveScreen-len(a.below()) || a.latest.Topology == nil {
		return nil
	}
	cmd := a.toScreen(shell.ClickMsg{X: x, Y: y})
	if a.top().(shell.Clickable).Clicked() {
		return a.toScreen(tea.KeyMsg{Type: tea.KeyEnter})
	}

	return cmd
}

// tabAt returns the tab whose name is drawn in a column of the tab line.
func (a app) tabAt(x int) (i int, ok bool) {
	end := 0
	for i, label := range a.tabLabels() {
		if end += ansi.StringWidthWc(label); x < end {
			return i, true
		}
	}

	return 0, false
}

// withMouse enables the mouse again after a program that had the terminal: Bubble Tea 1.3.10 does not.
func (a app) withMouse(over func(error) tea.Msg) func(error) tea.Msg {
	if !a.Mouse {
		return over
	}
	return func(err error) tea.Msg {
		return tea.BatchMsg{tea.EnableMouseCellMotion, func() tea.Msg { return over(err) }}
	}
}
