package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// recordsJSON is the JSON of `dlxtop journal`.
type recordsJSON struct {
	Records []recordJSON `json:"records"` // the newest first
}

type recordJSON struct {
	ID        int64          `json:"id"`                   // by which undo and resume take it
	State     string         `json:"state"`                // ended, running or unfinished
	Operation plan.Operation `json:"operation"`            // replay, move, drop, import or undo
	Undoes    int64          `json:"undoes,omitempty"`     // the record that it takes back
	Resumes   int64          `json:"resumes,omitempty"`    // the record that it goes on with
	ResumedBy int64          `json:"resumed_by,omitempty"` // the record that goes on with it
	Edit      string         `json:"edit,omitempty"`       // the jq program that changed the messages
	VHost     string         `json:"vhost"`                // of the queues
	From      string         `json:"from,omitempty"`       // the queue that messages were taken from; of several absent
	To        string         `json:"to,omitempty"`         // where messages went
	User      string         `json:"user"`                 // of the broker
	Login     string         `json:"login,omitempty"`      // of the machine
	Reason    string         `json:"reason,omitempty"`     // why, as --reason or the dialog said
	Broker    string         `json:"broker"`               // its address
	Cluster   string         `json:"cluster,omitempty"`    // the name of its cluster
	Began     string         `json:"began"`                // when it began
	Ended     string         `json:"ended,omitempty"`      // when it ended
	Planned   int            `json:"planned"`              // messages
	Moved     int            `json:"moved"`                // published, confirmed and acknowledged
	Dropped   int            `json:"dropped"`              // acknowledged, and kept
	Refused   int            `json:"refused"`              // they stayed: not publishable, or refused by the broker
	Returned  int            `json:"returned"`             // they stayed: no queue took them
	Unknown   int            `json:"unknown"`              // they may be in both queues, or not dropped
	Gone      int            `json:"gone"`                 // they were not found any more
	Held      int            `json:"held,omitempty"`       // not found while others held messages of the queue
	Undone    int            `json:"undone"`               // they were taken back
	Stopped   string         `json:"stopped,omitempty"`    // why it ended early
	After     *report.Sequel `json:"after,omitempty"`      // of a replay that was followed: whether it worked
	Parts     []any          `json:"parts,omitempty"`      // of an action on several queues: its records
}

func toldOf(t *resume.Told) recordJSON {
	out := recordOf(&t.Record)
	for i := range t.Of {
		out.From, out.To = "", ""
		out.Parts = append(out.Parts, recordOf(&t.Of[i]))
	}
	return out
}

func recordOf(r *plan.Record) recordJSON {
	a := &r.Account
	out := recordJSON{
		ID:        r.ID,
		State:     "ended",
		Operation: r.Operation,
		Undoes:    r.Undoes,
		Resumes:   r.Resumes,
		ResumedBy: r.ResumedBy,
		Edit:      message.TextJSON(r.Edit),
		VHost:     r.From.VHost,
		From:      r.From.Name,
		To:        r.To,
		User:      r.User,
		Login:     message.TextJSON(r.Login),
		Reason:    message.TextJSON(r.Reason),

		Broker:   r.Broker,
		Cluster:  message.TextJSON(r.Cluster),
		Began:    message.JSONTime(r.Began),
		Ended:    message.JSONTime(r.Ended),
		Planned:  r.Planned,
		Moved:    a.Moved,
		Dropped:  a.Dropped,
		Refused:  a.Refused,
		Returned: a.Returned,
		Unknown:  r.Uncertain(),
		Gone:     a.Gone,
		Held:     a.Held,
		Undone:   r.Undone,
		Stopped:  a.Stopped,
		After:    report.SequelOf(r.Sequel),
	}

	switch {
	case r.Running:
		out.State = "running"
	case r.Unfinished():
		out.State = "unfinished"
	}

	return out
}

func (p *Program) journalCommand() *cobra.Command {
	var output format
	limit, search := 50, ""
	cmd := &cobra.Command{
		Use:     "journal",
		Short:   "What was done: who replayed, dropped and imported what, when, to where, with what outcome",
		GroupID: toUndo,
		Example: "dlxtop journal\ndlxtop journal --search 'INC-4711' -o json",
		Long: `What was done on this machine, the newest first. Every replay, drop and import is recorded before it
is done, for all brokers, in $XDG_STATE_HOME/dlxtop/journal.db (~/.local/state without
that), for 90 days or 2 GiB.`,
		Args: p.noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage("-n %d: at least 1 record", limit)
			}
			return p.withJournal(func(j Journal) error {
				most := limit
				if search != "" {
					most = 0
				}

				records, err := j.Records(cmd.Context(), most)
				if err != nil {
					return err
				}
				told := slices.DeleteFunc(resume.Tell(records), func(r resume.Told) bool {
					return !strings.Contains(strings.ToLower(strings.Join(r.Texts(), "\n")), strings.ToLower(search))
				})
				return p.showRecords(told[:min(limit, len(told))], &output)
			})
		},
	}

	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "records at most")
	cmd.Flags().StringVar(&search, "search", "",
		"only records with this text: an operation, queue, person, outcome or reason")
	output.register(cmd)
	cmd.AddCommand(p.journalShowCommand(), p.journalUndoCommand(), p.journalResumeCommand())

	return cmd
}

// withJournal opens the user's journal for a command that needs no broker.
func (p *Program) withJournal(use func(Journal) error) error {
	j := p.Journal("")
	defer func() { _ = j.Close() }()
	return use(j)
}

// openRecords opens the connection for an action on a record, in the record's vhost.
func (p *Program) openRecords(c *consent, what string) (*session, error) {
	connection, err := p.allowed(c, what)
	if err != nil {
		return nil, err
	}
	connection.VHost = ""
	return p.openConnection(connection)
}

// checkJournal proves that actions can be recorded, before the user is asked to agree, and reports unfinished ones.
// spare: the command has --no-journal.
func (s *session) checkJournal(ctx context.Context, spare bool) error {
	if s.journal == nil {
		return nil
	}

	if err := s.journal.Check(ctx); err != nil {
		if spare {
			return refused("%w; nothing was done (--no-journal acts without it, and without undo)", err)
		}
		return refused("%w; nothing was done", err)
	}

	unfinished, err := s.journal.Unfinished(ctx)
	if err != nil {
		return err
	}
	for told := range model.Each(resume.Tell(unfinished)) {
		s.note("%s: `dlxtop journal resume %d` continues it", told.Interrupted(), told.ID)
	}

	return nil
}

func (p *Program) showRecords(records []resume.Told, output *format) error {
	for r := range model.Each(records) {
		if r.Unfinished() {
			command := func(verb string) string { return fmt.Sprintf("`dlxtop journal %s %d`", verb, r.ID) }
			p.note("%s", r.Interrupted())
			for _, line := range r.Certain() {
				p.note("%s", line)
			}
			p.note("%s", r.NextStep(command("resume"), command("undo"), command("show")))
		}
	}

	if output.json() {
		return print.JSON(p.Out, recordsJSON{model.Mapped(records, toldOf)})
	}

	if len(records) == 0 {
		p.note("nothing was done yet")
		return nil
	}

	g := &print.Table{Right: []bool{true}}
	g.Add("ID", "WHEN", "WHO", "WHAT", "QUEUE", "TO", "OUTCOME", "WHY")
	for r := range model.Each(records) {
		g.Add(strconv.FormatInt(r.ID, 10), r.Began.Format("2006-01-02 15:04:05"), print.Cell(r.Who(), 40),
			print.Cell(r.What(), 16), print.Cell(r.From.String(), 40), print.Cell(r.Where(), 40), r.ToldSince(),
			print.Cell(r.Reason, 60))
	}

	return g.Write(p.Out)
}

// onRecord runs a command on the record that its argument names.
func onRecord(run func(ctx context.Context, id int64) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || id < 1 {
			return usage("%v is not the number of a record: `dlxtop journal` lists them", args[0])
		}
		return run(cmd.Context(), id)
	}
}

func (p *Program) journalShowCommand() *cobra.Command {
	var output format
	cmd := &cobra.Command{
		Use:               "show ID",
		Short:             "The messages of one record, with what became of each",
		Example:           "dlxtop journal show 42\ndlxtop journal show 42 -o json",
		Args:              arguments("the ID of a record"),
		ValidArgsFunction: p.completeRecord,
		RunE: onRecord(func(ctx context.Context, id int64) error {
			return p.withJournal(func(j Journal) error { return p.showRecord(ctx, j, id, &output) })
		}),
	}

	output.register(cmd)

	return cmd
}

func (p *Program) showRecord(ctx context.Context, j Journal, id int64, output *format) error {
	r, err := j.Record(ctx, id)
	if err != nil {
		return err
	}
	records := []plan.Record{r}
	if len(r.Parts) > 1 {
		records = nil
		for _, part := range slices.Backward(slices.Sorted(slices.Values(r.Parts))) {
			if r, err = j.Record(ctx, part); err != nil {
				return err
			}
			records = append(records, r)
		}
	}

	told := resume.Tell(records)[0]
	if output.json() {
		return p.writeTold(ctx, j, &told)
	}
	if err := p.showRecords([]resume.Told{told}, output); err != nil {
		return err
	}
	if len(told.Of) == 0 {
		return p.showEntries(ctx, j, &told.Record)
	}
	for r := range model.Each(told.Of) {
		if _, err := fmt.Fprintln(p.Out); err != nil {
			return err
		}
		if err := p.showRecords([]resume.Told{{Record: *r}}, output); err != nil {
			return err
		}
		if err := p.showEntries(ctx, j, r); err != nil {
			return err
		}
	}

	return nil
}

// showEntries prints the messages of one record, with what became of each.
func (p *Program) showEntries(ctx context.Context, j Journal, r *plan.Record) error {
	if words := r.Sequel.Words(time.Now()); words != "" {
		p.note("afterwards: %s", words)
	}
	if r.Edit != "" {
		p.note("changed by the jq program %v", r.Edit)
	}

	g := &print.Table{Right: []bool{true, false, false, true}}
	g.Add("#", "MESSAGE ID", "ROUTING KEY", "SIZE", "SENT TO", "OUTCOME", "CHANGED")
	if err := j.Entries(ctx, r.ID, func(e *plan.Entry) error {
		size, to := "", ""
		if e.Message != nil {
			size = message.Size(int64(e.Message.BodyBytes))
		}
		if e.Sent != nil {
			to = model.ExchangeName(e.Sent.To.Exchange) + " " + e.Sent.To.RoutingKey
		}
		g.Add(strconv.Itoa(e.Position), print.Cell(e.MessageID, 36), print.Cell(e.Address.RoutingKey, 32), size,
			print.Cell(to, 40), print.Cell(r.State(e), 60), print.Cell(strings.Join(r.Changes(e), "; "), 200))
		return nil
	}); err != nil {
		return err
	}

	if _, err := fmt.Fprintln(p.Out); err != nil {
		return err
	}

	return g.Write(p.Out)
}

// writeTold writes a record, or the records of several queues, as one JSON object.
func (p *Program) writeTold(ctx context.Context, j Journal, t *resume.Told) error {
	if len(t.Of) == 0 {
		return p.writeRecord(ctx, j, &t.Record)
	}
	head, err := model.JSONLine(toldOf(t))
	separator := fmt.Sprintf("{\"record\":%s,\n\"parts\":[", head)
	for i := 0; i < len(t.Of) && err == nil; i++ {
		if _, err = fmt.Fprintln(p.Out, separator); err == nil {
			err = p.writeRecord(ctx, j, &t.Of[i])
		}
		separator = ","
	}

	if err == nil {
		_, err = fmt.Fprintln(p.Out, "]}")
	}
	return err
}

// writeRecord writes a record with its entries as one JSON object, entry by entry: there may be more than fit into
// memory.
func (p *Program) writeRecord(ctx context.Context, j Journal, r *plan.Record) error {
	head, err := model.JSONLine(recordOf(r))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.Out, "{\"record\":%s,\n\"entries\":[", head); err != nil {
		return err
	}
	separator := "\n"
	if err := j.Entries(ctx, r.ID, func(e *plan.Entry) error {
		line, err := model.JSONLine(e.JSON())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Out, "%s%s", separator, line)
		separator = ",\n"
		return err
	}); err != nil {
		return err
	}

	_, err = fmt.Fprintln(p.Out, "\n]}")
	return err
}

func (p *Program) journalUndoCommand() *cobra.Command {
	var c consent
	cmd := &cobra.Command{
		Use:     "undo ID",
		Short:   "Bring the messages of a record back to the queue that they came from",
		Example: "dlxtop journal undo 42 --dry-run\ndlxtop journal undo 42",
		Long: `Bring the messages of a record back to the queue that they came from: dropped ones from the journal,
replayed ones from where they were sent to, with everything that the replay removed. Messages that a
consumer has taken cannot be brought back. They go to the end of the queue, through the default exchange.
What the record resumes is brought back with it. An undo is in the journal, too. Exit status 1 when not
all of them could be brought back.`,
		Args:              arguments("the ID of a record"),
		ValidArgsFunction: p.completeRecord,
		RunE:              onRecord(func(ctx context.Context, id int64) error { return p.undo(ctx, id, c) }),
	}

	c.register(cmd, "show what would happen, and change nothing", "override a refusal, where possible")

	return cmd
}

func (p *Program) undo(ctx context.Context, id int64, c consent) error {
	s, err := p.openRecords(&c, "an undo")
	if err != nil {
		return err
	}
	defer s.close()
	records, err := resume.Whole(ctx, s.journal, id)
	if err != nil {
		return err
	}
	t, err := s.settledTopology(ctx, &records[0])
	if err != nil {
		return err
	}

	reads := toldReads{s.broker, p, true}
	wants := make([]plan.UndoWant, len(records))
	for i, record := range records {
		if wants[i], err = (plan.UndoWant{
			Record:   record,
			User:     s.broker.User(),
			Broker:   s.broker.Address(),
			Insist:   c.insist,
			ReadOnly: s.connection.ReadOnly,
			Entries:  func(each plan.VisitEntry) error { return s.journal.Entries(ctx, record.ID, each) },
		}).Looked(ctx, t, reads); err != nil {
			return err
		}
	}

	planning := func(t *model.Topology) (action.Action, error) {
		made := make([]*action.Undo, len(wants))
		for i := range wants {
			undo, err := plan.PlanUndo(ctx, t, wants[i], reads)
			if err != nil {
				return nil, err
			}
			made[i] = &action.Undo{UndoPlan: undo}
		}
		return action.Of(made...), nil
	}

	_, err = s.do(ctx, t, doing{consent: c, plan: planning})
	return err
}

// toldReads is a broker whose looks are told: what became of messages at their limit, and, if asked, what they cost.
type toldReads struct {
	Broker
	program *Program
	costs   bool
}

func (r toldReads) Read(ctx context.Context, look peek.Plan, each message.Visit) (peek.Read, error) {
	read, err := r.Broker.Read(ctx, look, each)
	r.program.tellRescued(read.Rescued)
	if r.costs && err == nil && read.Stopped == "" {
		r.program.note("%s", look.Looked())
	}
	return read, err
}

type resuming struct {
	id        int64
	undecided string
	follow    bool
	consent
}

func (p *Program) journalResumeCommand() *cobra.Command {
	r := &resuming{}
	cmd := &cobra.Command{
		Use:     "resume ID",
		Short:   "Continue an action that did not finish",
		Example: "dlxtop journal resume 42 --dry-run\ndlxtop journal resume 42 --follow",
		Long: `Continue an action whose program was killed, or that ended early: a replay, a move, a drop, an
import or an undo. It first looks for the messages whose outcome is unknown, in the queue that they
come from and where they were sent. It acknowledges those that have arrived, sends those that were
not sent, and then does the rest of the plan: each message once, and only to the queues that the
first run would have reached.

It lists messages that it cannot decide: the message is in its queue, and a consumer may have taken
its copy. --undecided publish publishes these again (they may be there twice); --undecided leave
leaves them in their queue, and they count as done. Without either they stay unknown, and the exit
status is 1, also when --follow shows that messages came back.`,
		Args:              arguments("the ID of a record"),
		ValidArgsFunction: p.completeRecord,
		RunE: onRecord(func(ctx context.Context, id int64) error {
			r.id = id
			switch resume.Choice(r.undecided) {
			case "", resume.PublishAgain, resume.LeaveThem:
				return p.resume(ctx, r)
			}
			return usage("--undecided %v: it is publish or leave", r.undecided)
		}),
	}

	cmd.Flags().StringVar(&r.undecided, "undecided", "",
		"publish or leave: what to do with messages that cannot be decided")
	cmd.Flags().BoolVar(&r.follow, "follow", false,
		"wait to see whether the messages of a replay are taken, or come back, as long as a retry takes")
	r.consent.register(cmd, "look, show what would happen, and change nothing", "override a refusal, where possible")

	return cmd
}

func (p *Program) resume(ctx context.Context, r *resuming) error {
	s, err := p.openRecords(&r.consent, "a resume")
	if err != nil {
		return err
	}
	defer s.close()
	ids, err := resume.Open(ctx, s.journal, r.id)
	if err != nil {
		return err
	}

	var t *model.Topology
	on := s.resuming(toldReads{Broker: s.broker, program: p})
	inquiries := make([]resume.Inquiry, len(ids))
	for i, id := range ids {
		var release func()
		inquiries[i], release, err = on.Inquire(ctx, id, r.insist, func(last *plan.Record) (_ *model.Topology, err error) {
			if r.follow && last.Operation != plan.Replay {
				return nil, usage("--follow watches a replay, and %d is a %s", last.ID, last.Operation)
			}
			if last.ID != id {
				p.note("%d was resumed as %d: this resumes that one", id, last.ID)
			}
			t, err = s.settledTopology(ctx, last)
			return t, err
		})
		if by := new(plan.BeingResumed); errors.As(err, &by) {
			return refused("%w", err)
		}
		if err != nil {
			return err
		}
		defer release()
	}

	choice, asked := resume.Choice(r.undecided), r.dryRun || r.agreed
	var undecided int
	rest := func(now *model.Topology) (action.Action, error) {
		undecided = 0
		all := make([]*action.Resume, len(inquiries))
		for i := range inquiries {
			found, err := inquiries[i].Plan(ctx, now, choice)
			if err != nil {
				return nil, err
			}
			if all[i] = (&action.Resume{Run: found}); !found.Refusal.Refused() {
				undecided += len(found.Undecided)
			}
		}
		return action.Of(all...), nil
	}

	planning := func(now *model.Topology) (action.Action, error) {
		planned, err := rest(now)
		if err != nil || undecided == 0 || asked {
			return planned, err
		}
		asked = true
		p.report(r.output).Announce(planned)
		if choice, err = p.choose(ctx); err != nil {
			return planned, err
		}
		return rest(now)
	}

	account, err := s.do(ctx, t, doing{consent: r.consent, plan: planning, follow: r.follow})
	if err != nil || r.dryRun || undecided == 0 {
		return err
	}
	p.note("%v message(s) undecided: `dlxtop journal resume %d` takes --undecided publish, or leave",
		undecided, account.JournalID)
	return &exit{status: ExitRefused}
}

// resuming is what resumes in this session work with.
func (s *session) resuming(reads resume.Broker) resume.On {
	return resume.On{Journal: s.journal, Broker: reads, File: s.readMessages, ReadOnly: s.connection.ReadOnly}
}

// settledTopology reads the broker once it has noticed that the program of a record is gone: its held messages are then
// back.
func (s *session) settledTopology(ctx context.Context, r *plan.Record) (*model.Topology, error) {
	if !r.Running && (r.Early() || r.Uncertain() > 0) {
		if err := s.broker.AwaitGone(ctx, r, s.source.Connections); err != nil {
			return nil, err
		}
	}

	t, err := s.topology(ctx)
	if err != nil {
		return nil, err
	}

	return t, s.checkCluster(ctx, r.From.VHost, t.Snapshot.Overview)
}

func (p *Program) choose(ctx context.Context) (resume.Choice, error) {
	fmt.Fprint(p.Err, "publish them again (they may be there twice), or leave them and count them as done? "+
		"[publish/leave/neither] ")
	answer, err := readLine(ctx, p.In)
	if err != nil {
		fmt.Fprintln(p.Err)
		return "", err
	}

	choice := resume.Choice(answer)
	switch choice {
	case resume.PublishAgain, resume.LeaveThem:
		return choice, nil
	}

	return "", nil
}
