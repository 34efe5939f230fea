package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/naming"
	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/find"
	"github.com/dlxtop/dlxtop/model/message"
)

// The JSON of `dlxtop find`: a line for each message that was found, and one at the end, in which a queue is named as
// peek takes it: VHOST/NAME, in / its name alone.
type (
	hitJSON struct {
		VHost       string              `json:"vhost"`                // of the queue
		Queue       string              `json:"queue"`                // its name
		Position    int                 `json:"position"`             // in the queue; 1 is the head
		MessageID   string              `json:"message_id,omitempty"` // of the message
		Exchange    string              `json:"exchange"`             // it was published to
		RoutingKey  string              `json:"routing_key"`          // it was published with
		Published   string              `json:"published,omitempty"`  // when, if its publisher says so
		BodyBytes   int                 `json:"body_bytes"`           // how long its body is
		Fingerprint message.Fingerprint `json:"fingerprint"`          // of the message: a hash of all that it is
		Where       filter.PlaceKind    `json:"where"`                // property, header, body, or matched: an expression
		Name        string              `json:"name,omitempty"`       // of the property or the header
		Packed      string              `json:"packed,omitempty"`     // what the body had to be unpacked from
		Match       string              `json:"match"`                // with what is around it, printable
	}
	foundJSON struct {
		Found   int           `json:"found"`      // hits
		Read    int64         `json:"read"`       // messages
		Queues  int           `json:"queues"`     // that were read
		Took    int64         `json:"elapsed_ms"` // how long it took
		NotRead []notReadJSON `json:"not_read"`   // queues that were not read
	}
)

// The default bounds of a search.
const (
	mostFound    = 1_000   // messages
	mostToFind   = 100_000 // messages that -n can ask for
	mostSearched = 100_000 // messages of each queue
)

type finding struct {
	text    string
	pattern string
	want    find.Want
	again   bool
	output  format
}

func (p *Program) findCommand() *cobra.Command {
	f := &finding{want: find.Want{Limit: mostSearched, Hits: mostFound}}
	cmd := &cobra.Command{
		Use:     "find TEXT",
		Short:   "Find a text or an expression in the messages of all queues that can be read without harm",
		GroupID: toLook,
		Example: "dlxtop find ord-4711\ndlxtop find '=json.user.id == 121'",
		Long: `Look for a text, whatever its case, in the messages of all queues: in their ids and other properties,
their headers and their bodies, also where a body is packed (gzip, zstd, deflate, bzip2, base64; the
first MiB of what is in it). TEXT that begins with = is an expression, as for --filter. The messages
stay in their queues and in their order.

Failed queues are read first, then buffers, then all others, one at a time. A queue is read where a
look has no cost but the mark redelivered: classic queues, quorum queues from 4.3, streams. The others
are named with what a look would cost, and --read-costly reads them, too; what an earlier look has read
of them is searched as of then, unless messages have left the queue since or it has consumers. While a
queue is read, its messages are held, for 30 s at most: consumers are served first, but do not get those
that are held.

A message is shown when it is found: queue, position, when it was published, routing key, where the
text is, and the text with what is around it; of a stream, when all of it was read. -o json writes one
line a message, and at the end one with "found", "read", "queues", "elapsed_ms" and "not_read".
Ctrl-c ends it; what was not read is shown then, too.

Exit status 0 when something was found, 1 when nothing was, or a queue could not be read because of an
error, and 3 when there are messages and none could be read.`,
		Args:              arguments("a text, or = and an expression"),
		ValidArgsFunction: first(p.completeFilter("=")),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.text = args[0]
			if err := f.check(p); err != nil {
				return err
			}
			return p.read(cmd.Context(), func(s *session, t *model.Topology) error {
				return s.find(cmd.Context(), t, f)
			})
		},
	}

	set := cmd.Flags()
	set.StringVar(&f.pattern, "queues", "", "only queues with such names: `GLOB`, with * and ?")
	_ = cmd.RegisterFlagCompletionFunc("queues", p.onBroker("", queueNames))
	set.IntVar(&f.want.Limit, "limit", f.want.Limit, "at most this many messages of each queue, from its head")
	set.IntVarP(&f.want.Hits, "number", "n", f.want.Hits, "end after this number of messages found")
	set.BoolVar(&f.want.Costly, "read-costly", false, "also read queues where a look has a cost, as peek does")
	registerAgain(cmd, &f.again)
	f.output.register(cmd)

	return cmd
}

// check parses the text, and refuses what cannot be searched for.
func (f *finding) check(p *Program) error {
	switch {
	case strings.TrimSpace(f.text) == "":
		return usage("there is no text to look for: name one, or = and an expression")
	case f.want.Limit < 1 || f.want.Limit > mostPeeked:
		return usage("--limit %d: between 1 and %d messages of a queue can be read", f.want.Limit, mostPeeked)
	case f.want.Hits < 1 || f.want.Hits > mostToFind:
		return usage("-n %d: between 1 and %d messages can be found", f.want.Hits, mostToFind)
	}

	saved, err := p.savedFilters(f.text)
	if err != nil {
		return err
	}
	if f.want.Filter, err = saved.Filter(f.text); err != nil {
		return usage("%w", err)
	}

	return nil
}

func (s *session) find(ctx context.Context, t *model.Topology, f *finding) error {
	if f.pattern != "" {
		f.want.Queue = func(ref model.QueueRef) bool { return naming.Matches(f.pattern, ref) }
	}

	f.want.Replayed = s.look(ctx, t, model.QueueRef{}, nil).Replayed
	f.want.ReadOnly = s.connection.ReadOnly
	kept := s.shared(ctx, t, f.again)
	f.want.Kept = kept.Has
	queues := find.Queues(t, f.want)
	if len(queues) == 0 && f.pattern != "" {
		// those with such a name may be empty
		if _, err := naming.Matching(f.pattern, naming.All(t), "queue"); err != nil {
			return usage("%w", err)
		}
	}

	enter := func(ctx context.Context, vhost string) error {
		return s.checkCluster(ctx, vhost, t.Snapshot.Overview)
	}
	searching, stop := context.WithCancel(ctx)
	defer stop()
	skipped := find.Skipped(queues)
	s.sayNotRead(skipped)
	looker := find.Sharing{Looker: s.broker, Cache: kept, Costly: f.want.Costly}
	search := find.New(looker, queues, f.want, enter)

	type ending struct {
		result find.Result
		err    error
	}

	ended := make(chan ending, 1) // the search's end must not wait for the output
	go func() {
		result, err := search.Run(searching)
		ended <- ending{result, err}
	}()

	w := &foundWriter{Program: s.Program, output: &f.output, line: s.progress()}
	w.follow(search, stop)
	e := <-ended
	w.line.Stop()

	if w.failed != nil {
		return w.failed
	}
	if err := s.showFound(e.result, len(skipped), &f.output); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case e.err != nil:
		return e.err
	}

	return statusOfSearch(e.result)
}

// statusOfSearch tells a script whether the text is there: "not found" is only said of messages that were read.
func statusOfSearch(r find.Result) error {
	unread := func(n find.NotRead) bool { return n.Messages.Or(1) > 0 }
	switch {
	case r.Read == 0 && slices.ContainsFunc(r.NotRead, unread):
		return &exit{status: ExitConnect}
	case r.Hits == 0 || r.Failed != nil:
		return &exit{status: ExitRefused}
	}

	return nil
}

type foundWriter struct {
	*Program
	output *format
	line   *report.Progress
	rows   int
	failed error // writing the output failed
}

// follow writes until the search has ended. If writing fails, it stops the search.
func (w *foundWriter) follow(search *find.Search, stop func()) {
	for more := true; more; {
		var hits []find.Hit
		var progress find.Progress
		hits, progress, more = search.Next()
		if len(hits) > 0 && w.failed == nil {
			w.line.Clear()
			if w.failed = w.write(hits); w.failed != nil {
				stop()
			}
		}

		if more {
			w.line.Draw(model.Sayf("%v of %v queue(s)   %v message(s) read   %v/s   %v found   %s", progress.Queues,
				progress.Of, progress.Read, progress.Rate(), int64(progress.Hits), progress.Now))
		}
	}
}

func (w *foundWriter) write(hits []find.Hit) error {
	var text strings.Builder
	asJSON := w.output.json()
	for i := range hits {
		if asJSON {
			text.Write(print.JSONLine(hitOf(&hits[i])))
			continue
		}

		if w.rows == 0 {
			text.WriteString(foundTable.Line("QUEUE", "#", "PUBLISHED", "ROUTING KEY", "IN", "TEXT"))
		}

		w.rows++
		h := &hits[i]
		before, found, after := h.Excerpt()
		text.WriteString(foundTable.Line(print.Cell(h.Queue.String(), 32), strconv.Itoa(h.Position), seenAt(h.Published),
			print.Cell(h.RoutingKey, 24), print.Cell(h.Where(), 24), print.Shortened(before+found+after, 120)))
	}

	if _, err := w.Out.Write([]byte(text.String())); err != nil {
		return fmt.Errorf("write what was found: %w", err)
	}

	return nil
}

func hitOf(h *find.Hit) hitJSON {
	before, found, after := h.Excerpt()
	return hitJSON{
		VHost:       h.Queue.VHost,
		Queue:       h.Queue.Name,
		Position:    h.Position,
		MessageID:   message.TextJSON(h.MessageID),
		Exchange:    message.TextJSON(h.Exchange),
		RoutingKey:  message.TextJSON(h.RoutingKey),
		BodyBytes:   h.BodyBytes,
		Fingerprint: h.Fingerprint,
		Where:       h.Place.Kind,
		Name:        message.TextJSON(h.Place.Name),
		Packed:      h.Packed,
		Match:       before + found + after,
		Published:   message.JSONTime(h.Published.Or(time.Time{})),
	}
}

// foundTable is not measured, because its rows come one by one.
var foundTable = print.Table{Widths: []int{32, 7, 19, 24, 24, 0}, Right: []bool{1: true}, Open: true}

func (p *Program) sayNotRead(queues []find.NotRead) {
	for _, why := range find.Reasons(queues) {
		p.note("not read: %s", why.Words())
	}
}

// showFound shows the result of a search. The first said queues that were not read are already shown.
func (p *Program) showFound(r find.Result, said int, output *format) error {
	for _, rescued := range r.Rescued {
		p.tellRescued(rescued)
	}

	if output.json() {
		out := foundJSON{
			Found:   r.Hits,
			Read:    r.Read,
			Queues:  r.Queues,
			Took:    r.Took.Milliseconds(),
			NotRead: []notReadJSON{},
		}

		for _, n := range r.NotRead {
			out.NotRead = append(out.NotRead, notReadJSON{n.Queue.String(), n.Messages, n.Why})
		}
		if _, err := p.Out.Write(print.JSONLine(out)); err != nil {
			return fmt.Errorf("write what was found: %w", err)
		}
	}

	p.sayNotRead(r.NotRead[said:])
	p.tellLacking(r.Filter)
	words := model.Sayf("%v message(s) found in %v message(s) read of %v queue(s), %s", r.Hits, r.Read, r.Queues, r.Took)
	if n := len(r.NotRead); n > 0 {
		words += model.Sayf("; not read: %v queue(s)", n)
	}

	p.note("%s", words)
	return nil
}
