package broker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// slowed stops the process of a quorum queue for 0.6 s again and again, as a disk does that takes its time, until the
// function that it returns is called, and for a minute at most.
func slowed(t *testing.T, n *demo.Node, queue model.QueueRef) (end func()) {
	t.Helper()
	return stopped(t, n, queue, 600*time.Millisecond, 100)
}

// stopped stops the process of a quorum queue for some time, so many times with 10 ms between them, until the function
// that it returns is called. It is stopped when stopped returns.
func stopped(t *testing.T, n *demo.Node, queue model.QueueRef, pause time.Duration, times int) (end func()) {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o777))
	here, over := filepath.Join(dir, "here"), filepath.Join(dir, "over")
	ended := make(chan error, 1)
	go func() {
		_, err := n.Control(context.Background(), "eval", fmt.Sprintf(`
			{ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(<<%q>>, queue, <<%q>>)),
			Process = whereis(element(1, amqqueue:get_pid(Queue))),
			Over = fun() -> filelib:is_file(%q) end,
			Pause = fun Pause(Left) ->
				case Left > 0 andalso not Over() of true -> timer:sleep(20), Pause(Left - 20); false -> ok end
			end,
			Slow = fun Slow(Left) ->
				case Left =:= 0 orelse Over() of
					true -> ok;
					false ->
						erlang:suspend_process(Process), file:write_file(%q, ""), Pause(%d),
						erlang:resume_process(Process), timer:sleep(10), Slow(Left - 1)
				end
			end,
			Slow(%d).`, queue.VHost, queue.Name, over, here, pause.Milliseconds(), times))
		ended <- err
	}()
	a := newAppOn(t, n)
	a.until(func() error {
		select {
		case err := <-ended:
			t.Fatal(err)
		default:
		}
		_, err := os.Stat(here)
		return err
	})
	return func() {
		t.Helper()
		assert.Succeeds(t, os.WriteFile(over, nil, 0o600))
		assert.Succeeds(t, <-ended)
	}
}

// A quorum queue that does not answer within a quarter of a second counts as empty and without consumers when it is
// declared passively (3.10.8, 4.0.5, 4.3.6).
func TestSlowQueueIsNotEmpty(t *testing.T) {
	t.Parallel()
	a, c := newApp(t), client(t)
	from, to := described(a.queue("failed", model.Quorum), model.Quorum),
		described(a.queue("worker", model.Classic), model.Classic)
	const n = 2000
	a.publish(from.QueueRef, numbered(n)...)
	end := slowed(t, node, from.QueueRef)
	defer end()
	for range 20 {
		counts := must.Get(c.Count(t.Context(), []model.QueueRef{from.QueueRef}))(t)
		ready, told := counts[from.QueueRef].Ready.Get()
		assert.That(t, !told || ready == n, "%d counted", ready)
	}
	peeked, err := c.Peek(t.Context(), planPeek(from, peek.Want{Limit: n}))
	assert.That(t, err == nil && peeked.Messages.Len() == n, "looked at %d: %v", peeked.Messages.Len(), err)
	wantOutcome(t, execute(t, c, replayTo(t, from, to, plan.Selection{})), outcome{Planned: n, Moved: n})
	wantIDs(t, "there", a.drain(to.QueueRef, n), count(n))
}
