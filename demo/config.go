package demo

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// layout is where one node lives: its name, its ports on 127.0.0.1, its directory.
type layout struct {
	name                   string // the part of the node's name before @localhost
	dir                    string
	amqp, api, dist, epmdP int
	plugins                []string
	settings               string // further lines of its rabbitmq.conf
	cookie                 string
	// the node whose cluster it joins, and whose port mapper it uses; "" for the first one
	joins string
}

func (l layout) nodeName() string { return l.name + "@localhost" }
func (l layout) logFile() string  { return filepath.Join(l.dir, "node.log") }

// config returns the node's rabbitmq.conf. Statistics are collected and kept every second instead of every five, so
// that rates feel alive and tests need not wait (without the retention policies, all three of which must be set, the
// management API still reports values from five seconds ago: 3.10.8, 4.0.5, 4.3.6); the memory and disk limits are set
// so that a small machine raises no alarm.
func (l layout) config() string {
	text := fmt.Sprintf(`listeners.tcp.1 = 127.0.0.1:%d
management.tcp.ip = 127.0.0.1
management.tcp.port = %d
collect_statistics_interval = 1000
management.sample_retention_policies.global.minute = 1
management.sample_retention_policies.basic.minute = 1
management.sample_retention_policies.detailed.minute = 1
vm_memory_high_watermark.absolute = 4GB
disk_free_limit.absolute = 1MB
log.file = false
log.console = true
log.console.level = warning
`, l.amqp, l.api)

	if l.joins != "" {
		text += "cluster_formation.peer_discovery_backend = " +
			"classic_config\ncluster_formation.classic_config.nodes.1 = " + l.joins +
			"\ncluster_formation.classic_config.nodes.2 = " + l.nodeName() + "\n"
	}

	return text + l.settings
}

// write creates the files that the node reads. The directory exists and belongs to the node.
func (l layout) write() error {
	files := []struct {
		name, text string
		mode       os.FileMode
	}{
		{".erlang.cookie", l.cookie, 0o400},
		{"rabbitmq.conf", l.config(), 0o600},
		// These are empty, so that nothing in /etc/rabbitmq reaches this node.
		{"advanced.config", "[].\n", 0o600},
		{"rabbitmq-env.conf", "", 0o600},
		{"enabled_plugins", "[" + strings.Join(l.plugins, ",") + "].\n", 0o600},
	}

	for _, file := range files {
		if err := os.WriteFile(filepath.Join(l.dir, file.name), []byte(file.text), file.mode); err != nil {
			return fmt.Errorf("write the node's files: %w", err)
		}
	}

	for _, dir := range []string{"conf.d", "data"} {
		if err := os.Mkdir(filepath.Join(l.dir, dir), 0o700); err != nil {
			return fmt.Errorf("make the node's directories: %w", err)
		}
	}

	return nil
}

// environment returns the environment of the server script: this process's, without anything that would configure
// another broker or Erlang system, plus the node's own settings.
func (l layout) environment(inherited []string) []string {
	var env []string
	for _, entry := range inherited {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "RABBITMQ_") || strings.HasPrefix(name, "ERL_") || name == "HOME" ||
			name == "NOTIFY_SOCKET" {
			continue
		}
		env = append(env, entry)
	}

	in := func(name string) string { return filepath.Join(l.dir, name) }

	return append(env,
		"HOME="+l.dir, // the Erlang cookie is read there
		fmt.Sprintf("ERL_EPMD_PORT=%d", l.epmdP),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		// This makes the script become Erlang instead of waiting for it: then Erlang is this process's child, gets its
		// signals, and is gone once it was waited for. (The script checks this variable; Erlang checks NOTIFY_SOCKET, which
		// is not set.)
		"RUNNING_UNDER_SYSTEMD=true",
		"RABBITMQ_NODENAME="+l.nodeName(),
		fmt.Sprintf("RABBITMQ_NODE_PORT=%d", l.amqp),
		fmt.Sprintf("RABBITMQ_DIST_PORT=%d", l.dist),
		"RABBITMQ_MNESIA_BASE="+in("data"),
		"RABBITMQ_LOG_BASE="+in("data"),
		"RABBITMQ_LOGS=-",
		"RABBITMQ_PID_FILE="+in("pid"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+in("enabled_plugins"),
		"RABBITMQ_CONFIG_FILE="+in("rabbitmq.conf"),
		"RABBITMQ_CONFIG_FILES="+in("conf.d"),
		"RABBITMQ_ADVANCED_CONFIG_FILE="+in("advanced.config"),
		"RABBITMQ_CONF_ENV_FILE="+in("rabbitmq-env.conf"),
		// Two schedulers that do not spin are enough for a demo, and leave the machine to its user.
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none +sbwtdcpu "+
			"none +sbwtdio none",
	)
}

// Ports are below the ranges that Linux (from 32768) and macOS (from 49152) use for outgoing connections, so that none
// is taken between here and the node's boot, or while a node is halted.
const (
	firstPort = 20000
	lastPort  = 31999
)

// freePorts returns n different TCP ports on 127.0.0.1 on which nothing listens.
func freePorts(n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close()
		}
	}()

	var last error
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			last = err
			continue
		}

		held = append(held, listener)
		ports = append(ports, port)
		if len(ports) == n {
			return ports, nil
		}
	}

	return nil, errors.Join(fmt.Errorf("no %d free ports on 127.0.0.1", n), last)
}
