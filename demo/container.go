package demo

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// image is what Docker runs when this machine has no RabbitMQ of its own.
const image = "rabbitmq:4-management"

// dockerPatience is how long the Docker engine may take to answer.
const dockerPatience = 10 * time.Second

// container runs a node in Docker. The command lines are tested, running them is not.
type container struct {
	layout layout
	dog    *watchdog
	made   bool
}

func newContainer(l layout) (*container, error) {
	dog, err := startWatchdog("")
	if err != nil {
		return nil, err
	}

	// Docker runs it, not this process: the watchdog may remove a container that was never made, but none may be made that
	// it does not know.
	if err := dog.guard("container", l.name); err != nil {
		_ = dog.end()
		return nil, err
	}

	return &container{layout: l, dog: dog}, nil
}

func (c *container) String() string { return "Docker, " + image }

// dockerRun returns the command line that creates and starts the node's container. The image lets guest in from other
// addresses than its own, which the published ports need; they are only published on 127.0.0.1.
func dockerRun(l layout) []string {
	return []string{
		"docker", "run", "--rm", "--detach",
		"--name", l.name,
		"--hostname", "localhost",
		"--publish", fmt.Sprintf("127.0.0.1:%d:5672", l.amqp),
		"--publish", fmt.Sprintf("127.0.0.1:%d:15672", l.api),
		"--env", "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-rabbit collect_statistics_interval 1000 disk_free_limit " +
			"1000000 +S 2:2 +sbwt none",
		image,
	}
}

func dockerControl(l layout, command ...string) []string {
	return append([]string{"docker", "exec", l.name, "rabbitmqctl"}, command...)
}

func (c *container) control(ctx context.Context, command []string) *exec.Cmd {
	line := dockerControl(c.layout, command...)
	return exec.CommandContext(ctx, line[0], line[1:]...)
}

func (c *container) start(ctx context.Context) error {
	if c.made {
		return runCommand(ctx, dockerControl(c.layout, "start_app"))
	}
	if err := runCommand(ctx, dockerRun(c.layout)); err != nil {
		return err
	}
	c.made = true
	return nil
}

// halt stops the broker inside: stopping the container itself would delete it with its data, because of --rm.
func (c *container) halt(ctx context.Context) error {
	return runCommand(ctx, dockerControl(c.layout, "stop_app"))
}

func (c *container) ended() error {
	ctx, cancel := context.WithTimeout(context.Background(), dockerPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", "inspect", "--format", "{{.State.Running}}",
		c.layout.name).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "true" {
		return fmt.Errorf("the container %s ended: %s", c.layout.name, bytes.TrimSpace(out))
	}

	return nil
}

func (c *container) remove() error { return c.dog.end() }

func runCommand(ctx context.Context, line []string) error {
	out, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err, bytes.TrimSpace(out))
	}
	return nil
}
