package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// person uses dlxtop on this machine, with a home and a journal of their own.
type person struct {
	t         *testing.T
	home      string
	as        string // what others read of them
	user      uint32
	elsewhere bool // on another machine, as far as their program sees
}

func newPerson(t *testing.T, as string, user uint32, elsewhere bool) person {
	t.Helper()
	p := person{t, t.TempDir(), as, user, elsewhere}
	must.Do(t, os.Chown(p.home, int(user), -1))
	must.Do(t, os.Chmod(filepath.Dir(p.home), 0o755))
	program := filepath.Join(p.home, "dlxtop") // others may not enter the directory of the built one
	must.Do(t, os.Link(built.Program, program))
	must.Do(t, os.Chmod(program, 0o755))
	return p
}

// begin starts dlxtop, and returns what it says on standard error.
func (p person) begin(args ...string) (*exec.Cmd, io.Reader, *built.Buffer) {
	p.t.Helper()
	command := built.In(p.home, built.ToNode(args...)...)
	command.Path = filepath.Join(p.home, "dlxtop")
	if p.elsewhere {
		command.Path, command.Args = "/bin/sh", append([]string{
			"sh", "-c",
			`mount -t tmpfs -o mode=1777 none /tmp/dlxtop-turns && exec "$0" "$@"`, command.Path,
		}, command.Args[1:]...)
		command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	} else if int(p.user) != os.Geteuid() {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: p.user, Gid: p.user}}
	}

	said := &built.Buffer{}
	command.Stderr = said
	out := must.Get(command.StdoutPipe())(p.t)
	built.Begin(p.t, command)
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("dlxtop %s: %s", strings.Join(args, " "), said)
		}
	})

	return command, bufio.NewReader(out), said
}

// run runs dlxtop to its end.
func (p person) run(args ...string) (status int, out, said string) {
	p.t.Helper()
	command, from, errs := p.begin(args...)
	text := must.Get(io.ReadAll(from))(p.t)
	_ = command.Wait() // the exit status says it
	return command.ProcessState.ExitCode(), string(text), errs.String()
}

// Two people at one queue, without a journal in common: a look gives way to an action, an action waits for another one
// and says for whose, and what is resumed beside a look is there once.
func TestPeopleTakeTurns(t *testing.T) {
	me := uint32(os.Geteuid())
	hidden := exec.Command("true") // fails in a chroot, and in a container that may not mount
	hidden.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	hiding := hidden.Run()

	for name, people := range map[string][2]person{
		"two homes":    {{as: "", user: me}, {as: "", user: me}},
		"two users":    {{as: " of daemon", user: 1}, {as: " of nobody", user: 65534}},
		"two machines": {{as: "", user: me}, {as: "", user: me, elsewhere: true}},
	} {
		for _, kind := range []string{"classic", "quorum"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				if name != "two homes" && me != 0 {
					t.Skip("only root can run dlxtop as another user, or hide the locks of this machine from it")
				}
				if people[1].elsewhere && hiding != nil {
					t.Skip("the locks of this machine cannot be hidden from a program here:", hiding)
				}
				if kind == "quorum" {
					size.Long(t)
				}

				t.Parallel()
				takeTurns(t, people, name+" "+kind, kind)
			})
		}
	}
}

func takeTurns(t *testing.T, people [2]person, name, kind string) {
	t.Helper()
	const n, dropped = 1000, 3
	one := newPerson(t, people[0].as, people[0].user, false)
	other := newPerson(t, people[1].as, people[1].user, people[1].elsewhere)
	channel := dial.Channel(t, built.Node.AMQP())
	arguments := amqp.Table{"x-queue-type": kind}
	if kind == "quorum" && strings.HasPrefix(built.Node.Version(), "4.") {
		arguments["x-delivery-limit"] = -1 // where looks use up a limit, an export keeps all before it writes
	}

	failed := dial.Queue(t, channel, name+".failed", arguments)
	worker := dial.Queue(t, channel, name+".worker", arguments)
	messages := make([]amqp.Publishing, n)
	for i := range messages { // together more than a pipe and buffers hold
		messages[i] = amqp.Publishing{MessageId: fmt.Sprint(i), Body: bytes.Repeat([]byte("."), 4<<10)}
	}
	dial.Publish(t, channel, failed, messages...)
	move := []string{"move", failed, "--to", "queue:" + worker, "--rate", "100/s", "--yes"}
	says := func(said *built.Buffer, words string) {
		t.Helper()
		must.Await(t, words, func() bool { return strings.Contains(said.String(), words) })
	}

	var moving *exec.Cmd
	if other.elsewhere {
		moving, _, _ = one.begin(move...)
	} else {
		export, out, exported := other.begin("export", failed, "-") // waits for its reader
		must.Get(out.Read(make([]byte, 1)))(t)
		var moved *built.Buffer
		moving, _, moved = one.begin(move...)
		says(moved, "waits: "+failed+" is in use by `dlxtop export`"+other.as)
		must.Get(io.Copy(io.Discard, out))(t)
		_ = export.Wait() // its status says so, too
		assert.Contains(t, exported.String(), "gave way")
	}

	must.Await(t, "some are moved", func() bool { return depth.Of(t, channel, worker) >= 20 })
	drop := []string{"drop", failed, "--limit", "3", "--yes"}
	if !other.elsewhere {
		dropping, _, said := other.begin(drop...)
		says(said, "waits: "+failed+" is in use by `dlxtop move`"+one.as)
		must.Do(t, moving.Process.Kill())
		// A quorum queue gives back what a killed program held a moment after its turn is free: a drop in between says so.
		if dropping.Wait() != nil {
			must.Contains(t, said.String(), "nothing was changed")
			must.Contains(t, said.String(), "run it again")
			must.Await(t, "the drop that is run again succeeds", func() bool {
				status, _, _ := other.run(drop...)
				return status == cli.ExitDone
			})
		}
	} else {
		must.Do(t, moving.Process.Kill())
		status, _, said := other.run(drop...)
		assert.That(t, status <= cli.ExitRefused, "%s", said)
	}

	_ = moving.Wait()
	looking, looked := make(chan bool), make(chan bool)
	go func() {
		defer close(looked)
		for {
			select {
			case <-looking:
				return
			default:
				other.run("find", "not there", "--queues", name+".*")
			}
		}
	}()

	resume := func() (said string) {
		status, out, said := one.run("journal", "resume", "1", "--yes", "-o", "json")
		var account struct{ Gone int }
		assert.That(t, status <= cli.ExitRefused, "%d: %s", status, said)
		_ = json.Unmarshal([]byte(out), &account) // nothing when it is refused
		assert.That(t, account.Gone <= dropped, "%d are called gone: %s%s", account.Gone, out, said)
		return said
	}

	beside := resume()
	close(looking)
	<-looked
	last := resume()

	got := map[string]int{}
	for _, queue := range []string{failed, worker} {
		for _, d := range dial.Drain(t, channel, queue) {
			got[d.MessageId]++
			assert.Equal(t, got[d.MessageId], 1, "%s in %s: %s%s", d.MessageId, queue, beside, last)
		}
	}

	assert.That(t, len(got) >= n-dropped, "%d are left: %s%s", len(got), beside, last)
}
