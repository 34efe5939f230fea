package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

// way is a walk through the program: it starts the program and visits screens and dialogs one after the other.
type way struct {
	name          string
	before, after []errand
	stops         []stop
}

// stop is a screen or a dialog on a way: keys lead there from the stop before, and it is reached when the screen shows
// a text. A stop without a name has no picture.
type stop struct{ name, keys, until string }

type shot struct {
	name   string
	screen paint.Screen
}

type errand struct {
	arguments string        // separated by blanks
	killed    time.Duration // this long after its start; 0: never
}

// userFailed is the failed queue of the pubsub scenario; enterpriseFailed is another one that nothing consumes.
const (
	userFailed       = "ucenter@user@failed"
	enterpriseFailed = "ucenter@enterprise@failed"
)

const openFailed = "/ucenter@user" + enter + "f"

// ways are the screens and dialogs. Every drop or move is undone; a canary takes its message with it.
var ways = []way{
	{name: "flows", stops: []stop{
		{"flows", "", "ucenter@user"},
		{"help", "?", "close"},
		{"palette", escape + ":", "what waits"},
		{"columns", "columns" + enter, "show all"},
		{"flow", escape + "/ucenter@user" + enter + enter, "MOVED  "},
		{"chart", "c", "LAST 5 MINUTES"},
		{"tap", "t", "enter tap"},
		{"tapping", enter, "none missed"},
		{"queues", escape + escape + escape + "2", "worker-queue"},
		{"findings", "4", "evidence"},
	}},
	{name: "messages", stops: []stop{
		{"messages", openFailed, "Error"},
		{"message", enter, "message 1 of"},
		{"replay", escape + "r", "reaches"},
		{"drop", escape + "d", "rop"},
		{"move", escape + "m", "ove"},
		{"filter", escape + "/", "keep"},
		{"export", escape + "x", "write a new file"},
		{"edited", escape + "e", "edited"},
		{"compare", escape + " j =", "what is equal"},
	}},
	{
		name: "causes", // one cause is in two queues
		before: []errand{{
			arguments: "move " + userFailed + " --filter failure_kind==\"TimeoutError\" --limit 2 --to queue:" +
				enterpriseFailed + " --yes",
		}},
		after: []errand{{arguments: "journal undo 1 --yes"}},
		stops: []stop{
			{"causes", "3", "Error"},
			{"cause-note", "W", "Note"},
			{"cause-states", "deploy 4711 raises the timeout" + enter + "ojOk", "resolved"},
			{"cause-messages", "/Timeout" + enter + enter, "complete"},
			{"cause-replay", "r", "enter replay"},
			{"cause-queues", escape + "f", "OF THE CAUSE"},
			{"failed", escape + escape + escape + "f", "FAILED QUEUE"},
			{"find", ":find user4" + enter, "not all was read"},
			{"find-expression", ":find =deaths > 2" + enter, "expression  "},
		},
	},
	{name: "mending", stops: []stop{
		{"", openFailed, "Error"},
		{"mend", "E", "earlier programs"},
		{"mend-wrong", ".body.plan |= ascii_upcas", "not a jq program"},
		{"mend-shown", "e" + enter, "to the replay"},
		{"mend-replay", enter, "reaches"},
	}},
	{name: "canary", stops: []stop{
		{"", openFailed, "Error"},
		{"", "R", "reaches"},
		{"canary", "c", "1 message first"},
		{"canary-runs", enter, "taken, watching"},
		{"canary-stopped", escape, "What happened"},
	}},
	{name: "journal", stops: []stop{
		{"", openFailed, "Error"},
		{"dropping", "d", "enter drop"},
		{"account", enter, "What happened"},
		{"journal", enter + "5", "drop"},
		{"record", enter, "dropped"},
		{"undo", "u", "bring back"},
		{"undone", enter, "What happened"},
	}},
	{
		name: "resume",
		before: []errand{{
			arguments: "move " + userFailed + " --limit 5 --rate 1/s --to queue:" + enterpriseFailed + " --yes",
			killed:    3500 * time.Millisecond,
		}},
		after: []errand{{arguments: "journal undo 2 --yes"}, {arguments: "journal undo 1 --yes"}},
		stops: []stop{{"unfinished", "5", "resume"}, {"resume", "r", "go on"}, {"resumed", enter, "What happened"}},
	},
}

// run runs the errand on the node. Being killed is not an error.
func (e errand) run(ctx context.Context, node *demo.Node) error {
	mortal := ctx
	if e.killed > 0 {
		var cancel context.CancelFunc
		mortal, cancel = context.WithTimeout(ctx, e.killed)
		defer cancel()
	}

	arguments := append(strings.Fields(e.arguments), "--url", node.AMQP(), "--api", node.API())
	said, err := exec.CommandContext(mortal, "bin/dlxtop", arguments...).CombinedOutput()
	if err != nil && mortal.Err() == nil {
		return fmt.Errorf("dlxtop %s: %w: %s", e.arguments, err, said)
	}

	return ctx.Err()
}

// walk goes through all stops in one run of the program and returns the screen at each. A stop whose text does not
// appear gets its picture all the same, so that a person can see it.
func (w way) walk(ctx context.Context, node *demo.Node, th theme, s size) (shots []shot, err error) {
	leave, err := ownHome()
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, errand := range w.before {
		if err := errand.run(ctx, node); err != nil {
			return nil, err
		}
	}

	shots, err = w.visit(ctx, node, th, s)
	for _, errand := range w.after {
		if err := errand.run(ctx, node); err != nil {
			report("not brought back: %s", err)
		}
	}

	return shots, err
}

func (w way) visit(ctx context.Context, node *demo.Node, th theme, s size) (shots []shot, err error) {
	t, err := openDashboard(ctx, node, th.look, s, "--theme", th.name)
	if err != nil {
		return nil, err
	}
	defer t.close()
	for _, stop := range w.stops {
		soon, cancel := context.WithTimeout(ctx, stopPatience)
		err := t.goTo(soon, stop)
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			report("theme %s, %s, %s: %q is not on it:\n%s", th, s, stop.name, stop.until, t.text())
		}

		if stop.name != "" {
			pause(ctx, 700*time.Millisecond)
			shots = append(shots, shot{stop.name, t.screen()})
		}
	}

	return shots, ctx.Err()
}
