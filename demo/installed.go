package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// errPortTaken is why a node did not boot when somebody listens on one of its ports.
var errPortTaken = errors.New("one of its ports is taken")

// installed runs a node by a server script of this machine.
type installed struct {
	server  string
	layout  layout
	dog     *watchdog
	process *process // of the last start; nil before the first
}

// newInstalled prepares a node; l.dir exists, and is removed with the node, or here on an error.
func newInstalled(server string, l layout) (*installed, error) {
	err := l.write()
	if err == nil {
		var dog *watchdog
		if dog, err = startWatchdog(l.dir); err == nil {
			return &installed{server: server, layout: l, dog: dog}, nil
		}
	}
	return nil, errors.Join(err, os.RemoveAll(l.dir))
}

// String is the script that starts the node.
func (i *installed) String() string { return i.server }

func (i *installed) start(ctx context.Context) error {
	if i.process != nil && i.process.running() {
		i.process.kill() // an attempt to resume that did not become ready
	}
	process, err := startProcess(ctx, i.server, i.layout, i.dog)
	if err != nil {
		return err
	}
	i.process = process
	return nil
}

func (i *installed) ended() error {
	if i.process.running() {
		return nil
	}
	log := tail(i.layout.logFile())
	if strings.Contains(log, "eaddrinuse") || strings.Contains(log, "port_already_in_use") ||
		strings.Contains(log, "already_running") {
		return fmt.Errorf("%w; its log ends:\n%s", errPortTaken, log)
	}
	return fmt.Errorf("%s ended; its log ends:\n%s", i.server, log)
}

func (i *installed) halt(context.Context) error {
	i.process.shutDown(20 * time.Second)
	i.stopOwnEpmd()
	return nil
}

// control runs the rabbitmqctl beside the server script.
func (i *installed) control(ctx context.Context, command []string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(filepath.Dir(i.server), "rabbitmqctl"), command...)
	c.Dir, c.Env = i.layout.dir, i.layout.environment(os.Environ())
	return c
}

func (i *installed) remove() error {
	if i.process != nil {
		i.process.kill()
		i.stopOwnEpmd()
	}
	return errors.Join(i.dog.end(), os.RemoveAll(i.layout.dir))
}

// stopOwnEpmd ends the port mapper that the node started by itself, if it did.
func (i *installed) stopOwnEpmd() {
	if i.process.epmd == nil && i.layout.joins == "" {
		stopEpmd(i.layout.epmdP)
	}
}
