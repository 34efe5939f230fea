package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// serverVariable names the rabbitmq-server script to use instead of the installed one.
const serverVariable = "DLXTOP_RABBITMQ_SERVER"

// errNoServer is what Start returns when this machine has neither RabbitMQ nor a working Docker; its text says what to
// install.
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

// findServer returns the path of the server script to run: the named one, else the one in the environment, else an
// installed one. The error is errNoServer when there is none, and another when a named one cannot be run.
func findServer(named string) (string, error) {
	if named == "" {
		named = os.Getenv(serverVariable)
	}
	if named != "" {
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
	if path, ok := firstExecutable(places); ok {
		return path, nil
	}
	if path, err := exec.LookPath("rabbitmq-server"); err == nil && path != "/usr/sbin/rabbitmq-server" {
		return filepath.Abs(path)
	}
	return "", errNoServer
}

// findEpmd returns the path of Erlang's port mapper, or "" when it is found neither in PATH nor beside the erl that is.
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
	path, _ := firstExecutable(places)
	return path
}

// firstExecutable returns the first file of the patterns that can be executed.
func firstExecutable(patterns []string) (string, bool) {
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // the patterns are constants: they are well-formed
		for _, path := range matches {
			if stat, err := os.Stat(path); err == nil && stat.Mode().IsRegular() && stat.Mode()&0o111 != 0 {
				return path, true
			}
		}
	}
	return "", false
}

// dockerWorks tells whether there is a docker command whose engine answers within some seconds.
func dockerWorks(ctx context.Context) bool {
	if _, err := exec.LookPath("docker"); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, dockerPatience)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}
