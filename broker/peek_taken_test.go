package broker_test

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// Messages of a classic queue that were counted, and that somebody else takes while a look is under way, are told: the
// look ends early, and says why.
func TestPeekSaysWhyItEndsBesideOthers(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	queue := a.queue("busy", model.Classic)
	messages := size.Of(6000, 20_000)
	a.send("", queue.Name, numbered(messages)...)
	a.await(queue, messages)
	c := client(t)
	for try := 1; ; try++ {
		purged, looked := make(chan int, 1), make(chan struct{})
		go func() {
			channel := a.open()
			defer channel.Close()
			for depth.Of(t, channel, queue.Name) == messages { // until the look has some of them
				select {
				case <-looked:
					purged <- 0
					return
				default:
				}
			}
			n, err := channel.QueuePurge(queue.Name, false)
			assert.Succeeds(t, err)
			purged <- n
		}()
		peeked := peekAt(t, c, planPeek(described(queue, model.Classic), peek.Want{Limit: messages}))
		close(looked)
		n := <-purged
		if read := len(peeked.Messages); read > 0 && read < messages {
			assert.That(t, read+n <= messages && strings.Contains(peeked.Stopped, "no more are ready: of the "+
				model.Plural(messages, "message")+" counted before"), "%d read, %d taken by others: %q", read, n, peeked.Stopped)
			return
		}
		must.That(t, try != 10, "the queue was never emptied in the middle of a look")
		left := a.ready(queue)
		a.send("", queue.Name, numbered(messages-left)...)
		a.await(queue, messages)
	}
}
