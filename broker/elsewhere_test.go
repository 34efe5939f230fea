package broker_test

import (
	"net/url"
	"strconv"
	"testing"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/trace"
)

// What reads goes on at another address of the cluster when its connection is lost: a reading passes each message on
// once, and a tap says what it may have missed. Only a head that has moved meanwhile ends a reading.
func TestReadingGoesOnElsewhere(t *testing.T) {
	const n = 600
	for _, moves := range []bool{false, true} {
		t.Run("the head moves: "+strconv.FormatBool(moves), func(t *testing.T) {
			a, x, worker := fanout(t, "x")
			cable, address := newCable(t, 0)
			there, unused := must.Get(url.Parse(node.AMQP()))(t).Host, dial.Unused(t)
			c := newClient(t, broker.Options{URL: address, Others: []string{there}})
			tap := startTapOf(a, c, nil, x)
			a.send(x, "", numbered(n)...)
			tap.awaitRows(n)

			seen := map[string]int{}
			_, err := c.Read(t.Context(), planPeek(worker, peek.Want{}), func(m *message.Message) error {
				if seen[m.Properties.MessageID]++; len(seen) != n/2 {
					return nil
				}

				cable.far.Store(&unused)
				cable.cut()
				a.await(worker, n)
				if moves {
					must.Get(a.channel.QueuePurge(worker.Name, false))(t)
				}
				return nil
			})

			if moves {
				must.Fails(t, err, "messages have left the head")
				assert.Contains(t, err.Error(), "read it again")
				return
			}

			must.Do(t, err)
			assert.Equal(t, len(seen), n)
			for id, times := range seen {
				assert.Equal(t, times, 1, "message %s", id)
			}

			assert.Equal(t, c.Node(), there)
			tap.awaitCounts("it moves", func(c trace.TapCounts) bool { return c.MovedTo == there })
			a.send(x, "", numbered(3)...)
			tap.awaitRows(n + 3)
			assert.Contains(t, tap.end().MissedWords(), "when the tap moved to "+there)
		})
	}
}
