package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// errPortTaken is why a node did not boot when one of its ports is in use.
var errPortTaken = errors.New("one of its ports is taken")

type installed struct {
	server  string
	layout  layout
	dog     *watchdog
	process *process // of the last start; nil before the first
}

// newInstalled prepares a node; l.dir exists, and is removed with the node, or here on an error.
func newInstalled(server string, l layout) (*installed, error) {
	i := &installed{server: server, layout: l}
	err := l.write()
	if err == nil {
		i.dog, err = startWatchdog(l.dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(l.dir))
	}

	return i, nil
}

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

// stopOwnEpmd ends the port mapper if the node itself started one.
func (i *installed) stopOwnEpmd() {
	if i.process.epmd == nil && i.layout.joins == "" {
		stopEpmd(i.layout.epmdP)
	}
}

// serverVariable names the rabbitmq-server script to use instead of the installed one.
const serverVariable = "DLXTOP_RABBITMQ_SERVER"

// errNoServer is Start's error when this machine has neither RabbitMQ nor a working Docker; it says what to install.
var errNoServer = errors.New("no RabbitMQ found to start a throwaway node of: install it (Debian, Ubuntu: apt-get " +
	"install rabbitmq-server; " +
	"macOS: brew install rabbitmq), or start Docker, or name a rabbitmq-server script in " + serverVariable)

// serverPlaces are where packages put the server script; scripts/setup.sh lists the same. Debian's
// /usr/sbin/rabbitmq-server is left out on purpose: it is a wrapper that insists on running as the user rabbitmq.
var serverPlaces = []string{
	"/usr/lib/rabbitmq/bin/rabbitmq-server",
	"/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server",
	"/opt/rabbitmq/sbin/rabbitmq-server",
	"/opt/homebrew/opt/rabbitmq/sbin/rabbitmq-server",
	"/usr/local/opt/rabbitmq/sbin/rabbitmq-server",
	"/home/linuxbrew/.linuxbrew/opt/rabbitmq/sbin/rabbitmq-server",
}

// findServer returns the path of the server script: the named one, else that of the environment, else an installed one.
// The error is errNoServer when none exists, and another when a named one cannot be run.
func findServer(named string) (string, error) {
	if named = cmp.Or(named, os.Getenv(serverVariable)); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("the RabbitMQ server script %s (option or %s) cannot be run: %w", named, serverVariable, err)
		}
		return filepath.Abs(path)
	}

	places := serverPlaces
	if home := os.Getenv("RABBITMQ_HOME"); home != "" {
		places = append([]string{filepath.Join(home, "sbin", "rabbitmq-server")}, places...)
	}
	if path := firstExecutable(places); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath("rabbitmq-server"); err == nil && path != "/usr/sbin/rabbitmq-server" {
		return filepath.Abs(path)
	}

	return "", errNoServer
}

// findEpmd returns the path of Erlang's port mapper, or "" when it is neither in PATH nor beside the erl in PATH.
func findEpmd() string {
	if path, err := exec.LookPath("epmd"); err == nil {
		return path
	}
	places := []string{
		"/usr/lib/erlang/bin/epmd",
		"/usr/lib/erlang/erts-*/bin/epmd",
		"/opt/homebrew/opt/erlang/lib/erlang/erts-*/bin/epmd",
		"/usr/local/opt/erlang/lib/erlang/erts-*/bin/epmd",
	}

	if erl, err := exec.LookPath("erl"); err == nil {
		if real, err := filepath.EvalSymlinks(erl); err == nil {
			bin := filepath.Dir(real)
			places = append([]string{filepath.Join(bin, "epmd"), filepath.Join(bin, "..", "erts-*", "bin", "epmd")}, places...)
		}
	}

	return firstExecutable(places)
}

// firstExecutable returns "" when there is none.
func firstExecutable(patterns []string) string {
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // the patterns are valid constants
		for _, path := range matches {
			if stat, err := os.Stat(path); err == nil && stat.Mode().IsRegular() && stat.Mode()&0o111 != 0 {
				return path
			}
		}
	}

	return ""
}

// dockerWorks reports whether there is a docker command whose engine answers within some seconds.
func dockerWorks(ctx context.Context) bool {
	if _, err := exec.LookPath("docker"); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, dockerPatience)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}
