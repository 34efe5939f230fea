package main

import (
	"context"
	"fmt"
	"log"
	"os/exec"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

// way is a walk through the program: it starts the program and visits screens and dialogs one after the other.
type way struct {
	Name          string
	Before, After []errand
	Stops         []stop
}

type shot struct {
	name   string
	screen paint.Screen
}

type errand struct {
	Arguments string        // separated by blanks
	Killed    time.Duration // this long after its start; 0: never
}

// run runs the errand on the node. Being killed is not an error.
func (e errand) run(ctx context.Context, node *demo.Node) error {
	mortal := ctx
	if e.Killed > 0 {
		var cancel context.CancelFunc
		mortal, cancel = context.WithTimeout(ctx, e.Killed)
		defer cancel()
	}

	arguments := append(strings.Fields(e.Arguments), "--url", node.AMQP(), "--api", node.API())
	said, err := exec.CommandContext(mortal, "bin/dlxtop", arguments...).CombinedOutput()
	if err != nil && mortal.Err() == nil {
		return fmt.Errorf("dlxtop %s: %w: %s", e.Arguments, err, said)
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
	for _, errand := range w.Before {
		if err := errand.run(ctx, node); err != nil {
			return nil, err
		}
	}

	shots, err = w.visit(ctx, node, th, s)
	for _, errand := range w.After {
		if err := errand.run(ctx, node); err != nil {
			log.Printf("not brought back: %s", err)
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
	for _, stop := range w.Stops {
		soon, cancel := context.WithTimeout(ctx, stopPatience)
		err := t.goTo(soon, stop)
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			log.Printf("theme %s, %s, %s: %q is not on it:\n%s", th, s, stop.Name, stop.Until, t.text())
		}

		if stop.Name != "" {
			pause(ctx, 700*time.Millisecond)
			shots = append(shots, shot{stop.Name, t.screen()})
		}
	}

	return shots, ctx.Err()
}
