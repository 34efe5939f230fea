// Command screenshots makes the pictures of the documentation: it runs the real program in a terminal of its own, on a
// throwaway RabbitMQ with the demo's live traffic, presses keys as a person would, and turns what stands on the screen
// into PNG files with freeze. Run it from the project's root, after a build: make screenshots, or go run ./screenshots
// NAME for some.
package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"dlxtop/demo"
)

const folder = "docs/pictures"

// scene is one picture: from a fresh start of the program, keys are pressed one after the other.
type scene struct {
	name          string
	width, height int
	steps         []step
	watch         time.Duration // before the picture is taken; 0 is 5 s, two polls
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

// failed opens the failed messages of the pubsub scenario.
var failed = step{"ucenter@user", "/ucenter@user" + enter + "f"}

var scenes = []scene{
	{name: "flows", width: 120, height: 36, steps: []step{{"ucenter@user", "j"}}, watch: 150 * time.Second},
	{name: "flow", width: 120, height: 36, steps: []step{
		{"worker-queue-5s", "/worker-queue-5s" + enter + enter},
		{"MOVED  counted", ""},
	}, watch: 30 * time.Second},
	{name: "flow-retry", width: 120, height: 36, steps: []step{
		{"ucenter@user", "/ucenter@user" + enter + enter},
		{"MOVED  counted", ""},
	}, watch: 30 * time.Second},
	{name: "messages", width: 120, height: 36, steps: []step{failed, {"TimeoutError", ""}}},
	{name: "replay", width: 120, height: 36, steps: []step{failed, {"TimeoutError", "r"}, {"reaches", ""}}},
	{name: "chart", width: 120, height: 36, steps: []step{
		{"worker-queue-5s", "/worker-queue-5s" + enter + enter},
		{"MOVED  counted", "kc"},
	}, watch: 90 * time.Second},
	{name: "findings", width: 120, height: 36, steps: []step{{"ucenter@user", "4"}, {"set a dead-letter-exchange", ""}}},
	{name: "queues", width: 120, height: 36, steps: []step{{"ucenter@user", "2"}, {"ucenter@user@retry", ""}}},
	{name: "journal", width: 120, height: 36, steps: []step{failed, {"TimeoutError", "r"}, {
		"reaches",
		enter,
	}, {"moved", enter}, {"taken out", "5"}, {"replay", ""}}},
	{name: "tap", width: 120, height: 36, steps: []step{
		{"worker-queue", "/worker-queue" + enter + "j" + enter},
		{"MOVED  counted", "t"},
		{"costs", enter},
		{"held", down + down},
	}, watch: 15 * time.Second},
	{name: "probe", width: 120, height: 36, steps: []step{
		{"worker-queue-5s", ":probe worker-queue-5s" + enter},
		{"not sent", "i"},
		{"will get it", enter},
		{"arrived", ""},
	}},
	{name: "flows-80x24", width: 80, height: 24, steps: []step{{"ucenter@user", ""}}},
	{name: "messages-80x24", width: 80, height: 24, steps: []step{failed, {"TimeoutError", ""}}},
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
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	node, err := demo.Start(ctx, demo.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer node.Stop()
	traffic := make(chan error, 1) // holds RunAll's one result
	running, halt := context.WithCancel(ctx)
	defer func() { halt(); <-traffic }()
	go func() { traffic <- demo.RunAll(running, node, nil, demo.Scenarios()...) }()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	state, err := os.MkdirTemp("", "dlxtop-pictures-") // a journal of its own
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	os.Setenv("XDG_STATE_HOME", state)
	warmUp := time.NewTimer(15 * time.Second) // so that every scenario has declared its queues, and something moves
	defer warmUp.Stop()
	select {
	case <-warmUp.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, s := range scenes {
		if only := os.Args[1:]; len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}
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
	settle := time.NewTimer(cmp.Or(s.watch, 5*time.Second))
	defer settle.Stop()
	select {
	case <-settle.C:
	case <-ctx.Done():
	}
	return t.screen(), ctx.Err()
}
