package ui

import (
	"cmp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"dlxtop/model"
)

// messageID is the identity of a message on the screen: its fingerprint, and which of its twins it is, counted from the head.
type messageID struct {
	fingerprint model.Fingerprint
	twin        int
}

// messageRow is one peeked message as the table shows it: what is drawn of it often, and where the rest is. Rows are made outside
// Update; only what draws them fills preview.
type messageRow struct {
	id        messageID
	peeked    *peekedMessages
	since     time.Time // when it was published, as far as it tells; zero: it does not
	key       string    // the first routing key that it tells of
	failure   string
	deaths    string
	preview   string
	died      int64 // times
	size      int   // bytes of its body
	position  int32
	index     int32 // in peeked
	exact     bool  // since is not just the latest possible time
	malformed bool  // its x-death is
	matched   bool  // the filter lets it through
}

// peekedMessages are the messages of a look, with the one at hand that was drawn last.
type peekedMessages struct {
	model.Messages
	at   int32
	last *model.Message
}

const (
	previewWidth = 160     // how much of a text a row holds ready: more than a wide terminal shows
	shownBody    = 4 << 20 // bytes of a body that are read to show it: what an envelope may have
	rowsAtOnce   = 512     // a share of the work of one processor
)

// message is the message, read for what draws it: the beginning of a huge body only.
func (r *messageRow) message() *model.Message {
	if p := r.peeked; p.last == nil || p.at != r.index {
		m, err := p.At(int(r.index), shownBody)
		if err != nil { // the disk: what is known of it stays on the screen
			m = model.Message{Position: int(r.position), BodyBytes: r.size, Fingerprint: r.id.fingerprint, DeathsError: err.Error()}
		}
		p.at, p.last = r.index, &m
	}
	return r.peeked.last
}

// messageRows makes the rows of a page, and tells the highest delivery count among them. It looks into every message, so it runs outside
// Update, on all processors.
func messageRows(messages model.Messages, queue model.QueueRef) ([]*messageRow, int64, error) {
	peeked := &peekedMessages{Messages: messages}
	all := make([]messageRow, messages.Len())
	var work errgroup.Group
	var next, delivered atomic.Int64
	for range min(runtime.GOMAXPROCS(0), len(all)/rowsAtOnce+1) {
		work.Go(func() error {
			known := interned{}
			for {
				end := int(next.Add(rowsAtOnce))
				for i := end - rowsAtOnce; i < min(end, len(all)); i++ {
					m, err := messages.At(i, shownBody)
					if err != nil {
						return err
					}
					all[i].describe(&m, queue, known)
					all[i].peeked, all[i].index = peeked, int32(i)
					if n, ok := m.Headers.Integer("x-delivery-count"); ok {
						for most := delivered.Load(); n > most && !delivered.CompareAndSwap(most, n); most = delivered.Load() {
						}
					}
				}
				if end >= len(all) {
					return nil
				}
			}
		})
	}
	err := work.Wait()
	rows := make([]*messageRow, len(all))
	twins := make(map[model.Fingerprint]int, len(all))
	for i := range all {
		rows[i] = &all[i]
		f := all[i].id.fingerprint
		all[i].id.twin = twins[f]
		twins[f]++
	}
	return rows, delivered.Load(), err
}

// describe fills a row.
func (r *messageRow) describe(m *model.Message, queue model.QueueRef, known interned) {
	r.id.fingerprint, r.position, r.size, r.matched = m.Fingerprint, int32(m.Position), m.BodyBytes, true
	failure := ""
	if f, ok := m.Failure(); ok {
		failure = f.String()
	}
	if words := m.ReplayedWords(); words != "" {
		failure = strings.TrimSuffix(words+"; "+failure, "; ")
	}
	r.failure = known.text(failure)
	r.deaths, r.died = known.text(m.DeathSummary()), m.DeathCount()
	if m.DeathsError != "" {
		r.deaths, r.malformed = "malformed", true
	}
	if story := m.Story(queue); len(story) > 0 {
		r.since, r.exact = story[0].Time, story[0].TimeExact
		r.key = known.text(story[0].Detail)
	}
}

// interned holds each text once: a hundred thousand messages have few different ones.
type interned map[string]string

// text is the beginning of a text, printable, that keeps nothing else of its message in memory.
func (in interned) text(s string) string {
	if end := previewWidth; len(s) > end {
		for !utf8.RuneStart(s[end]) && end > previewWidth-utf8.UTFMax {
			end--
		}
		s = s[:end]
	}
	known, ok := in[s]
	if !ok {
		known = strings.Clone(model.Printable(s))
		in[strings.Clone(s)] = known
	}
	return known
}

// body is the message's body on one line.
func (r *messageRow) body() string {
	if r.preview == "" {
		if m, err := r.peeked.At(int(r.index), 4*previewWidth); err == nil {
			r.preview = strings.Clone(m.BodyPreview(previewWidth))
		}
		if r.preview == "" {
			r.preview = "(empty)"
		}
	}
	return r.preview
}

// sampleOf are the messages of rows, and the selection of exactly these.
func sampleOf(rows []*messageRow) (model.Messages, model.Selection) {
	part := model.Part{Messages: rows[0].peeked.Messages, Indexes: make([]int, len(rows))}
	selection := model.Selection{Fingerprints: make(map[model.Fingerprint]int, len(rows))}
	for i, r := range rows {
		part.Indexes[i] = int(r.index)
		selection.Fingerprints[r.id.fingerprint]++
	}
	return part, selection
}

// age is how long ago the message was published: "2m 04s", "≥ 2m 04s" when only the latest time is known.
func (r *messageRow) age(now time.Time) string {
	switch {
	case r.since.IsZero():
		return "?"
	case r.exact:
		return age(max(now.Sub(r.since), 0))
	}
	return "≥ " + age(max(now.Sub(r.since), 0))
}

// place is the position in six cells.
func (r *messageRow) place() string {
	if r.position >= 100_000 {
		return strconv.Itoa(int(r.position))
	}
	return model.Count(int64(r.position))
}

func rowID(r *messageRow) messageID { return r.id }

func byPosition(a, b *messageRow) int { return cmp.Compare(a.position, b.position) }

// newMessageTable is the table of a queue's messages.
func newMessageTable(e *env) table[messageID, *messageRow] {
	return newTable(e, rowID, byPosition, messageColumns(e, nil)...)
}

// messageColumns are the columns of a queue's messages; when they leave is one of them when they wait.
func messageColumns(e *env, waits *model.Waits) []column[*messageRow] {
	s := e.styles
	columns := []column[*messageRow]{
		{
			title: "#", width: 6, right: true,
			cell:    func(r *messageRow) field { return field{r.place(), s.Muted} },
			compare: byPosition,
		},
		{
			title: "AGE", width: 9,
			cell: func(r *messageRow) field { return field{r.age(e.now()), s.Text} },
			compare: func(a, b *messageRow) int {
				return b.since.Compare(a.since)
			},
		},
		{
			title: "ROUTING KEY", width: 12, max: 24, flex: 1, middle: true,
			cell:    func(r *messageRow) field { return field{r.key, s.Text} },
			compare: func(a, b *messageRow) int { return cmp.Compare(a.key, b.key) },
		},
		{
			title: "DEATHS", width: 11, max: 18, flex: 1,
			cell: func(r *messageRow) field {
				if r.malformed {
					return field{markWarning + " " + r.deaths, s.Warning}
				}
				return field{r.deaths, s.Text}
			},
			compare: func(a, b *messageRow) int { return cmp.Compare(a.died, b.died) }, most: true,
		},
		{
			title: "FAILURE", width: 16, max: 70, flex: 6,
			cell:    func(r *messageRow) field { return field{r.failure, s.Text} },
			compare: func(a, b *messageRow) int { return cmp.Compare(a.failure, b.failure) },
		},
		{
			title: "SIZE", width: 5, right: true, drop: 1,
			cell:    func(r *messageRow) field { return field{model.Size(int64(r.size)), s.Muted} },
			compare: func(a, b *messageRow) int { return cmp.Compare(a.size, b.size) }, most: true,
		},
		{
			title: "BODY", width: 20, flex: 3, drop: 2,
			cell: func(r *messageRow) field { return field{r.body(), s.Muted} },
		},
	}
	if waits != nil {
		const behindAge = 2
		columns = slices.Insert(columns, behindAge, waitColumn(e, waits))
	}
	return columns
}
