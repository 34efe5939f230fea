package demo

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// watchdogScript ends everything that belongs to a node as soon as its standard input ends: when Stop closes it, and
// when the parent dies in whatever way, kill -9 included, because the system then closes it. It is told on its standard
// input what to end: "group N" a process group, "container NAME" a Docker container. $1 is the directory to remove, or
// empty.
//
// A killed process may write until it is gone, so the directory is removed until nothing of the groups is left, with an
// end to it: in a container whose first process reaps no children, the dead stay in the list.
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

// watchdog is the process that outlives its parent for as long as it takes to clean up.
type watchdog struct {
	command *exec.Cmd
	pipe    io.WriteCloser
	ended   sync.Once
	err     error
}

// startWatchdog starts one for a node in dir ("" when the node has none).
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
	return &watchdog{command: command, pipe: pipe}, nil
}

// guard tells the watchdog of a process group or container to end. It has to be told before the thing is let run.
func (w *watchdog) guard(what string, which any) error {
	if _, err := fmt.Fprintf(w.pipe, "%s %v\n", what, which); err != nil {
		return fmt.Errorf("command the node's watchdog: %w", err)
	}
	return nil
}

// end lets the watchdog do its work and waits for it.
func (w *watchdog) end() error {
	w.ended.Do(func() {
		_ = w.pipe.Close()
		if err := w.command.Wait(); err != nil {
			w.err = fmt.Errorf("the node's watchdog: %w", err)
		}
	})
	return w.err
}
