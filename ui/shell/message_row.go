package shell

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/story"
	"github.com/dlxtop/dlxtop/ui/term"
)

// MessageID is the identity of a message on the screen: its fingerprint, and its number among its twins, counted from
// the head.
type MessageID struct {
	Fingerprint message.Fingerprint
	twin        int
}

// MessageRow is one peeked message as a row of the table: the parts that are drawn often, and where the rest is. Rows
// are made outside Update; preview is read when they become visible (readParts).
type MessageRow struct {
	Id        MessageID
	Peeked    *PeekedMessages
	Since     time.Time // when it was published, as far as it says; zero: unknown
	key       string    // the first routing key, as far as it says
	name      string    // its class or type; "" also where that is the routing key
	failure   string
	deaths    string
	Preview   string
	died      int64 // times
	Size      int   // bytes of its body
	Position  int32
	Index     int32 // in peeked
	exact     bool  // since is not only the latest possible time
	malformed bool  // its x-death is
	Matched   bool  // the filter matches it
	Other     bool  // it failed for a cause other than the displayed one
}

// PeekedMessages are the messages of a look, with the last one read.
type PeekedMessages struct {
	message.Messages
	at   int32
	last *message.Message
}

const (
	previewWidth = 160     // how much of a text a row keeps ready: more than a wide terminal shows
	ShownBody    = 4 << 20 // bytes of a body read for display: the maximum of an envelope
	rowsAtOnce   = 512     // one processor's share of the work
)

// Whole returns the message for display, if it was the last one read: only the beginning of a huge body.
func (r *MessageRow) Whole() *message.Message {
	if r.Peeked.at != r.Index {
		return nil
	}
	return r.Peeked.last
}

// MessageRows makes the rows of a queue's messages (a buffer or not), and calls see with each message and its index:
// one at a time, in any order. It reads every message, so it runs outside Update, on all processors.
func MessageRows(
	messages message.Messages, queue model.QueueRef, buffer bool, see func(int, *message.Message),
) ([]*MessageRow, error) {
	peeked := &PeekedMessages{Messages: messages}
	all := make([]MessageRow, messages.Len())
	var seeing sync.Mutex

	err := ForEach(context.Background(), len(all), func() func(int) error {
		known := interned{}
		return func(i int) error {
			m, err := messages.At(i, ShownBody)
			if err != nil {
				return err
			}

			all[i].describe(&m, queue, buffer, known)
			all[i].Peeked, all[i].Index = peeked, int32(i)
			seeing.Lock()
			defer seeing.Unlock()
			see(i, &m)
			return nil
		}
	})

	rows := make([]*MessageRow, len(all))
	twins := make(message.Twins, len(all))
	for i := range all {
		rows[i] = &all[i]
		f := all[i].Id.Fingerprint
		all[i].Id.twin = twins[f]
		twins[f]++
	}

	Renumber(rows)
	return rows, err
}

// ForEach works on the first n indexes, on all processors, until ctx ends. begin makes the work of one of these.
func ForEach(ctx context.Context, n int, begin func() (one func(i int) error)) error {
	var work errgroup.Group
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), n/rowsAtOnce+1) {
		work.Go(func() error {
			one := begin()
			for {
				end := int(next.Add(rowsAtOnce))
				for i := end - rowsAtOnce; i < min(end, n); i++ {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					if err := one(i); err != nil {
						return err
					}
				}

				if end >= n {
					return nil
				}
			}
		})
	}

	return work.Wait()
}

// Renumber gives messages that came back to the end of their queue, and are listed there, places behind the others.
func Renumber(rows []*MessageRow) {
	last := int32(0)
	for _, r := range rows {
		r.Position = max(r.Position, last+1)
		last = r.Position
	}
}

func (r *MessageRow) describe(m *message.Message, queue model.QueueRef, buffer bool, known interned) {
	r.Id.Fingerprint, r.Position, r.Size, r.Matched = m.Fingerprint, int32(m.Position), m.BodyBytes, true
	failure := []string{m.ReplayedWords(), m.FailureIn(buffer)}
	failure = slices.DeleteFunc(failure, func(words string) bool { return words == "" })
	r.failure = known.text(strings.Join(failure, "; "))
	r.deaths, r.died = known.text(m.DeathSummary()), m.DeathCount()
	if m.DeathsError != "" {
		r.deaths, r.malformed = "malformed", true
	}

	if events := story.Of(m, queue); len(events) > 0 {
		r.Since = events[0].Time
		r.exact = events[0].TimeExact
		r.key = known.text(events[0].Detail)
	}

	if name := known.text(m.Name()); name != r.key {
		r.name = name
	}
}

// interned keeps each text once: a hundred thousand messages have few different ones.
type interned map[string]string

// text returns the beginning of a text, printable, that retains nothing else of its message.
func (in interned) text(s string) string {
	s = message.WholeRunes(s, previewWidth)
	known, ok := in[s]
	if !ok {
		known = strings.Clone(model.Printable(s))
		in[strings.Clone(s)] = known
	}

	return known
}

// SampleOf returns the messages of rows, and the selection of exactly these.
func SampleOf(rows []*MessageRow) (message.Messages, plan.Selection) {
	part := message.Part{Messages: rows[0].Peeked.Messages, Indexes: make([]int, len(rows))}
	selection := plan.Selection{Fingerprints: make(message.Twins, len(rows))}
	for i, r := range rows {
		part.Indexes[i] = int(r.Index)
		selection.Fingerprints[r.Id.Fingerprint]++
	}

	return part, selection
}

// age returns how long ago the message was published: "2m 04s", "≥ 2m 04s" when only the latest possible time is known.
func (r *MessageRow) age(now time.Time) string {
	age := Age(max(now.Sub(r.Since), 0))
	switch {
	case r.Since.IsZero():
		return "?"
	case r.exact:
		return age
	}

	return "≥ " + age
}

// place returns the position in six cells.
func (r *MessageRow) place() string {
	if r.Position >= 100_000 {
		return strconv.Itoa(int(r.Position))
	}
	return model.Count(r.Position)
}

func rowID(r *MessageRow) MessageID { return r.Id }

var byPosition = term.By(func(r *MessageRow) int32 { return r.Position })

func NewMessageTable(e *Env) term.Table[MessageID, *MessageRow] {
	t := term.NewTable[MessageID, *MessageRow](e.Plain, rowID, byPosition, nil, nil)
	SetMessageColumns(e, &t, nil, false)
	return t
}

// SetMessageColumns gives a table the columns for a queue's messages (a buffer or not); with waits they include when
// each leaves.
func SetMessageColumns(e *Env, t *term.Table[MessageID, *MessageRow], waits *story.Waits, buffer bool) {
	const behindAge = 2
	columns := term.Columns(`
		#:            6 right sorts
		AGE:          9 sorts
		` + message.FailureTitle(buffer) + `: 24 flex 12 max 70 sorts
		NAME:        12 flex 1 max 24 drop 4 blank middle sorts
		ROUTING KEY: 12 flex 1 max 24 middle sorts
		DEATHS:      11 flex 1 max 18 drop 1 most blank
		SIZE:         5 drop 2 right most
		BODY:        20 flex 3 drop 3 muted
	`)
	if waits != nil {
		columns = slices.Insert(columns, behindAge, term.Column{Title: "DUE", Width: 10, Sorts: true})
	}

	t.Cells = func(r *MessageRow) []any {
		deaths := term.Text.Span(r.deaths)
		if r.malformed {
			deaths = term.Warning.Span(term.MarkWarning + " " + r.deaths)
		}
		cells := []any{
			term.Muted.Span(r.place()).By(float64(r.Position)),
			term.Text.Span(r.age(e.Shown)).By(-float64(r.Since.UnixMilli())),
			r.failure,
			r.name,
			r.key,
			deaths.By(float64(r.died)),
			term.Muted.Span(message.Size(int64(r.Size))).By(float64(r.Size)),
			r.Preview,
		}
		if waits != nil {
			cells = slices.Insert(cells, behindAge, any(waitField(WaitOf(waits, int(r.Position)), e.Shown)))
		}
		return cells
	}

	t.SetColumns(columns)
}

// waitField returns when a message leaves its buffer, from now. A mark says that its own time ends before that.
func waitField(w *story.Wait, now time.Time) term.Span {
	if w == nil {
		return term.Muted.Span("")
	}

	late := ""
	style := term.Text
	if w.HeldBack() && !w.Due.Time.IsZero() && w.Due.Time.Before(now) {
		late, style = " "+term.MarkWarning, term.Warning
	}

	switch {
	case w.Leaves.Kind == story.DueUnknown:
		return term.Danger.Span("never" + late).By(math.Inf(1))
	case w.Leaves.Kind == story.DueEarlierTTL:
		return term.Warning.Span("?" + late).By(math.Inf(1))
	case w.Leaves.Time.Before(now):
		return term.Muted.Span("left").ByTime(w.Leaves.Time)
	case w.Cut:
		return term.Danger.Span(w.Leaves.In(now) + " " + term.MarkError).ByTime(w.Leaves.Time)
	}

	return style.Span(w.Leaves.In(now) + late).ByTime(w.Leaves.Time)
}

// WaitOf returns what a look found out about when a message leaves; nil when nothing.
func WaitOf(waits *story.Waits, position int) *story.Wait {
	if i := position - 1; waits != nil && i >= 0 && i < len(waits.Messages) {
		return &waits.Messages[i]
	}
	return nil
}

// ReadAhead is how many rows are read on each side of the visible ones, when some of these are unread: holding a key
// down shows no gaps.
const ReadAhead = 100

// ReadMsg brings what was read of messages that are on disk.
type ReadMsg struct {
	Request Request
	Read    readParts
}

// readParts are the displayed parts of messages that rows do not keep.
type readParts struct {
	previews map[*MessageRow]string
	row      *MessageRow // of whole; nil: it was read before
	Whole    *message.Message
}

// Parts reads the beginnings of the bodies of rows, and one message for display.
func Parts(rows []*MessageRow, one *MessageRow) readParts {
	read := readParts{previews: make(map[*MessageRow]string, len(rows)), row: one}
	for _, r := range rows {
		preview := ""
		if m, err := r.Peeked.At(int(r.Index), 4*previewWidth); err == nil {
			preview = strings.Clone(m.BodyPreview(previewWidth))
		}
		read.previews[r] = cmp.Or(preview, "(empty)")
	}

	if one != nil {
		m, err := one.Peeked.At(int(one.Index), ShownBody)
		if err != nil { // a disk error: what is known of it stays on the screen
			m = message.Message{
				Position: int(one.Position), BodyBytes: one.Size, Fingerprint: one.Id.Fingerprint,
				DeathsError: err.Error(),
			}
		}
		read.Whole = &m
	}

	return read
}

func (p readParts) Take() {
	for r, preview := range p.previews {
		r.Preview = preview
	}
	if p.row != nil {
		p.row.Peeked.at = p.row.Index
		p.row.Peeked.last = p.Whole
	}
}

// WholeMessages calls each with the whole messages of rows, in the order of the queue.
func WholeMessages(ctx context.Context, rows []*MessageRow, each message.Visit) error {
	for _, r := range slices.SortedFunc(slices.Values(rows), byPosition) {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, err := r.Peeked.At(int(r.Index), 0)
		if err != nil {
			return err
		}
		if err := each(&m); err != nil {
			return err
		}
	}

	return nil
}
