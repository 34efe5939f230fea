package spool

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// TestRangeReadsWhatAtReads: with each limit of bodies, from and to anywhere, in memory and on disk.
func TestRangeReadsWhatAtReads(t *testing.T) {
	r := seed.Rand(t)
	for _, limit := range []int{Memory, 0} {
		s := New(limit)
		t.Cleanup(func() { _ = s.Close() })
		const n = 400
		for i := range n {
			size := r.IntN(3) * r.IntN(3000)
			if i%100 == 50 {
				size = buffer + r.IntN(1000)
			}
			m := message.Message{
				RoutingKey: fmt.Sprint("key ", i), Headers: model.Table{"i": int64(i)}, Body: make([]byte, size),
			}
			must.Do(t, s.Add(&m))
		}
		must.That(t, limit != 0 || s.written != 0 && len(s.memory) > 0, "it is not on disk and in memory")
		for range 100 {
			from, body := r.IntN(n), r.IntN(2)*r.IntN(5000)
			to := from + r.IntN(n+1-from)
			i, end := from, from+r.IntN(n)
			err := s.Range(from, to, body, func(got *message.Message) error {
				if i == end {
					return errRecord
				}
				want, err := s.At(i, body)
				must.That(t, err == nil && reflect.DeepEqual(*got, want),
					"message %d with %d bytes of its body is %+v, want %+v (%v)", i, body, got, want, err)
				i++
				return nil
			})
			if early := end < to; i != min(end, to) || errors.Is(err, errRecord) != early || !early && err != nil {
				t.Fatalf("from %d to %d it came to %d: %v", from, to, i, err)
			}
		}
	}
}
