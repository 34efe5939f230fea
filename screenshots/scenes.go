package main

import (
	"cmp"
	"context"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

// scene is one picture: the program starts afresh, and keys are pressed one after the other.
type scene struct {
	name          string
	width, height int
	steps         []step
	watch         time.Duration // wait before the picture is taken; 0 is 5 s, two polls
}

// step waits until the screen shows a text, then presses keys.
type step struct {
	until string
	keys  string
}

const (
	enter  = "\r"
	escape = "\x1b"
	down   = "\x1b[B"
)

var failed = step{"ucenter@user", "/ucenter@user" + enter + "f"}

var scenes = []scene{
	{name: "flows", width: 120, height: 36, steps: []step{{"ucenter@user", "j"}}, watch: 150 * time.Second},
	{name: "flow", width: 120, height: 36, steps: []step{
		{"worker-queue-5s", "/worker-queue-5s" + enter + enter},
		{"MOVED  ", ""},
	}, watch: 30 * time.Second},
	{name: "flow-retry", width: 120, height: 36, steps: []step{
		{"ucenter@user", "/ucenter@user" + enter + enter},
		{"MOVED  ", ""},
	}, watch: 30 * time.Second},
	{name: "causes", width: 120, height: 36, steps: []step{
		{"ucenter@user", "3"}, {"TimeoutError", "jo"}, {"resolved", "k"},
	}},
	{name: "find", width: 120, height: 36, steps: []step{{"ucenter@user", ":find user4" + enter}, {"found", ""}}},
	{name: "messages", width: 120, height: 36, steps: []step{failed, {"TimeoutError", ""}}},
	{name: "replay", width: 120, height: 36, steps: []step{failed, {"TimeoutError", "r"}, {"reaches", ""}}},
	{name: "chart", width: 120, height: 36, steps: []step{
		{"worker-queue-5s", "/worker-queue-5s" + enter + enter},
		{"MOVED  ", "kc"},
	}, watch: 90 * time.Second},
	{name: "findings", width: 120, height: 36, steps: []step{{"ucenter@user", "4"}, {"evidence", ""}}},
	{name: "queues", width: 120, height: 36, steps: []step{{"ucenter@user", "2"}, {"ucenter@user@retry", ""}}},
	{name: "journal", width: 120, height: 36, steps: []step{
		failed,
		{"TimeoutError", "r"},
		{"reaches", enter},
		{"What happened", enter},
		{"Story", "d"},
		{"enter drop", enter},
		{"What happened", "u"},
		{"bring back", enter},
		{"brought back to", enter + "5"},
		{"replay", ""},
	}},
	{name: "tap", width: 120, height: 36, steps: []step{
		{"worker-queue", "/worker-queue" + enter + "j" + enter},
		{"MOVED  ", "t"},
		{"enter tap", enter},
		{"held", down + down},
	}, watch: 15 * time.Second},
	{name: "probe", width: 120, height: 36, steps: []step{
		{"worker-queue-5s", ":probe worker-queue-5s" + enter},
		{"sends it anyway", "i"},
		{"send the probe", enter},
		{"arrived", ""},
	}},
	{name: "flows-80x24", width: 80, height: 24, steps: []step{{"ucenter@user", ""}}},
	{name: "messages-80x24", width: 80, height: 24, steps: []step{failed, {"TimeoutError", ""}}},
}

func (s scene) play(ctx context.Context, node *demo.Node) (paint.Screen, error) {
	t, err := openDashboard(ctx, node, paint.Dark, s.width, s.height)
	if err != nil {
		return paint.Screen{}, err
	}
	defer t.close()
	for _, step := range s.steps {
		if err := t.await(ctx, step.until); err != nil {
			return paint.Screen{}, err
		}
		t.press(step.keys)
	}
	pause(ctx, cmp.Or(s.watch, 5*time.Second))
	return t.screen(), ctx.Err()
}

func openDashboard(
	ctx context.Context, node *demo.Node, l paint.Look, width, height int, arguments ...string,
) (*terminal, error) {
	arguments = append([]string{"--url", node.AMQP(), "--api", node.API()}, arguments...)
	return openTerminal(ctx, l, width, height, "bin/dlxtop", arguments...)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
