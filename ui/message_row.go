package ui

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dlxtop/model"
)

// messageID is the identity of a message on the screen: its fingerprint, and which of its twins it is, counted from the head.
type messageID struct {
	fingerprint model.Fingerprint
	twin        int
}

// messageRow is one peeked message as the table shows it. Rows are made outside Update; only what draws them fills preview.
type messageRow struct {
	id      messageID
	message *model.Message
	key     string // the first routing key that it tells of
	failure string
	deaths  string
	since   time.Time // when it was published, as far as it tells; zero: it does not
	exact   bool      // since is not just the latest possible time
	matched bool      // the filter lets it through
	preview string
}

// previewWidth is how much of a body a row holds ready: more than a wide terminal shows.
const previewWidth = 160

// messageRows makes the rows of a page. It looks into every message, so it runs outside Update.
func messageRows(messages []model.Message, queue model.QueueRef) []*messageRow {
	rows := make([]*messageRow, len(messages))
	twins := make(map[model.Fingerprint]int, len(messages))
	for i := range messages {
		m := &messages[i]
		row := &messageRow{id: messageID{m.Fingerprint, twins[m.Fingerprint]}, message: m, matched: true}
		twins[m.Fingerprint]++
		if f, ok := m.Failure(); ok {
			row.failure = model.Printable(f.String())
		}
		if words := m.ReplayedWords(); words != "" {
			row.failure = strings.TrimSuffix(words+"; "+row.failure, "; ")
		}
		row.deaths = model.Printable(m.DeathSummary())
		if m.DeathsError != "" {
			row.deaths = "malformed"
		}
		if story := m.Story(queue); len(story) > 0 {
			row.since, row.exact = story[0].Time, story[0].TimeExact
			row.key = model.Printable(story[0].Detail)
		}
		rows[i] = row
	}
	return rows
}

// body is the message's body on one line.
func (r *messageRow) body() string {
	if r.preview == "" {
		r.preview = r.message.BodyPreview(previewWidth)
		if r.preview == "" {
			r.preview = "(empty)"
		}
	}
	return r.preview
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

func rowID(r *messageRow) messageID { return r.id }

func byPosition(a, b *messageRow) int { return cmp.Compare(a.message.Position, b.message.Position) }

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
			cell:    func(r *messageRow) field { return field{model.Count(int64(r.message.Position)), s.Muted} },
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
				if r.message.DeathsError != "" {
					return field{markWarning + " " + r.deaths, s.Warning}
				}
				return field{r.deaths, s.Text}
			},
			compare: func(a, b *messageRow) int { return cmp.Compare(a.message.DeathCount(), b.message.DeathCount()) }, most: true,
		},
		{
			title: "FAILURE", width: 16, max: 70, flex: 6,
			cell:    func(r *messageRow) field { return field{r.failure, s.Text} },
			compare: func(a, b *messageRow) int { return cmp.Compare(a.failure, b.failure) },
		},
		{
			title: "SIZE", width: 5, right: true, drop: 1,
			cell:    func(r *messageRow) field { return field{model.Size(int64(r.message.BodyBytes)), s.Muted} },
			compare: func(a, b *messageRow) int { return cmp.Compare(a.message.BodyBytes, b.message.BodyBytes) }, most: true,
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
