// Package observe has the commands that know first, without a screen: watch acts on rules, metrics answers Prometheus,
// alerts writes what Prometheus and Grafana need. They poll and look as the dashboard does, and change nothing.
package observe

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/alarm"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/ports"
)

// groupID is that of commands which look.
const groupID = "look"

// Program is what the commands need of the command line.
type Program struct {
	Out    io.Writer
	Env    func(name string) string
	Note   func(format string, values ...any)       // one line on standard error
	Usage  func(format string, values ...any) error // wrong usage, in one sentence
	Firing error                                    // ends with the exit status 1, without words
	Open   func() (*Session, error)                 // the caller closes it
}

// Session is a connection in use.
type Session struct {
	Name     string // of the context, or the address
	VHost    string // the only one; "" for all
	Snapshot func(ctx context.Context) (*model.Snapshot, error)
	Broker   Broker
	// Confirm counts what statistics may not have yet; ready takes over the messages, too.
	Confirm func(ctx context.Context, t *model.Topology, ready bool) *model.Topology
	States  func(t *model.Topology) cause.States
	Kept    func(t *model.Topology) cause.Kept
	Memory  Memory
	Close   func()
}

// Broker peeks and counts.
type Broker interface {
	ports.Counter
	Peek(ctx context.Context, p peek.Plan) (peek.Peeked, error)
	Held(since time.Time) model.QueueSet
}

// Memory is a file that outlives the program. Change excludes every other program; aside is where a damaged file is.
type Memory interface {
	Load() ([]byte, error)
	Change(how func(text []byte) ([]byte, error)) (aside string, err error)
}

// Commands are the commands.
func (p *Program) Commands() []*cobra.Command {
	return []*cobra.Command{p.watchCommand(), p.metricsCommand(), p.alertsCommand()}
}

// polling are the flags of commands that poll on.
type polling struct {
	every time.Duration
	looks int
	once  bool
}

func (o *polling) register(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&o.every, "interval", 10*time.Second, "`TIME` between two polls")
	cmd.Flags().IntVar(&o.looks, "looks", 20_000,
		"read at most `N` messages a minute, and those only where a look is free; 0: none")
}

func (o *polling) check(p *Program) error {
	if o.every < time.Second || o.every > time.Hour {
		return p.Usage("--interval %s: it is between 1s and 1h", o.every)
	}
	if o.looks < 0 {
		return p.Usage("--looks %d: it is 0 or more", o.looks)
	}
	return nil
}

// startTries is how often a broker is asked at the start: a machine may start it at the same time.
const startTries = 6

// each polls until ctx ends, and calls use with each answer, with the time since the one before. A broker that does not
// answer for long at the start is an error, or at once when it is asked only once; later it is waited for.
func (p *Program) each(
	ctx context.Context, o *polling, use func(r *reader, seen *answer) (done bool, err error),
) error {
	session, err := p.Open()
	if err != nil {
		return err
	}
	defer session.Close()

	r := newReader(*session, o.looks)
	away := ""
	var last time.Time
	for tries := 1; ; tries++ {
		began := time.Now()
		seen, err := r.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && last.IsZero() && (o.once || tries >= startTries):
			return err
		case err != nil && err.Error() != away:
			away = err.Error()
			p.Note("%s: nothing ends meanwhile; dlxtop asks again every %s", away, o.every)
		case err == nil && away != "":
			p.Note("the broker answers again")
			away = ""
		}

		now := &answer{Seen: seen, err: err}
		if !last.IsZero() { // a machine that slept has not watched
			now.elapsed = min(began.Sub(last), 2*o.every)
		}
		if err == nil {
			last = began
		}
		if done, err := use(r, now); done || err != nil {
			return err
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(o.every - min(time.Since(began), o.every/2)):
		}
	}
}

// answer is the end of a poll.
type answer struct {
	*alarm.Seen
	err     error
	elapsed time.Duration // since the last one that was answered, by a clock that does not jump
}
