package main

import (
	"cmp"
	"context"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

// scene is one picture of the documentation: the program starts afresh, and the picture is taken at the last stop.
type scene struct {
	name string
	size
	stops []stop
	watch time.Duration // wait before the picture is taken; 0 is 5 s, two polls
}

const (
	enter  = "\r"
	escape = "\x1b"
	down   = "\x1b[B"
)

var (
	large, small = size{120, 36}, size{80, 24}

	failed = stop{"", openFailed, "TimeoutError"}
)

var scenes = []scene{
	{"flows", large, []stop{{"", "j", ""}}, 150 * time.Second},
	{"flow", large, []stop{{"", "/worker-queue-5s" + enter + enter, "MOVED  "}}, 30 * time.Second},
	{"flow-retry", large, []stop{{"", "/ucenter@user" + enter + enter, "MOVED  "}}, 30 * time.Second},
	{"causes", large, []stop{{"", "3", "TimeoutError"}, {"", "jo", "resolved"}, {"", "k", ""}}, 0},
	{"find", large, []stop{{"", ":find user4" + enter, "found"}}, 0},
	{"messages", large, []stop{failed}, 0},
	{"replay", large, []stop{failed, {"", "r", "reaches"}}, 0},
	{"chart", large, []stop{{"", "/worker-queue-5s" + enter + enter, "MOVED  "}, {"", "kc", ""}}, 90 * time.Second},
	{"findings", large, []stop{{"", "4", "evidence"}}, 0},
	{"queues", large, []stop{{"", "2", "ucenter@user@retry"}}, 0},
	{"journal", large, []stop{
		failed,
		{"", "r", "reaches"},
		{"", enter, "What happened"},
		{"", enter, "Story"},
		{"", "d", "enter drop"},
		{"", enter, "What happened"},
		{"", "u", "bring back"},
		{"", enter, "brought back to"},
		{"", enter + "5", "replay"},
	}, 0},
	{"tap", large, []stop{
		{"", "/worker-queue" + enter + "j" + enter, "MOVED  "},
		{"", "t", "enter tap"},
		{"", enter, "held"},
		{"", down + down, ""},
	}, 15 * time.Second},
	{"flows-80x24", small, nil, 0},
	{"messages-80x24", small, []stop{failed}, 0},
}

func (s scene) play(ctx context.Context, node *demo.Node) (paint.Screen, error) {
	t, err := openDashboard(ctx, node, paint.Dark, s.size)
	if err != nil {
		return paint.Screen{}, err
	}
	defer t.close()
	for _, stop := range s.stops {
		if err := t.goTo(ctx, stop); err != nil {
			return paint.Screen{}, err
		}
	}

	pause(ctx, cmp.Or(s.watch, 5*time.Second))
	return t.screen(), ctx.Err()
}

// openDashboard runs dlxtop until it shows the flows.
func openDashboard(
	ctx context.Context, node *demo.Node, l paint.Look, s size, arguments ...string,
) (*terminal, error) {
	arguments = append([]string{"--url", node.AMQP(), "--api", node.API()}, arguments...)
	t, err := openTerminal(ctx, l, s, "bin/dlxtop", arguments...)
	if err != nil {
		return nil, err
	}
	if err := t.await(ctx, "ucenter@user"); err != nil {
		t.close()
		return nil, err
	}

	return t, nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
