// Command screenshots makes the pictures of the documentation: it runs the real program in a terminal of its own, on a
// throwaway RabbitMQ with the demo's live traffic, presses keys as a person would, and turns what stands on the screen into
// PNG files with freeze. Run it from the project's root, after a build: make screenshots.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"dlxtop/demo"
)

const folder = "docs/pictures"

// scene is one picture: from a fresh start of the program, keys are pressed one after the other.
type scene struct {
	name          string
	width, height int
	steps         []step
}

// step waits until a text is on the screen, then presses keys.
type step struct {
	until string
	keys  string
}

const (
	enter = "\r"
	down  = "\x1b[B"
)

var scenes = []scene{
	{"flows", 120, 36, []step{{"ucenter@user", ""}}},
	{"flow", 120, 36, []step{{"ucenter@user", "/worker-queue" + enter + enter}, {"buffer-queue", ""}}},
	{"messages", 120, 36, []step{{"ucenter@user", "/ucenter@user" + enter + "f"}, {"TimeoutError", enter}, {"published", ""}}},
	{"replay", 120, 36, []step{{"ucenter@user", "/ucenter@user" + enter + "f"}, {"TimeoutError", "r"}, {"reaches", ""}}},
	{"findings", 120, 36, []step{{"ucenter@user", "4"}, {"set a dead-letter-exchange", ""}}},
	{"queues", 120, 36, []step{{"ucenter@user", "2"}, {"ucenter@user@retry", ""}}},
	{"flows-80x24", 80, 24, []step{{"ucenter@user", ""}}},
	{"messages-80x24", 80, 24, []step{{"ucenter@user", "/ucenter@user" + enter + "f"}, {"TimeoutError", ""}}},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	node, err := demo.Start(ctx, demo.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer node.Stop()
	traffic := make(chan error, 1) // holds RunAll's one result
	running, halt := context.WithCancel(ctx)
	defer func() { halt(); <-traffic }()
	go func() { traffic <- demo.RunAll(running, node, demo.Scenarios()...) }()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	warmUp := time.NewTimer(40 * time.Second) // so that rates and sparklines have something to show
	select {
	case <-warmUp.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, s := range scenes {
		screen, err := s.play(ctx, node)
		if err != nil {
			return fmt.Errorf("picture %s: %w", s.name, err)
		}
		if err := picture(ctx, screen, filepath.Join(folder, s.name+".png")); err != nil {
			return fmt.Errorf("picture %s: %w", s.name, err)
		}
		fmt.Fprintln(os.Stderr, "made", filepath.Join(folder, s.name+".png"))
	}
	return nil
}

// play runs the program through the steps of a scene and returns its last screen, as text with colours.
func (s scene) play(ctx context.Context, node *demo.Node) (string, error) {
	t, err := openTerminal(ctx, s.width, s.height, "bin/dlxtop", "--url", node.AMQP(), "--api", node.API())
	if err != nil {
		return "", err
	}
	defer t.close()
	for _, step := range s.steps {
		if err := t.await(ctx, step.until); err != nil {
			return "", err
		}
		for _, key := range step.keys {
			t.press(string(key))
		}
	}
	settle := time.NewTimer(5 * time.Second) // two polls, so that movements are on the picture
	defer settle.Stop()
	select {
	case <-settle.C:
	case <-ctx.Done():
	}
	return t.screen(), ctx.Err()
}
