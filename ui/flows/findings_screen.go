package flows

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/dlxtop/dlxtop/docs"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/ui/messages"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// findingsScreen lists what is wrong or risky, with the evidence and the remedy of the finding at the cursor.
type findingsScreen struct {
	shell.Listing[findings.Identity, findingRow]
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
	f := &findingsScreen{Listing: shell.NewListing(e, "findings",
		func(r findingRow) findings.Identity { return r.Identity() },
		term.By(func(r findingRow) int { return r.place }),
		func(r findingRow) []string { return []string{r.Code, r.where(), r.title, string(r.Level)} },
		func(r findingRow) []any {
			mark := shell.LevelMark(r.Level)
			level := term.StyleOf(mark).Span(mark + " " + string(r.Level))
			return []any{level.By(float64(r.place)), r.where(), r.title}
		},
		term.Columns(`
			LEVEL:  9 sorts
			WHERE: 18 flex 2 max 40 middle sorts
			WHAT:  20 flex 5 sorts
		`))}
	f.Own = f.keys

	f.Polled = func(msg shell.TopologyMsg) []findingRow {
		rows := make([]findingRow, len(msg.Findings))
		for i, finding := range msg.Findings {
			title := model.Printable(finding.Message)
			if short := short[finding.Code]; short != "" {
				title = short + " · " + title
			}
			rows[i] = findingRow{finding, title, i}
		}

		return rows
	}
	return f
}

func (r findingRow) where() string {
	switch {
	case r.Queue != "":
		where := model.QueueRef{VHost: r.VHost, Name: r.Queue}.Printable()
		if more := len(r.Also); more > 0 {
			where += fmt.Sprintf(" +%d", more)
		}
		return where
	case r.Exchange != "":
		return "exchange " + model.Printable(r.Exchange)
	case r.Node != "":
		return "node " + model.Printable(r.Node)
	}

	return "broker"
}

func (f *findingsScreen) keys() []term.Key {
	r, ok := f.Table.Current()
	does := "open what is under the cursor; on the page of a finding, its flow or its queue"

	return []term.Key{term.On(press.Open, does, func() tea.Cmd {
		opens, what := f.about(&r)
		return shell.Push(&explainScreen{finding: r.Finding, opens: opens, what: what})
	}).As("what it means").When(ok)}
}

// about opens the flow of a finding, or the messages of its queue; nil when it has neither.
func (f *findingsScreen) about(r *findingRow) (opens func() tea.Cmd, what string) {
	if r.Queue == "" {
		return nil, ""
	}
	ref := model.QueueRef{VHost: r.VHost, Name: r.Queue}
	if flow, ok := f.Latest.Topology.FlowOf(ref); ok {
		return shell.Opening(NewFlowScreen, f.Env, flow.Worker.Queue), "open the flow"
	}

	return shell.Opening(messages.NewScreen, f.Env, ref), "messages"
}

func (f *findingsScreen) View(width, height int) string {
	if len(f.Table.All) == 0 {
		return f.List.View(width, height, shell.EmptyPage("No findings.",
			"Nothing in the topology loses messages or is likely to.", width))
	}
	rows := f.Rows(height, min(height/2, 12))
	return term.Below(f.List.View(width, rows, nil), f.detail(width), width, height)
}

func (f *findingsScreen) detail(width int) []string {
	return f.Pane("finding", width, func(r findingRow, l *shell.DialogLines) string {
		sayFinding(l, &r.Finding)
		l.Say("more", press.Open.Help().Key+" has commands that show it, and explains it")
		return model.Printable(r.Code) + "  " + r.where()
	})
}

// explainScreen shows a finding as it is now, with commands that show it on the broker, and the page of its code. From
// it the user can open what the finding is about.
type explainScreen struct {
	finding findings.Finding
	gone    bool           // it is not found any more
	opens   func() tea.Cmd // nil: nothing
	what    string         // what that is
	text    shell.Scroll
}

func (x *explainScreen) Update(msg tea.Msg) (cmd tea.Cmd) {
	switch msg := msg.(type) {
	case shell.TopologyMsg:
		same := func(f findings.Finding) bool { return f.Identity() == x.finding.Identity() }
		i := slices.IndexFunc(msg.Findings, same)
		if x.gone = i < 0; !x.gone {
			x.finding = msg.Findings[i]
		}
		x.text.Lines = nil
	case tea.KeyMsg:
		x.text.Key(msg)
		cmd, _ = term.Press(x.Keys(), msg)
	}

	return cmd
}

func (x *explainScreen) Prepare(width, height int) tea.Cmd {
	x.text.Prepare(min(width-6, 100), height-1, x.lines)
	return nil
}

func (x *explainScreen) lines(width int) []string {
	l := shell.NewPaneLines(width + 6)
	if x.gone {
		l.Say("now", "This is not found any more.", term.Good)
	}

	sayFinding(l, &x.finding)
	label := "commands"
	for _, command := range x.finding.Commands() {
		l.Say(label, command, term.Accent)
		label = ""
	}

	l.Blank()
	for _, line := range docs.Finding(x.finding.Code, width) {
		l.Lines = append(l.Lines, term.Text.Render(line))
	}

	return l.Lines
}

// sayFinding shows what the list shows of a finding.
func sayFinding(l *shell.DialogLines, f *findings.Finding) {
	l.Say("what", shell.Happening(f))
	l.Say("evidence", f.Evidence)
	l.Say("remedy", f.Remedy)
}

func (x *explainScreen) Title() string { return x.finding.Code }
func (x *explainScreen) Typing() bool  { return false }

func (x *explainScreen) Keys() []term.Key {
	open := term.On(press.Open, "open its flow or its queue", x.opens)
	return []term.Key{open.As(x.what).When(x.opens != nil)}
}

func (x *explainScreen) View(width, height int) string {
	lines := []string{""}
	for _, line := range x.text.Seen() {
		lines = append(lines, "   "+line)
	}
	return term.Block(lines, width, height)
}
