package act

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/press"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	shownRecords    = 500
	journalPatience = 10 * time.Second
)

// JournalScreen lists what was done on this broker, or on all: when, with what outcome, where it went, and who did it.
type JournalScreen struct {
	shell.Listing[int64, plan.Record]
	Request shell.Request // the reading in flight; 0: none
	err     error         // of the last reading
	read    bool
	records []plan.Record // of all brokers
	cluster string        // that of this broker
	every   bool          // records of all brokers are shown
	fresh   bool          // it is shown again: the cursor goes to the newest record
}

func NewJournalScreen(e *shell.Env) shell.Screen {
	j := &JournalScreen{fresh: true}
	j.Listing = shell.NewListing(e, "journal", func(r plan.Record) int64 { return r.ID },
		func(a, b plan.Record) int { return cmp.Compare(b.ID, a.ID) },
		func(r plan.Record) []string { return r.Texts() }, nil, nil)
	j.Own = j.keys
	j.setColumns(0)
	return j
}

// wholeOutcome is how wide an outcome may be that pushes other columns out of a narrow terminal.
const wholeOutcome = 44

// setColumns sets the columns: with records of every broker a person's includes the broker. outcome is the width of
// the longest one.
func (j *JournalScreen) setColumns(outcome int) {
	e := j.Env
	who, width := (*plan.Record).Person, 8
	if j.every {
		who, width = (*plan.Record).Who, 16
	}

	j.Table.Cells = func(r plan.Record) []any {
		look := term.Text
		if r.Unfinished() || r.Uncertain() > 0 {
			look = term.Warning
		}
		return []any{
			term.Muted.Span(fmt.Sprint(r.ID)).By(float64(r.ID)),
			term.Text.Span(dayOrTime(r.Began, e.Shown)).ByTime(r.Began),
			look.Span(r.ToldSince()).By(float64(r.Planned)),
			r.What(),
			r.From.Printable(),
			model.Printable(r.Where()),
			model.Printable(who(&r)),
		}
	}

	columns := term.Columns(`
		#:        4 right sorts
		WHEN:    12 sorts
		OUTCOME: 12 flex 20 sorts
		WHAT:     7 flex 2 drop 2 sorts
		QUEUE:   12 flex 3 max 40 middle sorts
		TO:      10 flex 2 max 40 drop 1 middle blank
		WHO:      0 flex 1 max 32 drop 3 middle muted
	`)
	columns[2].Width = min(max(outcome, 12), wholeOutcome)
	columns[6].Width = width
	j.Table.SetColumns(columns)
}

// dayOrTime returns the time of what was done today, to the second, and the day and time of what was done before.
func dayOrTime(at, now time.Time) string {
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format("Jan 02 15:04")
}

func (j *JournalScreen) keys() []term.Key {
	r, ok := j.Table.Current()
	return []term.Key{
		term.On(press.Open, "open what is under the cursor", shell.Opening(NewRecordScreen, j.Env, r)).As("messages").
			When(ok),
		term.On(press.Undo, "undo the action under the cursor", shell.Opening(NewUndoScreen, j.Env, r.ID)).As("undo this").
			When(ok),
		term.On(press.Resume, "resume the action under the cursor, if it did not come to its end",
			shell.Opening(NewResumeScreen, j.Env, r.ID)).As("resume this").When(ok && r.Resumable()),
		term.On(press.Brokers, "records of all brokers; of this one again", func() {
			j.every = !j.every
			j.list()
			j.Table.Regain()
		}).AsIf(j.every, "this broker").When(j.every || len(j.records) > len(j.Table.All)),
	}
}

// list shows the records of this broker, or of all.
func (j *JournalScreen) list() {
	shown := j.records
	if b := j.Env.Broker; b != nil && !j.every {
		shown = model.Without(shown, func(r plan.Record) bool { return !r.On(b.Address(), j.cluster) })
	}

	outcome := 0
	for i := range shown {
		outcome = max(outcome, ansi.StringWidthWc(shown[i].ToldSince()))
	}

	j.setColumns(outcome)
	j.Table.Set(shown)
	if j.fresh && j.read {
		j.fresh = false
		j.Table.MoveTo(0)
	}
}

func (j *JournalScreen) Update(msg tea.Msg) tea.Cmd {
	cmd := j.Listing.Update(msg)
	switch msg := msg.(type) {
	case shell.RestMsg:
		j.fresh = true
	case shell.TopologyMsg: // at each poll, to follow running records
		if msg.Topology != nil {
			j.cluster = msg.Topology.Snapshot.Overview.ClusterName
		}
		if j.Env.Journal == nil || j.Request != 0 {
			return nil
		}

		journal := j.Env.Journal
		j.Request, cmd = shell.Ask(j.Env, journalPatience, func(ctx context.Context) ([]plan.Record, error) {
			return journal.Records(ctx, shownRecords)
		})
	case shell.EndedMsg[[]plan.Record]:
		if msg.Request == j.Request {
			j.Request = 0
			j.read = true
			j.err = msg.Err
			if msg.Err == nil {
				j.records = msg.Result
				j.list()
			}
		}
	}

	return cmd
}

// elsewhere says how many records of other brokers are not shown; "" when all are.
func (j *JournalScreen) elsewhere() string {
	n := len(j.records) - len(j.Table.All)
	if n == 0 {
		return ""
	}
	return model.Sayf("%v record(s) of other brokers: %s shows all", n, press.Brokers.Help().Key)
}

func (j *JournalScreen) View(width, height int) string {
	if len(j.Table.All) == 0 || j.err != nil {
		return term.Block(j.empty(width), width, height)
	}
	rows := j.Rows(height, 5)
	return term.Below(j.List.View(width, rows, nil), j.detail(width), width, height)
}

func (j *JournalScreen) empty(width int) []string {
	head := "Nothing was done yet."
	text := "Every replay and drop is recorded here before it is done, with what is needed to undo it."
	switch {
	case j.Env.Journal == nil:
		head = "There is no journal."
		text = "dlxtop was started with --no-journal: actions are not recorded, and cannot be undone."
	case j.err != nil:
		head, text = "The journal cannot be read.", j.err.Error()
	case !j.read:
		head, text = "", "reading …"
	case j.elsewhere() != "":
		head, text = "Nothing was done on this broker yet.", j.elsewhere()
	}

	return shell.EmptyPage(head, text, width)
}

func (j *JournalScreen) detail(width int) []string {
	return j.Pane("record", width, func(r plan.Record, l *shell.DialogLines) string {
		told := r.ToldSince()
		if r.Account.Stopped != "" {
			told += ": " + r.Account.Stopped
		}

		l.Say("outcome", told)
		l.Say("to", r.Where())
		l.Say("after", r.Sequel.Words(j.Env.Shown))
		l.Say("who", r.Who()+", "+r.Began.Format("2006-01-02 15:04:05"))
		l.Say("why", r.Reason)
		l.Say("others", j.elsewhere())

		if r.Unfinished() {
			l.Say("ended", r.Interrupted())
			for _, words := range r.Certain() {
				l.Say("", words)
			}
			l.Say("next", r.NextStep(press.Resume.Help().Key, press.Undo.Help().Key, press.Open.Help().Key))
		}

		return model.Sayf("%d  %s %s", r.ID, r.What(), r.From)
	})
}

// AwaitUnfinished reports unfinished records when the program starts.
func AwaitUnfinished(e *shell.Env) tea.Cmd {
	if e.Journal == nil {
		return nil
	}

	return e.Command(journalPatience, func(ctx context.Context) tea.Msg {
		unfinished, err := e.Journal.Unfinished(ctx)
		switch {
		case err != nil:
			return shell.NoticeMsg{Text: err.Error() + "; nothing can be replayed or dropped before", Bad: true}
		case len(unfinished) == 0:
			return nil
		}

		words := unfinished[0].Interrupted()
		if n := len(unfinished) - 1; n > 0 {
			words += model.Sayf(", and of %v action(s) more", n)
		}

		journal := shell.Screens[4].Help().Key
		resume := press.Resume.Help().Key
		words += ": " + journal + " shows what is certain, " + resume + " resumes it"
		return shell.NoticeMsg{Text: words, Bad: true}
	})
}
