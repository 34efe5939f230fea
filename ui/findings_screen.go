package ui

import (
	"cmp"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"dlxtop/model"
)

// findingsScreen lists what is wrong or risky, with the evidence and the remedy of the finding at the cursor.
type findingsScreen struct {
	env    *env
	list   list[findingKey, findingRow]
	latest topologyMsg
}

// findingKey identifies a finding from one poll to the next.
type findingKey struct{ code, vhost, queue, exchange string }

type findingRow struct {
	model.Finding
	place int // in the order of the model: level, code, queue
}

func newFindingsScreen(e *env) screen {
	rows := newTable(e,
		func(r findingRow) findingKey { return findingKey{r.Code, r.VHost, r.Queue, r.Exchange} },
		func(a, b findingRow) int { return cmp.Compare(a.place, b.place) }, findingColumns(e.styles)...)
	return findingsScreen{env: e, list: newList(e, rows, func(r findingRow) []string {
		return []string{r.Code, r.where(), r.Message, string(r.Level)}
	})}
}

func findingColumns(s *Styles) []column[findingRow] {
	return []column[findingRow]{
		{
			title: "LEVEL", width: 9,
			cell: func(r findingRow) field {
				mark := levelMark(r.Level)
				return field{mark + " " + string(r.Level), s.mark(mark)}
			},
			compare: func(a, b findingRow) int { return cmp.Compare(a.place, b.place) },
		},
		{
			title: "WHERE", width: 18, flex: 2, max: 40, middle: true,
			cell:    func(r findingRow) field { return field{r.where(), s.Text} },
			compare: func(a, b findingRow) int { return cmp.Compare(a.where(), b.where()) },
		},
		{
			title: "WHAT", width: 20, flex: 5,
			cell:    func(r findingRow) field { return field{model.Printable(r.Message), s.Text} },
			compare: func(a, b findingRow) int { return cmp.Compare(a.Code, b.Code) },
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
	}
	return "broker"
}

func (f findingsScreen) Init() tea.Cmd { return nil }

func (f findingsScreen) Title() string { return "findings" }

func (f findingsScreen) Typing() bool { return f.list.filter.typing }

// Keys depend on the finding at the cursor: only one about a queue leads somewhere.
func (f findingsScreen) Keys() []key.Binding {
	if r, ok := f.list.table.current(); ok && r.Queue != "" {
		what := "messages"
		if _, ok := f.latest.topology.FlowOf(model.QueueRef{VHost: r.VHost, Name: r.Queue}); ok {
			what = "open the flow"
		}
		return f.list.bindings(describe(f.env.keys.Open, what))
	}
	return f.list.bindings()
}

func (f findingsScreen) Update(msg tea.Msg) (screen, tea.Cmd) {
	switch msg := msg.(type) {
	case topologyMsg:
		f.latest = msg
		rows := make([]findingRow, len(msg.findings))
		for i, finding := range msg.findings {
			rows[i] = findingRow{finding, i}
		}
		f.list.table.set(rows)
	case tea.KeyMsg:
		if f.list.handle(msg) {
			return f, nil
		}
		if r, ok := f.list.table.current(); ok && r.Queue != "" && is(msg, f.env.keys.Open) {
			ref := model.QueueRef{VHost: r.VHost, Name: r.Queue}
			if flow, ok := f.latest.topology.FlowOf(ref); ok {
				return f, push(newFlowScreen(f.env, flow.Worker.Queue))
			}
			return f, push(newMessagesScreen(f.env, ref))
		}
	}
	return f, nil
}

func (f findingsScreen) View(width, height int) string {
	if len(f.list.table.all) == 0 {
		s := f.env.styles
		return f.list.view(width, height, []string{
			"", "   " + s.Strong.Render("No findings."), "",
			"   Nothing in the topology loses messages or is likely to.",
		})
	}
	rows := f.list.rows(height, min(height/2, 12))
	return f.list.view(width, rows, nil) + "\n" + block(f.detail(width), width, height-rows)
}

// detail has the finding in full.
func (f findingsScreen) detail(width int) []string {
	s := f.env.styles
	r, ok := f.list.table.current()
	if !ok {
		return f.list.aimless("finding", width)
	}
	lines := []string{partition(s, model.Printable(r.Code)+"  "+r.where(), f.list.table.position(), width)}
	for _, p := range []struct{ name, text string }{{"what", r.Message}, {"evidence", r.Evidence}, {"remedy", r.Remedy}, {"more", r.Page()}} {
		for i, line := range wrap(model.Printable(p.text), width-16) {
			name := ""
			if i == 0 {
				name = p.name
			}
			lines = append(lines, "   "+s.Muted.Render(fit(name, 10, false, false))+line)
		}
	}
	return lines
}
