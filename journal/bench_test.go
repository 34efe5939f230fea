package journal_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
)

// BenchmarkWrite writes down replays of messages of 1 KiB, 500 at once, as an execution does.
func BenchmarkWrite(b *testing.B) { benchmarkWrite(b, 500, 1<<10, false) }

// BenchmarkWriteWhole writes down messages of 16 KiB with their bodies, 250 at once, as a drop does.
func BenchmarkWriteWhole(b *testing.B) { benchmarkWrite(b, 250, 16<<10, true) }

func benchmarkWrite(b *testing.B, batch, size int, full bool) {
	j := journal.New(journal.Options{Path: filepath.Join(b.TempDir(), "journal.db")})
	defer j.Close()
	id := must.Get(j.Begin(b.Context(), record(plan.Replay)))(b)
	m := message.Message{Exchange: "dlx", RoutingKey: "k", Headers: model.Table{
		"n": int64(7), "x-death": []any{model.Table{"count": int64(3)}},
	}, Body: bytes.Repeat([]byte("x"), size), BodyBytes: size}
	p := message.Publishing{
		Headers: model.Table{"n": int64(7)}, Body: m.Body, Reaches: []model.QueueRef{{VHost: "/", Name: "worker"}},
	}
	for b.Loop() {
		entries := make([]plan.Entry, batch)
		for i := range entries {
			m.Position++
			entries[i] = plan.NewEntry(&m, &p, full)
		}
		must.Do(b, j.Write(id, entries, nil))
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*batch), "µs/message")
}
