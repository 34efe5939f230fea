package demo

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// gate runs in front of the server: it starts the server only on request, after the watchdog knows its process group.
// If the parent dies in between, the pipe closes, and the server is never started.
const gate = `read -r go || exit 1; exec "$@" </dev/null`

// process is one run of a node: the server and its port mapper, in one process group.
type process struct {
	group  int
	exited chan struct{} // closed when the server has ended and was waited for
	epmd   chan struct{} // closed when the port mapper has; nil when the server starts its own
}

// startProcess runs the server script in a new process group. It returns as soon as it runs, not when it is ready.
func startProcess(ctx context.Context, server string, l layout, dog *watchdog) (*process, error) {
	log, err := os.OpenFile(l.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the node's log: %w", err)
	}
	defer log.Close() // the processes have their own

	command := exec.Command("/bin/sh", "-c", gate, "dlxtop-node", server)
	command.Dir = l.dir
	command.Env = l.environment(os.Environ())
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = ownGroup()
	open, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", server, err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", server, err)
	}
	p := &process{group: command.Process.Pid, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = command.Wait() // how it ended is in the log
	}()

	fail := func(err error) (*process, error) {
		_ = open.Close()
		p.kill()
		return nil, fmt.Errorf("start %s: %w", server, err)
	}

	if err := dog.guard("group", p.group); err != nil {
		return fail(err)
	}
	if err := p.startEpmd(ctx, l, command.Env, log); err != nil {
		return fail(err)
	}
	if _, err := open.Write([]byte("go\n")); err != nil {
		return fail(err)
	}
	_ = open.Close()
	return p, nil
}

// startEpmd runs the port mapper in the foreground and in the node's group: one that a node starts itself is a daemon
// that stays behind. If none is found the node does just that, and stopEpmd ends it.
func (p *process) startEpmd(ctx context.Context, l layout, env []string, log *os.File) error {
	path := findEpmd()
	if path == "" || l.joins != "" {
		return nil
	}
	command := exec.Command(path, "-address", "127.0.0.1", "-port", strconv.Itoa(l.epmdP))
	command.Dir, command.Env = l.dir, env
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = joinGroup(p.group)
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	p.epmd = make(chan struct{})
	go func() {
		defer close(p.epmd)
		_ = command.Wait()
	}()

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()

	return until(ctx, 10*time.Millisecond, func(ctx context.Context) error {
		select {
		case <-p.epmd:
			return giveUp{fmt.Errorf("%s ended at once: %s", path, tail(l.logFile()))}
		default:
		}

		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", l.epmdP))
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// stopEpmd ends a port mapper that the node itself started. It obeys only while no node is registered, that is after
// the node's end.
func stopEpmd(port int) {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte{0, 1, 'k'}) // KILL_REQ of the port mapper's protocol: two bytes of length, then the request
	_, _ = conn.Read(make([]byte, 2))
}

func (p *process) kill() {
	_ = killGroup(p.group)
	<-p.exited
	if p.epmd != nil {
		<-p.epmd
	}
}

// shutDown asks the broker to end, so that it writes what it holds, and kills it if it has not done so in time.
func (p *process) shutDown(patience time.Duration) {
	// Only the server: the port mapper has nothing to write.
	_ = terminate(p.group)
	select {
	case <-p.exited:
	case <-time.After(patience):
	}
	p.kill()
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(len(lines)-15, 0):], "\n")
}

// watchdogScript ends everything that belongs to a node as soon as its standard input ends: when Stop closes it, and
// when the parent dies in any way, including kill -9, because the system then closes it. Its standard input says what
// to end: "group N" a process group, "container NAME" a Docker container. $1 is the directory to remove, or empty.
//
// A killed process may write until it is gone, so the directory is removed repeatedly until nothing of the groups is
// left, with a limit: in a container whose first process reaps no children, zombies stay in the list.
const watchdogScript = `
trap '' HUP INT TERM
groups= containers=
while read -r what which; do
	case $what in
	group) groups="$groups $which" ;;
	container) containers="$containers $which" ;;
	esac
done
for name in $containers; do docker rm -f -v "$name" >/dev/null 2>&1; done
tries=0
while [ "$tries" -lt 50 ]; do
	alive=
	for group in $groups; do kill -9 "-$group" 2>/dev/null && alive=1; done
	[ -z "$1" ] || rm -rf -- "$1"
	[ -n "$alive" ] || [ -n "$1" -a -e "$1" ] || exit 0
	tries=$((tries + 1))
	sleep 0.1
done
`

// watchdog is the process that outlives its parent just long enough to clean up.
type watchdog struct {
	pipe io.Writer
	end  func() error // makes it clean up, and waits for that
}

func startWatchdog(dir string) (*watchdog, error) {
	command := exec.Command("/bin/sh", "-c", watchdogScript, "dlxtop-watchdog", dir)
	command.Dir = "/"
	command.SysProcAttr = ownGroup() // an interrupt from the terminal must not reach it
	pipe, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the node's watchdog: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the node's watchdog: %w", err)
	}

	return &watchdog{pipe, sync.OnceValue(func() error {
		_ = pipe.Close()
		if err := command.Wait(); err != nil {
			return fmt.Errorf("the node's watchdog: %w", err)
		}
		return nil
	})}, nil
}

// guard registers a process group or container that the watchdog must end, before that is started.
func (w *watchdog) guard(what string, which any) error {
	if _, err := fmt.Fprintf(w.pipe, "%s %v\n", what, which); err != nil {
		return fmt.Errorf("command the node's watchdog: %w", err)
	}
	return nil
}
