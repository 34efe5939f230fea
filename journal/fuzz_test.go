package journal_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Rows that a disk has changed make an error in one sentence, or a record that can be told; they end no program.
func FuzzRows(f *testing.F) {
	path := filepath.Join(f.TempDir(), "journal.db")
	j := journal.New(journal.Options{Path: path})
	f.Cleanup(func() { j.Close() })
	// A drop, whose undo has not come to its end.
	first := must.Get(j.Begin(f.Context(), record(plan.Drop)))(f)
	second := must.Get(j.Begin(f.Context(), undoOf(first)))(f)
	must.Do(f, j.Write(second, restored(1, 2), settled(plan.Moved, 1)))
	db := must.Get(sql.Open("sqlite", path+"?_pragma=synchronous(off)"))(f)
	f.Cleanup(func() { db.Close() })
	for _, query := range []string{
		fmt.Sprintf(`INSERT INTO entries(record, count, content) VALUES(%d, 1, '')`, first),
		fmt.Sprintf(`INSERT INTO outcomes(record, outcome, reason, count, positions) VALUES(%d, '', '', 1, '')`, first),
	} {
		must.Get(db.Exec(query))(f)
	}
	lines := func(entries []plan.Entry) string {
		var b strings.Builder
		for i := range entries {
			line := must.Get(json.Marshal(entries[i].JSON()))(f)
			b.Write(append(line, '\n'))
		}
		return b.String()
	}
	account := `{"moved":0,"dropped":2,"refused":0,"returned":0,"unknown":0,"gone":0,"stopped":"the disk is full"}`
	f.Add(lines(dropped(1, 2, 3)), lines(restored(1, 2)), "dropped", uint16(1), uint16(3), account, "1767225600000", "3")
	f.Add(lines(dropped(1)), `{"position":2,"fingerprint":"00112233445566778899aabbccddeeff","exchange":"","routing_key":"q","undoes":1}`, "moved", uint16(1), uint16(1), "", "", "-1")
	f.Add("{}\n\n[", "null", "\x1b[2J", uint16(9), uint16(9), "null", "soon", "9223372036854775807")
	f.Fuzz(func(t *testing.T, content, undoing, outcome string, from, to uint16, account, ended, planned string) {
		for _, change := range []struct {
			query  string
			values []any
		}{
			{`UPDATE entries SET content = ? WHERE record = ?`, []any{content, first}},
			{`UPDATE entries SET content = ? WHERE record = ?`, []any{undoing, second}},
			{
				`UPDATE outcomes SET outcome = ?, positions = ? WHERE record = ?`,
				[]any{outcome, fmt.Sprintf("%d-%d", from, to), first},
			},
			{`UPDATE records SET account = nullif(?, ''), ended = nullif(?, ''), planned = ?`, []any{account, ended, planned}},
		} {
			must.Get(db.Exec(change.query, change.values...))(t)
		}
		limit.Keep(t, len(content)+len(undoing)+len(account), func() {
			records, err := j.Records(t.Context(), 0)
			checkSentence(t, err)
			for i := range records {
				assert.That(t, records[i].Told() != "", "nothing is told of %+v", records[i])
			}
			_, err = j.Unfinished(t.Context())
			checkSentence(t, err)
			for _, id := range []int64{first, second} {
				err := j.Entries(t.Context(), id, func(e *plan.Entry) error {
					_, err := json.Marshal(e.JSON())
					return err
				})
				checkSentence(t, err)
			}
		})
	})
}

func checkSentence(t *testing.T, err error) {
	t.Helper()
	assert.That(t, err == nil || model.Printable(err.Error()) == err.Error() && len(err.Error()) <= 1000,
		"that is no sentence: %q", err)
}
