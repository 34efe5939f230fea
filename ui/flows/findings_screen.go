package flows

import (
	"cmp"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/docs"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// findingsScreen lists what is wrong or risky, with the evidence and the remedy of the finding at the cursor.
type findingsScreen struct {
	env    *shell.Env
	list   term.List[findings.Identity, findingRow]
	latest shell.TopologyMsg
	short  map[string]string // what each code means
}

type findingRow struct {
	findings.Finding
	title string // what the code means, then what this finding says
	place int    // in the order of the model: level, code, queue
}

func NewFindingsScreen(e *shell.Env) shell.Screen {
	rows := term.NewTable(e.Kit(),
		func(r findingRow) findings.Identity { return r.Identity() },
		func(a, b findingRow) int { return cmp.Compare(a.place, b.place) }, findingColumns(e.Styles)...)
	short := map[string]string{}
	for _, f := range docs.Findings() {
		short[f.Code] = f.Short
	}
	return findingsScreen{env: e, short: short, list: term.NewList(rows, func(r findingRow) []string {
		return []string{r.Code, r.where(), r.title, string(r.Level)}
	})}
}

func findingColumns(s *term.Styles) []term.Column[findingRow] {
	return []term.Column[findingRow]{
		{
			Title: "LEVEL", Width: 9,
			Cell: func(r findingRow) term.Field {
				mark := shell.LevelMark(r.Level)
				return term.Field{Text: mark + " " + string(r.Level), Style: s.Mark(mark)}
			},
			Compare: func(a, b findingRow) int { return cmp.Compare(a.place, b.place) },
		},
		{
			Title: "WHERE", Width: 18, Flex: 2, Max: 40, Middle: true,
			Cell:    func(r findingRow) term.Field { return term.Field{Text: r.where(), Style: s.Text} },
			Compare: func(a, b findingRow) int { return cmp.Compare(a.where(), b.where()) },
		},
		{
			Title: "WHAT", Width: 20, Flex: 5,
			Cell:    func(r findingRow) term.Field { return term.Field{Text: r.title, Style: s.Text} },
			Compare: func(a, b findingRow) int { return cmp.Compare(a.Code, b.Code) },
		},
	}
}

// where is the queue or the exchange that the finding is about.
func (r findingRow) where() string {
	switch {
	case r.Queue != "":
		return model.Printable(model.QueueRef{VHost: r.VHost, Name: r.Queue}.String())
	case r.Exchange != "":
		return "exchange " + model.Printable(r.Exchange)
	case r.Node != "":
		return "node " + model.Printable(r.Node)
	}
	return "broker"
}

func (f findingsScreen) Init() tea.Cmd { return nil }

func (f findingsScreen) Title() string { return "findings" }

func (f findingsScreen) Typing() bool { return f.list.Filter.Typing }

func (f findingsScreen) Keys() []key.Binding {
	if _, ok := f.list.Table.Current(); ok {
		return f.list.Bindings(term.Describe(f.env.Keys.Open, "what it means"))
	}
	return f.list.Bindings()
}

// about opens the flow of a finding, else the messages of its queue; nil: it is about neither.
func (f findingsScreen) about(r *findingRow) (opens func() shell.Screen, what string) {
	if r.Queue == "" {
		return nil, ""
	}
	ref := model.QueueRef{VHost: r.VHost, Name: r.Queue}
	if flow, ok := f.latest.Topology.FlowOf(ref); ok {
		return func() shell.Screen { return NewFlowScreen(f.env, flow.Worker.Queue) }, "open the flow"
	}
	return func() shell.Screen { return messages.NewScreen(f.env, ref) }, "messages"
}

func (f findingsScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		f.latest = msg
		rows := make([]findingRow, len(msg.Findings))
		for i, finding := range msg.Findings {
			title := model.Printable(finding.Message)
			if short := f.short[finding.Code]; short != "" {
				title = short + " · " + title
			}
			rows[i] = findingRow{finding, title, i}
		}
		f.list.Table.Set(rows)
	case tea.KeyMsg:
		if f.list.Handle(msg) {
			return f, nil
		}
		if r, ok := f.list.Table.Current(); ok && term.Is(msg, f.env.Keys.Open) {
			opens, what := f.about(&r)
			return f, shell.Push(newExplainScreen(f.env, r.Code, opens, what))
		}
	}
	return f, nil
}

// Rest implements resting.
func (f findingsScreen) Rest() shell.Screen {
	f.latest = shell.TopologyMsg{}
	f.list.Table.Rest()
	return f
}

func (f findingsScreen) View(width, height int) string {
	if len(f.list.Table.All) == 0 {
		s := f.env.Styles
		return f.list.View(width, height, []string{
			"", "   " + s.Strong.Render("No findings."), "",
			"   Nothing in the topology loses messages or is likely to.",
		})
	}
	rows := f.list.Rows(height, min(height/2, 12))
	return term.Below(f.list.View(width, rows, nil), f.detail(width), width, height)
}

// detail has the finding in full.
func (f findingsScreen) detail(width int) []string {
	s := f.env.Styles
	r, ok := f.list.Table.Current()
	if !ok {
		return f.list.Aimless("finding", width)
	}
	lines := []string{term.Partition(s, model.Printable(r.Code)+"  "+r.where(), f.list.Table.Position(), width)}
	for _, p := range []struct{ name, text string }{
		{"what", shell.Happening(&r.Finding)},
		{"evidence", r.Evidence},
		{"remedy", r.Remedy},
		{"more", f.env.Keys.Open.Help().Key + " explains it, as dlxtop explain " + r.Code + " does"},
	} {
		for i, line := range term.Wrap(model.Printable(p.text), width-16) {
			name := ""
			if i == 0 {
				name = p.name
			}
			lines = append(lines, "   "+s.Muted.Render(term.Fit(name, 10, false, false))+line)
		}
	}
	return lines
}

// Click implements clickable.
func (f findingsScreen) Click(x, y int) (shell.Screen, bool) {
	again := f.list.Table.Click(x, y)
	return f, again
}
