package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// mostPeeked is how many messages can be read at a time: they are on disk, except for the beginning of a table.
const mostPeeked = 1_000_000

func (p *Program) peekCommand() *cobra.Command {
	var output format
	want := peek.Want{Limit: 50}
	var selected selectionFlags
	cmd := &cobra.Command{
		Use:     "peek QUEUE",
		Short:   "Look at messages without consuming them",
		GroupID: toLook,
		Example: "dlxtop peek orders@failed\ndlxtop peek orders@failed -n 1 -o json",
		Long: `Look at the first messages of a queue. They stay in the queue and in their order; standard error
and the JSON show the cost of looking. Where each look counts towards a delivery limit (quorum queues
before 4.3) it shows how many looks are left, and refuses with 2 left. Exit status 1 when dlxtop
refuses a peek because it would do harm, or could not read all that it asked for.`,
		Args:              arguments("a queue"),
		ValidArgsFunction: p.completeQueue(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if want.Limit < 1 || want.Limit > mostPeeked {
				return usage("-n %d: between 1 and %d messages can be read at a time", want.Limit, mostPeeked)
			}

			only, err := selected.selection(p, cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return p.readQueue(cmd.Context(), args[0], func(s *session, t *model.Topology, ref model.QueueRef) error {
				peeked, err := s.peek(cmd.Context(), t, ref, want)
				if err != nil {
					return err
				}
				defer peeked.Messages.Close()
				if only.ByContent() {
					only.Filter = s.look(cmd.Context(), t, ref, peeked.Messages).Filter(only.Filter).Within(cmd.Context())
					if err := p.keepMatching(cmd.Context(), &peeked, only); err != nil {
						return err
					}
				}

				err = p.showPeeked(peeked, t, ref, &output)
				if err == nil && peeked.Stopped != "" && !peeked.Fewer {
					return &exit{status: ExitRefused}
				}
				return err
			})
		},
	}

	cmd.Flags().IntVarP(&want.Limit, "limit", "n", want.Limit, "messages at most")
	selected.register(cmd, p)
	cmd.Flags().BoolVar(&want.Insist, "insist", false, "override a refusal, where possible")
	output.register(cmd)

	return cmd
}

// peek peeks at the head of a queue, unless that would do harm.
func (s *session) peek(
	ctx context.Context, t *model.Topology, ref model.QueueRef, want peek.Want,
) (peek.Peeked, error) {
	look := peek.For(t, ref, s.wants(want))
	if !look.Allowed() {
		return peek.Peeked{}, refused("%s", refusal(look.Refusal))
	}
	if s.free && !look.Free {
		return peek.Peeked{}, refused("nothing was read, because a look has a cost: %s", look.Cost)
	}
	peeked, err := s.broker.Peek(ctx, look)
	s.tellRescued(peeked.Rescued)
	if err != nil {
		return peek.Peeked{}, cmp.Or(refusedLook(err), err)
	}
	if peeked.Stopped != "" {
		s.note("only %v message(s) could be read: %s", peeked.Messages.Len(),
			peeked.Stopped)
	}

	for _, f := range findings.In(t, ref, peeked).Found() {
		if f.Code != "failed-queue-forgets" || !want.Decides { // an action takes them out
			s.note("%s: %s; %s", f.Level, f.Message, f.Remedy)
		}
	}

	return peeked, nil
}

// keepMatching keeps only the selected messages of what was read.
func (p *Program) keepMatching(ctx context.Context, peeked *peek.Peeked, only plan.Selection) error {
	kept, err := pickOf(ctx, peeked.Messages, shownBody, only.Picker(peeked.Plan.Queue), func(*message.Message) {})
	if err != nil {
		return err
	}
	p.tellLacking(only.Filter)
	why := "match"
	if only.Filter == nil {
		why = "failed for the cause " + string(only.Cause)
	}

	p.note("%v of the first %v message(s) %s", kept.Len(), peeked.Messages.Len(), why)
	peeked.Messages = kept
	peeked.Depth = model.Unknown[int64]() // the depth is not that of the kept messages
	return nil
}

// tellLacking says of how many messages a filter could not tell whether they match.
func (p *Program) tellLacking(f *filter.Filter) {
	if words := f.Lacking(); words != "" {
		p.note("%s", words)
	}
}

// pickOf picks messages, and calls note for each picked one, with this much of its body.
func pickOf(
	ctx context.Context, of message.Messages, body int, picker *plan.Picker, note func(*message.Message),
) (message.Part, error) {
	picked := message.Part{Messages: of}
	for i := range of.Len() {
		m, err := of.At(i, body)
		picks := err == nil && picker.Pick(&m)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return picked, err
		}
		if picks {
			note(&m)
			picked.Indexes = append(picked.Indexes, i)
		}
	}

	return picked, nil
}

// wants completes a want with what the connection allows.
func (s *session) wants(want peek.Want) peek.Want {
	want.ReadOnly = s.connection.ReadOnly
	return want
}

// tellRescued says what became of messages at their delivery limit. One without a copy is no longer where it was, which
// is an exit status.
func (p *Program) tellRescued(r peek.Rescued) {
	if r.Any() {
		p.note("%s", r.Words())
	}
	p.uncopied = p.uncopied || !r.Copies()
}

// refusedLook returns the refusal of a look that would lose messages; nil for any other error.
func refusedLook(err error) error {
	var why peek.RefusedLook
	if errors.As(err, &why) {
		return refused("%s", refusal(why.Refusal()))
	}
	return nil
}

// refusal words a refusal, with what --insist would do.
func refusal(r model.Refusal) string { return report.WithInsist(r.Words(), r) }

// showPeeked writes what a look at a queue saw, and says what no look sees.
func (p *Program) showPeeked(peeked peek.Peeked, t *model.Topology, ref model.QueueRef, output *format) error {
	messages, look, q := peeked.Messages, &peeked.Plan, t.Known(ref)
	if n := q.DeadLettering.Or(0); n > 0 {
		p.note("it holds %v dead letter(s) that no queue has taken yet: no look shows them", n)
	}
	if held := t.HeldBack(q, time.Now()); held != "" {
		p.note("%s (delayed retry): no look shows them", held)
	}
	if n := heldByConsumers(q); n > 0 {
		p.note("not read: %v message(s): %s", n, whyHeld)
	}
	if depth, ok := peeked.Depth.Get(); ok && depth > int64(messages.Len()) {
		p.note("the first %v of %v message(s)", messages.Len(), int(depth))
	}

	out := peekJSON{Queue: look.Queue.Name, Method: look.Method, Cost: look.Cost, Rescued: peeked.Rescued.Copied}
	_, part := messages.(message.Part)
	if left, counts := peeked.LooksLeft(); counts && (messages.Len() > 0 || part) {
		out.DeliveryLimit = look.Budget
		out.DeliveriesLeft = &left
		p.note("this look used 1: %s", peek.LooksLeft(left, look.Budget))
	}

	if output.json() {
		return p.writePeeked(out, messages)
	}
	p.note("peek: %s", look.Cost)
	if messages.Len() == 0 {
		p.note("no message is ready")
		return nil
	}

	return p.showTable(messages, t.IsBuffer(ref))
}

// heldByConsumers returns how many messages of a queue are with its consumers, by the statistics.
func heldByConsumers(q *model.Queue) int64 {
	if q.Consumers.Or(0) == 0 {
		return 0
	}
	return q.Unacked.Or(0)
}

const whyHeld = "consumers hold them (unacknowledged): no look shows them"

// shownBody is how many bytes of a body are read for display: up to the maximum of an envelope.
const shownBody = 4 << 20

// showTable writes messages of a buffer, or of another queue, as a table, in two passes: the first measures it.
func (p *Program) showTable(messages message.Messages, buffer bool) error {
	table := &print.Table{Right: []bool{true, false, false, false, false, true}}
	head := []string{"#", "MESSAGE ID", "ROUTING KEY", "DEATHS", message.FailureTitle(buffer), "SIZE", "BODY"}
	table.Measure(head)
	var unread unreadDeaths
	for i := range messages.Len() {
		m, err := messages.At(i, shownBody)
		if err != nil {
			return err
		}
		unread.see(&m)
		table.Measure(messageCells(&m, buffer))
	}

	p.tellUnread(unread)

	table.Fit(p.Out)
	buffered := bufio.NewWriterSize(p.Out, 64<<10)
	_, _ = buffered.WriteString(table.Line(head...)) // Flush returns the error
	for i := range messages.Len() {
		m, err := messages.At(i, shownBody)
		if err != nil {
			return err
		}
		_, _ = buffered.WriteString(table.Line(messageCells(&m, buffer)...))
	}

	return buffered.Flush()
}

func messageCells(m *message.Message, buffer bool) []string {
	return []string{
		strconv.Itoa(m.Position), print.Cell(m.Properties.MessageID, 36), print.Cell(m.RoutingKey, 32),
		print.Cell(m.DeathSummary(), 24), print.Cell(m.FailureIn(buffer), 40), message.Size(int64(m.BodyBytes)),
		print.Shortened(m.BodyPreview(60), 60),
	}
}

// peekJSON is the JSON of `dlxtop peek`.
type peekJSON struct {
	Queue          string      `json:"queue"`                     // its name
	Method         peek.Method `json:"method"`                    // how the queue was looked at
	Cost           string      `json:"cost"`                      // what that costs it, in a sentence
	DeliveryLimit  int64       `json:"delivery_limit,omitempty"`  // when looks use it up
	DeliveriesLeft *int64      `json:"deliveries_left,omitempty"` // of it, after this look: how many looks are left
	// messages at the limit that were moved to the end of the queue
	Rescued  int               `json:"rescued,omitempty"`
	Messages []json.RawMessage `json:"messages"` // in the order of the queue
}

const (
	runMessages = 128      // messages that are encoded together
	runBytes    = 1 << 20  // bytes of their text, after which a run ends early
	runBody     = 64 << 10 // bytes of a body that is encoded beside others; larger ones are written in parts
)

type messageRun struct {
	from, to int    // indexes
	done     int    // the index after the last one in text; the rest is written in parts
	text     []byte // each with the comma and the indentation in front
	unread   unreadDeaths
	err      error
	ready    chan struct{} // closed when it is encoded
}

// writePeeked writes one object, like writeJSON. It uses all processors, with a few runs of messages in memory.
func (p *Program) writePeeked(head peekJSON, messages message.Messages) error {
	var text bytes.Buffer
	head.Messages = []json.RawMessage{}
	if err := print.JSON(&text, head); err != nil {
		return err
	}
	if messages.Len() == 0 {
		_, err := p.Out.Write(text.Bytes())
		return err
	}

	open := bytes.TrimSuffix(text.Bytes(), []byte("]\n}\n"))
	buffered := bufio.NewWriterSize(p.Out, 64<<10)
	_, _ = buffered.Write(open)                           // Flush returns the error
	runs := make(chan *messageRun, runtime.GOMAXPROCS(0)) // as many as are encoded in parallel, in order
	over := make(chan struct{})
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(over)

	workers.Go(func() {
		defer close(runs)
		for from := 0; from < messages.Len(); from += runMessages {
			run := &messageRun{from: from, to: min(from+runMessages, messages.Len()), ready: make(chan struct{})}
			select {
			case runs <- run:
				workers.Go(func() { run.work(messages) })
			case <-over:
				return
			}
		}
	})

	var unread unreadDeaths
	for run := range runs {
		<-run.ready
		unread = append(unread, run.unread...)
		_, _ = buffered.Write(run.text)
		if run.err != nil {
			return run.err
		}
		for i := run.done; i < run.to; i++ {
			if err := writeLarge(buffered, messages, i, &unread); err != nil {
				return err
			}
		}
	}

	p.tellUnread(unread)
	_, _ = buffered.WriteString("\n  ]\n}\n")
	return buffered.Flush()
}

// work encodes the run, up to the first message that is too large for it.
func (r *messageRun) work(messages message.Messages) {
	defer close(r.ready)
	var text bytes.Buffer
	r.done = r.from
	err := messages.Range(r.from, r.to, runBody, func(m *message.Message) error {
		if len(m.Body) < m.BodyBytes || text.Len() >= runBytes {
			return errRunEnds
		}
		r.unread.see(m)
		if err := writeInList(&text, m, nil, r.done); err != nil {
			return err
		}
		r.done++
		return nil
	})

	if err != errRunEnds {
		r.err = err
	}

	r.text = text.Bytes()
}

var errRunEnds = errors.New("the run ends")

// writeLarge writes a message with only a part of its body in memory at a time.
func writeLarge(out io.Writer, messages message.Messages, i int, unread *unreadDeaths) error {
	m, err := messages.At(i, shownBody)
	if err != nil {
		return err
	}
	unread.see(&m)

	return writeInList(out, &m, message.BodyOf(messages, i), i)
}

func writeInList(out io.Writer, m *message.Message, body io.ReaderAt, i int) error {
	before := ",\n    "
	if i == 0 {
		before = before[1:]
	}
	if _, err := io.WriteString(out, before); err != nil {
		return err
	}

	return m.WriteJSON(out, body, "    ", "  ")
}

// unreadDeaths are the messages whose x-death cannot be read in full, and why.
type unreadDeaths []string

func (u *unreadDeaths) see(m *message.Message) {
	if m.DeathsError != "" {
		*u = append(*u, fmt.Sprintf("message %d: %s", m.Position, m.DeathsError))
	}
}

func (p *Program) tellUnread(u unreadDeaths) {
	if len(u) > 0 {
		p.note("the x-death of %v message(s) cannot be read in full; %s", len(u), u[0])
	}
}
