package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/loss"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
	"github.com/dlxtop/dlxtop/model/target"
)

func (p *Program) exportCommand() *cobra.Command {
	var insist, again bool
	var selected selectionFlags
	cmd := &cobra.Command{
		Use:     "export QUEUE FILE",
		Short:   "Write the messages of a queue to a file, one line of JSON each; they stay in the queue",
		GroupID: toLook,
		Example: "dlxtop export orders@failed failed.jsonl\ndlxtop export orders@failed - | jq .body",
		Long: `Write every message that is in the queue to a new file (- is standard output), one line of JSON
each, as import reads them and jq can. The messages stay in the queue and in their order;
standard error shows the cost of looking. The file gets its name only when it is complete.

Where each look uses up a delivery limit (quorum queues before 4.3), what an earlier look has read is
written, if the queue has as many messages as then and no consumers; --again reads it again.`,
		Args:              arguments("a queue", "a file (- is standard output)"),
		ValidArgsFunction: p.completeQueue(),
		RunE: func(cmd *cobra.Command, args []string) error {
			only, err := selected.selection(p, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return p.readQueue(cmd.Context(), args[0], func(s *session, t *model.Topology, ref model.QueueRef) error {
				return s.export(cmd.Context(), t, ref, args[1], insist, only, again)
			})
		},
	}

	selected.register(cmd, p)
	cmd.Flags().BoolVar(&insist, "insist", false, "override a refusal, where possible")
	registerAgain(cmd, &again)

	return cmd
}

func (s *session) export(
	ctx context.Context, t *model.Topology, ref model.QueueRef, path string, insist bool, only plan.Selection, again bool,
) (err error) {
	look := peek.Want{Insist: insist, ForAction: true}
	if t.Known(ref).Type == model.Stream {
		look = peek.Want{Insist: insist, Limit: peek.MaxPage} // nothing is taken out of it
	}

	reading := peek.For(t, ref, s.wants(look))
	kept := s.shared(ctx, t, again)
	kept.whole = true
	shares := reading.Counts && kept.Has(ref)
	if !reading.Allowed() && !shares {
		return refused("%s", refusal(reading.Refusal))
	}
	if !shares {
		s.note("peek: %s", reading.Cost)
	}

	whole := peek.For(t, ref, s.wants(peek.Want{Insist: insist, Whole: true}))
	if whole.Counts && whole.Fits(t.Known(ref)) {
		reading = whole // it is kept
	}

	reading.Nameless = !reading.Counts
	only.Filter = s.look(ctx, t, ref, nil).Filter(only.Filter).Within(ctx)
	looker := find.Sharing{Looker: s.broker, Cache: kept, Costly: true}
	var read peek.Read
	messages := func(each message.Visit) (err error) {
		picker := only.Picker(ref)
		read, err = looker.Read(ctx, reading, func(m *message.Message) error {
			if !picker.Pick(m) {
				return nil
			}
			return each(m)
		})

		if err == nil && read.Stopped != "" && path != "-" { // a file with its final name is complete
			return fmt.Errorf("not all messages could be read, and no file was written: %s", read.Stopped)
		}
		return err
	}

	var n int

	if path == "-" {
		n, err = s.Files.Write(s.Out, messages)
	} else {
		n, err = s.Files.Create(path, messages)
	}

	s.tellRescued(read.Rescued)
	s.tellLacking(only.Filter)
	switch {
	case errors.Is(err, message.ErrFile):
		return usage("%w", err)
	case err != nil && refusedLook(err) != nil:
		return refusedLook(err)
	case err != nil:
		return model.Errorf("export %v: %w", ref, err)
	}

	to := ""
	if at, err := filepath.Abs(path); err == nil && path != "-" {
		to = " to " + model.Printable(at)
	}

	s.note("%v message(s) exported%s", n, to)
	if read.Stopped != "" {
		s.note("there are more: %s", read.Stopped)
		return &exit{status: ExitRefused}
	}

	return nil
}

// errFileChanged means that a file is not the one that was agreed to.
var errFileChanged = errors.New("the file has changed since it was read first")

type importing struct {
	path, to  string
	keepDelay bool
	consent
}

func (p *Program) importCommand() *cobra.Command {
	i := &importing{}
	cmd := &cobra.Command{
		Use:     "import FILE --to queue:NAME",
		Short:   "Publish the messages of an exported file into a queue, byte for byte",
		GroupID: toAct,
		Example: "dlxtop import failed.jsonl --to queue:orders --dry-run\ndlxtop import failed.jsonl --to queue:orders",
		Long: `Publish the messages of a file that export wrote into a queue, through the default exchange, with
their properties, headers and bodies byte for byte. The whole file is read first: if a line is
bad, or was cut, nothing is imported. It removes CC and BCC, which would send them to further
queues, a user_id that is not the connected user's, and, for RabbitMQ 4.4 and newer,
x-opt-delivery-time.`,
		Args: arguments("a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			i.path = args[0]
			return p.importFile(cmd.Context(), i)
		},
	}

	cmd.Flags().StringVar(&i.to, "to", "", "queue:NAME")
	p.completeTarget(cmd)
	registerKeepDelay(cmd, &i.keepDelay)
	i.consent.register(cmd, "read the file and show what would happen, and change nothing",
		"override a refusal, where possible")

	return cmd
}

func (p *Program) importFile(ctx context.Context, i *importing) error {
	mode, fixed, err := target.Parse(i.to, model.Unknown[string]())
	if err != nil || mode != target.ToQueue {
		return usage("--to names the queue, as queue:NAME")
	}
	connection, err := p.allowed(&i.consent, "import")
	if err != nil {
		return err
	}
	info, err := os.Stat(i.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage("%w %v is not there", message.ErrFile, i.path)
	case err == nil && !info.Mode().IsRegular():
		return usage("%v is no file: an import reads it twice, so write it into one first", i.path)
	}

	s, err := p.openConnection(connection)
	if err != nil {
		return err
	}
	defer s.close()
	t, err := s.topology(ctx)
	if err != nil {
		return err
	}
	ref, err := s.findQueue(ctx, t, fixed.RoutingKey)
	if err != nil {
		return err
	}

	importable, kept, err := s.broker.Importable(ctx, ref)
	if err != nil {
		return err
	}
	defer kept.Close()
	want := plan.ImportWant{To: ref, Insist: i.insist, KeepDelay: i.keepDelay}
	n := 0
	if err := p.readMessages(ctx, i.path, func(m *message.Message) error {
		n++
		want.Add(t, m)
		return message.BadLine(importable(m))
	}); err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}

	if !i.dryRun {
		if err := s.checkJournal(ctx, false); err != nil {
			return err
		}
	}

	path, err := filepath.Abs(i.path)
	if err != nil {
		return fmt.Errorf("name the file: %w", err)
	}
	read := func(each message.Visit) error {
		now, err := os.Stat(i.path)
		same := err == nil && now.Size() == info.Size() && now.ModTime().Equal(info.ModTime())
		if same && kept.Len() == n { // in half the time that the file takes
			return kept.Range(0, n, 0, each)
		}
		at := 0
		err = p.readMessages(ctx, i.path, func(m *message.Message) error {
			if at++; at > n {
				return errFileChanged
			}
			return each(m)
		})

		if err == nil && at < n {
			err = errFileChanged
		}
		return err
	}

	planning := func(now *model.Topology) (_ action.Action, err error) {
		if want.Counts, err = s.counts(ctx, loss.Limited(now, []model.QueueRef{ref})); err != nil {
			return nil, err
		}
		file := resume.FromFile(t, ref, path, n, i.keepDelay)
		file.Into.Insisted = i.insist
		made := action.Messages{Run: plan.ForImport(now, want).On(now)}
		return &action.Import{Messages: made, File: file, Read: read, By: s.steady(&i.consent)}, nil
	}

	i.agreed = i.agreed || n == 0
	_, err = s.do(ctx, t, doing{consent: i.consent, plan: planning})
	return err
}

// readMessages reads a file of messages. An error in the file is wrong usage.
func (p *Program) readMessages(ctx context.Context, path string, each message.Visit) error {
	err := p.Files.Read(ctx, path, each)
	if errors.Is(err, message.ErrFile) {
		return usage("%w", err)
	}
	return err
}
