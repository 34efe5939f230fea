package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// TestEndsOfAReplay: however a terminal goes, the replay on it is gone on with by the next program, and each message
// is there once. Only a kill leaves an action that the journal does not know the end of.
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
			channel := dial.Channel(t, built.Node.AMQP())
			failed, worker := dial.Queue(t, channel, end.name+" failed", nil), dial.Queue(t, channel, end.name+" worker", nil)
			publishNumbered(t, channel, failed, n)
			state := "XDG_STATE_HOME=" + t.TempDir()
			connection := []string{"--url", built.Node.AMQP(), "--api", built.Node.API()}
			run := append([]string{
				state, built.Program, "replay", failed, "--to", "queue:" + worker, "--rate", "100/s",
				"--yes",
			}, connection...)
			screen := built.Start(t, exec.Command("env", run...))
			must.Await(t, "some are replayed", func() bool { return depth.Of(t, channel, worker) >= 20 })
			end.strike(screen)
			<-screen.Ended
			moved := depth.Of(t, channel, worker)
			must.That(t, moved != n, "it was over before")

			act := func(args ...string) (status int, out string, said string) {
				command := exec.Command("env", append(append([]string{state, built.Program}, args...), connection...)...)
				command.Env = built.Environment()
				return built.Run(t, command)
			}
			_, out, said := act("journal", "-o", "json")
			assert.That(t, strings.Contains(said, "`dlxtop journal resume 1` looks for them") == end.killed &&
				strings.Contains(out, `"unfinished"`) == end.killed, "the journal says %s%s", out, said)
			for i := range 2 { // after the first one the broker has all that the program had sent, and knows that it is gone
				status, out, said := act("journal", "resume", "1", "--dry-run")
				if now := depth.Of(t, channel, worker); status != cli.ExitDone || i > 0 && now != moved {
					t.Errorf("a dry run: %d %s%s", status, out, said)
				} else {
					moved = now
				}
				for _, queue := range []string{failed, worker} {
					looks := strings.Count(said, "looked at all of "+queue)
					assert.That(t, looks <= 1, "it tells %d looks at %s: %s", looks, queue, said)
				}
			}
			if status, out, said := act("journal", "resume", "1", "--yes"); status != cli.ExitDone {
				t.Errorf("%d %s%s", status, out, said)
			}
			if status, _, said := act("journal", "resume", "1", "--yes"); status != cli.ExitRefused ||
				!strings.Contains(said, "there is nothing to resume") {
				t.Errorf("%d %s", status, said)
			}
			got := map[string]int{}
			for _, d := range dial.Take(t, channel, worker) {
				got[d.MessageId]++
			}
			for i := range n {
				must.Equal(t, got[fmt.Sprint(i)], 1, "%d is there", i)
			}
			left := depth.Of(t, channel, failed)
			assert.That(t, left <= 0, "%d are left", left)
		})
	}
}

// publishNumbered publishes messages with the ids 0, 1, …, and waits until the broker has them.
func publishNumbered(t *testing.T, channel *amqp.Channel, queue string, n int) {
	t.Helper()
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = amqp.Publishing{MessageId: fmt.Sprint(i), Body: []byte("body")}
	}
	dial.Publish(t, channel, queue, messages...)
}
