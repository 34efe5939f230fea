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
	shell.Listing[findings.Identity, findingRow]
	short map[string]string // what each code means
}

type findingRow struct {
	findings.Finding
	title string // what the code means, then this finding's message
	place int    // in the order of the model: level, code, queue
}

func NewFindingsScreen(e *shell.Env) shell.Screen {
	short := map[string]string{}
	for _, f := range docs.Findings() {
		short[f.Code] = f.Short
	}
	f := findingsScreen{short: short, Listing: shell.NewListing(e, "findings",
		func(r findingRow) findings.Identity { return r.Identity() },
		func(a, b findingRow) int { return cmp.Compare(a.place, b.place) },
		func(r findingRow) []string { return []string{r.Code, r.where(), r.title, string(r.Level)} },
		findingColumns(e.Styles)...)}
	f.Opens = "what it means"
	return f
}

func findingColumns(s *term.Styles) []term.Column[findingRow] {
	type column = term.Column[findingRow]
	return []column{
		{
			Title: "LEVEL", Width: 9,
			Cell: func(r findingRow) term.Field {
				mark := shell.LevelMark(r.Level)
				return term.Field{Text: mark + " " + string(r.Level), Style: s.Mark(mark)}
			},
			Compare: func(a, b findingRow) int { return cmp.Compare(a.place, b.place) },
		},
		column{Title: "WHERE", Width: 18, Flex: 2, Max: 40, Middle: true}.Name(&s.Text, findingRow.where),
		{
			Title: "WHAT", Width: 20, Flex: 5,
			Cell:    func(r findingRow) term.Field { return term.Field{Text: r.title, Style: s.Text} },
			Compare: func(a, b findingRow) int { return cmp.Compare(a.Code, b.Code) },
		},
	}
}

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

// about opens the flow of a finding, or the messages of its queue; nil when it has neither.
func (f findingsScreen) about(r *findingRow) (opens func() shell.Screen, what string) {
	if r.Queue == "" {
		return nil, ""
	}
	ref := model.QueueRef{VHost: r.VHost, Name: r.Queue}
	if flow, ok := f.Latest.Topology.FlowOf(ref); ok {
		return func() shell.Screen { return NewFlowScreen(f.Env, flow.Worker.Queue) }, "open the flow"
	}
	return func() shell.Screen { return messages.NewScreen(f.Env, ref) }, "messages"
}

func (f findingsScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	if f.Handle(msg) {
		return f, nil
	}
	switch msg := msg.(type) {
	case shell.RestMsg:
		f.Table.Rest()
	case shell.TopologyMsg:
		rows := make([]findingRow, len(msg.Findings))
		for i, finding := range msg.Findings {
			title := model.Printable(finding.Message)
			if short := f.short[finding.Code]; short != "" {
				title = short + " · " + title
			}
			rows[i] = findingRow{finding, title, i}
		}
		f.Table.Set(rows)
	case tea.KeyMsg:
		if r, ok := f.Table.Current(); ok && term.Is(msg, f.Env.Keys.Open) {
			opens, what := f.about(&r)
			return f, shell.Push(explainScreen{env: f.Env, code: r.Code, opens: opens, what: what})
		}
	}
	return f, nil
}

func (f findingsScreen) View(width, height int) string {
	if len(f.Table.All) == 0 {
		return f.List.View(width, height, shell.EmptyPage(f.Env.Styles, "No findings.",
			"Nothing in the topology loses messages or is likely to.", width))
	}
	rows := f.Rows(height, min(height/2, 12))
	return term.Below(f.List.View(width, rows, nil), f.detail(width), width, height)
}

func (f findingsScreen) detail(width int) []string {
	return f.Pane("finding", width, func(r findingRow, l *shell.DialogLines) string {
		say := func(label, text string) { l.Say(label, model.Printable(text), term.Style{}) }
		say("what", shell.Happening(&r.Finding))
		say("evidence", r.Evidence)
		say("remedy", r.Remedy)
		say("more", f.Env.Keys.Open.Help().Key+" explains it, as dlxtop explain "+r.Code+" does")
		return model.Printable(r.Code) + "  " + r.where()
	})
}

// explainScreen is the page of a finding, from which the user can open what the finding is about.
type explainScreen struct {
	env   *shell.Env
	code  string
	opens func() shell.Screen // nil: nothing
	what  string              // what that is
	text  shell.Scroll
}

func (x explainScreen) Update(msg tea.Msg) (shell.Screen, tea.Cmd) {
	if msg, ok := msg.(tea.KeyMsg); ok {
		if x.opens != nil && term.Is(msg, x.env.Keys.Open) {
			return x, shell.Push(x.opens())
		}
		x.text.Key(x.env.Keys, msg)
	}
	return x, nil
}

func (x explainScreen) Prepare(width, height int) (shell.Screen, tea.Cmd) {
	x.text.Prepare(min(width-6, 100), height-1, func(width int) []string { return docs.Finding(x.code, width) })
	return x, nil
}

func (x explainScreen) Title() string { return x.code }
func (x explainScreen) Typing() bool  { return false }

func (x explainScreen) Keys() []key.Binding {
	if x.opens == nil {
		return nil
	}
	return []key.Binding{term.Describe(x.env.Keys.Open, x.what)}
}

func (x explainScreen) View(width, height int) string {
	lines := []string{""}
	for _, line := range x.text.Seen() {
		lines = append(lines, "   "+x.env.Styles.Text.Render(line))
	}
	return term.Block(lines, width, height)
}
