package ui

import (
	"cmp"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/term"
)

// findingsScreen lists what is wrong or risky, with the evidence and the remedy of the finding at the cursor.
type findingsScreen struct {
	env    *env
	list   term.List[findings.Identity, findingRow]
	latest topologyMsg
}

type findingRow struct {
	findings.Finding
	place int // in the order of the model: level, code, queue
}

func newFindingsScreen(e *env) screen {
	rows := term.NewTable(e.kit(),
		func(r findingRow) findings.Identity { return r.Identity() },
		func(a, b findingRow) int { return cmp.Compare(a.place, b.place) }, findingColumns(e.styles)...)
	return findingsScreen{env: e, list: term.NewList(rows, func(r findingRow) []string {
		return []string{r.Code, r.where(), r.Message, string(r.Level)}
	})}
}

func findingColumns(s *term.Styles) []term.Column[findingRow] {
	return []term.Column[findingRow]{
		{
			Title: "LEVEL", Width: 9,
			Cell: func(r findingRow) term.Field {
				mark := levelMark(r.Level)
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
			Cell:    func(r findingRow) term.Field { return term.Field{Text: model.Printable(r.Message), Style: s.Text} },
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

// Keys depend on the finding at the cursor: only one about a queue leads somewhere.
func (f findingsScreen) Keys() []key.Binding {
	if r, ok := f.list.Table.Current(); ok && r.Queue != "" {
		what := "messages"
		if _, ok := f.latest.topology.FlowOf(model.QueueRef{VHost: r.VHost, Name: r.Queue}); ok {
			what = "open the flow"
		}
		return f.list.Bindings(term.Describe(f.env.keys.Open, what), f.env.keys.Explain)
	} else if ok {
		return f.list.Bindings(f.env.keys.Explain)
	}
	return f.list.Bindings()
}

func (f findingsScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		f.latest = msg
		rows := make([]findingRow, len(msg.findings))
		for i, finding := range msg.findings {
			rows[i] = findingRow{finding, i}
		}
		f.list.Table.Set(rows)
	case tea.KeyMsg:
		if f.list.Handle(msg) {
			return f, nil
		}
		r, ok := f.list.Table.Current()
		if ok && term.Is(msg, f.env.keys.Explain) {
			return f, push(newExplainScreen(f.env, r.Code))
		}
		if ok && r.Queue != "" && term.Is(msg, f.env.keys.Open) {
			ref := model.QueueRef{VHost: r.VHost, Name: r.Queue}
			if flow, ok := f.latest.topology.FlowOf(ref); ok {
				return f, push(newFlowScreen(f.env, flow.Worker.Queue))
			}
			return f, push(newMessagesScreen(f.env, ref))
		}
	}
	return f, nil
}

// Rest implements resting.
func (f findingsScreen) Rest() screen {
	f.latest = topologyMsg{}
	f.list.Table.Rest()
	return f
}

func (f findingsScreen) View(width, height int) string {
	if len(f.list.Table.All) == 0 {
		s := f.env.styles
		return f.list.View(width, height, []string{
			"", "   " + s.Strong.Render("No findings."), "",
			"   Nothing in the topology loses messages or is likely to.",
		})
	}
	rows := f.list.Rows(height, min(height/2, 12))
	return f.list.View(width, rows, nil) + "\n" + term.Block(f.detail(width), width, height-rows)
}

// detail has the finding in full.
func (f findingsScreen) detail(width int) []string {
	s := f.env.styles
	r, ok := f.list.Table.Current()
	if !ok {
		return f.list.Aimless("finding", width)
	}
	lines := []string{term.Partition(s, model.Printable(r.Code)+"  "+r.where(), f.list.Table.Position(), width)}
	for _, p := range []struct{ name, text string }{
		{"what", happening(&r.Finding)},
		{"evidence", r.Evidence},
		{"remedy", r.Remedy},
		{"more", f.env.keys.Explain.Help().Key + " explains it, as dlxtop explain " + r.Code + " does"},
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

// happening is what a finding says, and since when, where that matters: it may have begun before dlxtop saw it.
func happening(f *findings.Finding) string {
	if !f.Happening || f.Since.IsZero() {
		return f.Message
	}
	return f.Message + "; seen since " + f.Since.Local().Format("15:04:05")
}
