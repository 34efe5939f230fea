package spool

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/limit"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// With any limit for bodies, from and to anywhere, in memory and on disk.
func TestRangeReadsWhatAtReads(t *testing.T) {
	r := seed.Rand(t)
	for _, most := range []int{Memory, 0} {
		s := New(most)
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

		must.That(t, most != 0 || s.written != 0 && len(s.memory) > 0, "it is not on disk and in memory")
		for range 100 {
			from, body := r.IntN(n), r.IntN(2)*r.IntN(5000)
			to := from + r.IntN(n+1-from)
			i, end := from, from+r.IntN(n)
			err := s.Range(from, to, body, func(got *message.Message) error {
				if i == end {
					return errRecord
				}
				want := must.Get(s.At(i, body))(t)
				must.That(t, reflect.DeepEqual(*got, want), "message %d with %d bytes of its body is %+v, want %+v", i, body,
					got, want)
				i++
				return nil
			})

			early := end < to
			must.Equal(t, i, min(end, to), "from %d to %d: %v", from, to, err)
			must.Equal(t, errors.Is(err, errRecord), early)
			must.That(t, early || err == nil, "from %d to %d: %v", from, to, err)
		}
	}
}

// A record damaged on disk gives an error, or a message that survives being stored again.
func FuzzRecord(f *testing.F) {
	every := must.Get(message.ParseMessage(must.Get(os.ReadFile("../testdata/every_type.json"))(f)))(f).Headers
	every["cut off"] = model.RawValue{Type: 'F', Bytes: []byte{0, 0, 0, 9, 'a'}}
	for _, headers := range []model.Table{nil, every} {
		f.Add(appendHead(nil, &message.Message{
			Exchange: "x", RoutingKey: "\xff", Redelivered: true, Headers: headers,
			Properties: message.Properties{
				MessageID: "m-1", DeliveryMode: 2, Priority: 9, Expiration: "5000", Timestamp: time.Unix(1767225600, 0),
			},
		}))
	}

	f.Add([]byte("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x00\x00\x00\x20\x00\xff\xff\xff\xff\x01aF"))
	f.Add([]byte("\x00\x00\x00\x20\x00\x00\x00\x00\x09\x01kV\x01aF\xff\xff\xff\xff\x01bV"))
	f.Fuzz(func(t *testing.T, head []byte) {
		var m message.Message
		var err error
		limit.Check(t, len(head), func() { m, err = parseHead(head) })
		if err != nil {
			assert.That(t, errors.Is(err, errRecord), "%v", err)
			return
		}

		again := must.Get(parseHead(appendHead(nil, &m)))(t)
		assert.Equal(t, message.FingerprintOf(&again), message.FingerprintOf(&m),
			"kept again it is another message:\n%+v\n%+v", m, again)
		assert.Equal(t, again.Redelivered, m.Redelivered)
	})
}
