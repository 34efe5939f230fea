package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// TestEndsOfAReplay: however its terminal goes away, a replay can be resumed by the next program, and each message is
// there once. Only a kill leaves an action without an end in the journal.
func TestEndsOfAReplay(t *testing.T) {
	t.Parallel()
	for _, end := range []struct {
		name   string
		strike func(s *built.Terminal)
		killed bool
		sample bool
	}{
		{"the terminal closes", func(s *built.Terminal) { _ = s.PTY.Close() }, false, true},
		{"SIGHUP, as a shell and a terminal send it", func(s *built.Terminal) {
			for range 3 {
				s.Signal(syscall.SIGHUP)
			}
		}, false, false},
		{"SIGTERM", func(s *built.Terminal) { s.Signal(syscall.SIGTERM) }, false, false},
		{"SIGKILL", func(s *built.Terminal) { s.Signal(syscall.SIGKILL) }, true, true},
	} {
		t.Run(end.name, func(t *testing.T) {
			if !end.sample {
				size.Long(t)
			}

			t.Parallel()
			const n = 1000
			channel, failed, worker := numbered(t, end.name, n)
			state := "XDG_STATE_HOME=" + t.TempDir()
			run := []string{state, built.Program, "replay", failed, "--to", "queue:" + worker, "--rate", "100/s", "--yes"}
			screen := built.Start(t, exec.Command("env", built.ToNode(run...)...))
			must.Await(t, "some are replayed", func() bool { return depth.Of(t, channel, worker) >= 20 })
			end.strike(screen)
			<-screen.Ended
			moved := depth.Of(t, channel, worker)
			must.That(t, moved != n, "it was over before")

			act := func(args ...string) (status int, out string, said string) {
				command := exec.Command("env", built.ToNode(append([]string{state, built.Program}, args...)...)...)
				command.Env = built.Environment()
				return built.Run(t, command)
			}

			_, out, said := act("journal", "-o", "json")
			assert.Equal(t, strings.Contains(said, "`dlxtop journal resume 1` looks for them"), end.killed,
				"the journal says %s%s", out, said)
			assert.Equal(t, strings.Contains(out, `"unfinished"`), end.killed)

			for i := range 2 { // by the second the broker has all that was sent, and knows that the program is gone
				status, out, said := act("journal", "resume", "1", "--dry-run")
				now := depth.Of(t, channel, worker)
				assert.Equal(t, status, cli.ExitDone, "a dry run: %s%s", out, said)
				assert.That(t, i == 0 || now == moved, "a dry run: %s%s", out, said)
				moved = now
				for _, queue := range []string{failed, worker} {
					looks := strings.Count(said, "looked at all of "+queue)
					assert.That(t, looks <= 1, "it reports %d looks at %s: %s", looks, queue, said)
				}
			}

			status, out, said := act("journal", "resume", "1", "--yes")
			assert.Equal(t, status, cli.ExitDone, "%s%s", out, said)
			status, _, said = act("journal", "resume", "1", "--yes")
			assert.Equal(t, status, cli.ExitRefused, "%s", said)
			assert.Contains(t, said, "there is nothing to resume")

			got := drained(t, channel, worker)
			for i := range n {
				must.Equal(t, got[fmt.Sprint(i)], 1, "%d is there", i)
			}

			left := depth.Of(t, channel, failed)
			assert.That(t, left <= 0, "%d are left", left)
		})
	}
}

// numbered declares a failed queue with messages, whose ids are 0, 1, …, and the queue of a worker.
func numbered(t *testing.T, name string, n int) (channel *amqp.Channel, failed, worker string) {
	t.Helper()
	channel = dial.Channel(t, built.Node.AMQP())
	failed = dial.Queue(t, channel, name+".failed", nil)
	worker = dial.Queue(t, channel, name+".worker", nil)
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = amqp.Publishing{MessageId: fmt.Sprint(i), Body: []byte("body")}
	}

	dial.Publish(t, channel, failed, messages...)
	return channel, failed, worker
}

// drained takes everything out of queues, and counts it by id.
func drained(t *testing.T, channel *amqp.Channel, queues ...string) map[string]int {
	t.Helper()
	got := map[string]int{}
	for _, queue := range queues {
		for _, d := range dial.Drain(t, channel, queue) {
			got[d.MessageId]++
		}
	}

	return got
}

// TestLostAcknowledgements: while a quorum queue is suspended, its channel buffers acknowledgements, and killing dlxtop
// loses them. Messages that the journal calls moved are then in their queue again. A resume and an undo notice this, so
// that no message is there twice without being reported.
func TestLostAcknowledgements(t *testing.T) {
	t.Parallel()
	for _, then := range []string{"resume", "undo"} {
		t.Run(then, func(t *testing.T) {
			t.Parallel()
			const n = 240 // one page: all are held before the queue is suspended
			channel := dial.Channel(t, built.Node.AMQP())
			failed := dial.Queue(t, channel, "lost "+then+".failed", amqp.Table{"x-queue-type": "quorum"})
			worker := dial.Queue(t, channel, "lost "+then+".worker", nil)
			messages := make([]amqp.Publishing, n)

			want := map[string]int{}
			for i := range messages {
				id := fmt.Sprint(i - i%8/7) // every seventh is followed by its twin
				messages[i] = amqp.Publishing{MessageId: id}
				want[id]++
			}

			dial.Publish(t, channel, failed, messages...)
			state := "XDG_STATE_HOME=" + t.TempDir()
			dlxtop := func(args ...string) *exec.Cmd {
				command := exec.Command(built.Program, built.ToNode(args...)...)
				command.Env = append(built.Environment(), state)
				return command
			}

			process := "%2F_" + failed // the queue's Erlang process
			eval := func(expression string) {
				must.Get(built.Node.Control(t.Context(), "eval", expression))(t)
			}
			eval(fmt.Sprintf("spawn(fun Wait() -> {ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, "+
				"<<\"%s\">>)), {ok, Moved, _} = rabbit_amqqueue:stat(Q), if Moved >= 10 -> sys:suspend('%s'); "+
				"true -> timer:sleep(10), Wait() end end).", worker, process))
			move := dlxtop("move", failed, "--to", "queue:"+worker, "--yes", "--rate", "40/s")
			must.Do(t, move.Start())
			must.Await(t, "more are moved than the channel keeps", func() bool { return depth.Of(t, channel, worker) >= 80 })
			must.Do(t, move.Process.Kill())
			_ = move.Wait()
			eval(fmt.Sprintf("sys:resume('%s').", process))
			moved := depth.Of(t, channel, worker)
			must.Await(t, "the queue has them back", func() bool { return depth.Of(t, channel, failed) >= n-moved })

			out, err := dlxtop("journal", then, "1", "--yes").CombinedOutput()
			must.That(t, err == nil, "%v: %s", err, out)

			got := drained(t, channel, failed, worker)

			missing, twice := 0, 0
			for id, times := range want {
				missing = missing + max(times-got[id], 0)
				twice = twice + max(got[id]-times, 0)
			}

			if then == "undo" { // it leaves and reports the copies of messages that came back or were unknown
				back := told(out, "in the queue again")
				unknown := told(out, "already in the queue")
				assert.That(t, back > 0, "%d are there twice\n%s", twice, out)
				assert.That(t, twice >= back, "%d are there twice\n%s", twice, out)
				assert.That(t, twice <= back+unknown, "%d are there twice\n%s", twice, out)
				assert.Contains(t, string(out), "a copy stays in "+worker, "undo")
				twice = 0
			}

			assert.That(t, missing+twice == 0, "of %d that were moved %d are missing, %d there twice\n%s", moved, missing,
				twice, out)
		})
	}
}

// TestNodeDiesDuringReplays: the broker's node dies while a command and the dashboard replay. Both say at once what
// arrived and what is untouched; the resume that they offer leaves each message there once.
func TestNodeDiesDuringReplays(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			if signal == syscall.SIGTERM {
				size.Long(t)
			}

			for try := 1; !nodeDies(t, fmt.Sprint(name, try), signal); try++ {
				must.That(t, try < 3, "RabbitMQ lost a queue at each of %d restarts", try)
			}
		})
	}
}

// nodeDies reports false where RabbitMQ itself lost a durable queue by that: two in some sixty kills (3.10.8, 4.0.5).
func nodeDies(t *testing.T, name string, signal syscall.Signal) bool {
	t.Helper()
	c := &cluster{t: t, nodes: []*demo.Node{built.Node}}
	t.Cleanup(c.restoreAfterFailure)
	process, channel := c.process(0), c.channel()
	kinds := map[int]string{400: "quorum", 5000: "classic"}
	messages := map[string]int{name + " command": 400, name + " screen": 5000}
	for worker, n := range messages {
		c.declare(worker, 0, amqp.Table{"x-queue-type": kinds[n]})
		c.declare(worker+".failed", 0, nil)
		c.publish(worker+".failed", n)
	}

	moves := func(worker string) {
		must.Await(t, worker+" gets some", func() bool { return depth.Of(t, channel, worker) > 20 })
	}

	home := t.TempDir()
	act := func(args ...string) *exec.Cmd { return built.In(home, built.ToNode(append(args, "--yes")...)...) }
	screen := built.OpenNode(t)
	screen.Press("3f").WaitFor("FAILED QUEUE", name+" screen.failed")
	screen.Press("/"+name+" screen\r\r").WaitFor("peek:", "M reads")
	screen.Press("M").WaitFor("5,000 messages")
	screen.Press("R").WaitFor("To replay 5,000 messages")

	replay := act("replay", name+" command.failed", "--rate", "20/s")
	var said built.Buffer
	replay.Stdout, replay.Stderr = &said, &said
	built.Begin(t, replay)
	moves(name + " command")
	screen.Press("5000\r")
	moves(name + " screen")
	must.Do(t, syscall.Kill(process, signal))
	must.Await(t, "the command waits", func() bool {
		return strings.Contains(said.String(), "resuming 1 of 3: ")
	})
	screen.WaitFor("lost", "stale", "Replaying 5,000", "resuming 1 of 3", "esc stop")
	assert.Lacks(t, said.String()+screen.Text(), "dlxtop demo")

	c.restart(0)
	for worker := range messages {
		_, err := c.channel().QueueDeclarePassive(worker+".failed", true, false, false, false, nil)
		if lost := new(amqp.Error); errors.As(err, &lost) && lost.Code == amqp.NotFound {
			return false
		}
	}

	_ = replay.Wait()
	assert.Equal(t, replay.ProcessState.ExitCode(), cli.ExitDone, "%s", said.String())
	assert.Contains(t, said.String(), "400 planned, 400 moved to ")
	assert.Contains(t, said.String(), "resuming 1 of 3: nothing listens on", "resumed: 1 time, by itself")
	screen.WaitFor("What happened", "5,000 messages moved", "resumed", "1 time, by itself")

	channel = c.channel()
	for worker, n := range messages {
		once := map[string]bool{}
		all := dial.Drain(t, channel, worker)
		for _, d := range all {
			once[d.MessageId] = true
		}

		assert.Equal(t, len(once), n, "%s got", worker)
		assert.Equal(t, len(all), n, "%s got, each as often as it was given", worker)
		assert.Equal(t, depth.Of(t, channel, worker+".failed"), 0, "are left of %s", worker)
	}

	return true
}

// told returns how many messages an undo says that it leaves.
func told(out []byte, why string) int {
	found := regexp.MustCompile(`not: (\d+) messages? ` + why).FindSubmatch(out)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}
