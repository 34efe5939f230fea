package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muesli/cancelreader"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// manyMessages is the number from which on a plain yes is too easy.
const manyMessages = 100

// question is what a person is asked to agree to: "drop 3 messages of orders.failed".
type question struct {
	does       string
	messages   int
	where      string // "of", "into"
	queue      model.QueueRef
	production bool
	reason     *string // why, for the journal; nil: nothing keeps it
}

// ask lets the person agree: with a yes, or with the number of messages when they are many, or on a production system.
// There it then asks why, where that was not said.
func (p *Program) ask(ctx context.Context, q question) error {
	fmt.Fprintf(p.Err, "%s %s %s %s", q.does, model.Plural(q.messages, "message"), q.where,
		model.Printable(q.queue.String()))
	careful := q.production || q.messages > manyMessages
	if careful {
		fmt.Fprintf(p.Err, ": to go on, type %s: ", model.Count(q.messages))
	} else {
		fmt.Fprint(p.Err, "? [y/N] ")
	}
	answer, err := readLine(ctx, p.In)
	if err != nil {
		fmt.Fprintln(p.Err)
		return err
	}
	word := strings.TrimSpace(answer)
	switch {
	case careful && strings.ReplaceAll(word, ",", "") == strconv.Itoa(q.messages),
		!careful && (strings.EqualFold(word, "y") || strings.EqualFold(word, "yes")):
		return p.askReason(ctx, &q)
	case careful && word != "":
		return refused("nothing was changed: you typed %s, not %s", model.Printable(word), model.Count(q.messages))
	}
	return refused("not agreed: nothing was changed")
}

func (p *Program) askReason(ctx context.Context, q *question) (err error) {
	if !q.production || q.reason == nil || *q.reason != "" {
		return nil
	}
	fmt.Fprint(p.Err, "why (the journal keeps it with your name): ")
	*q.reason, err = readLine(ctx, p.In)
	if err == nil && strings.TrimSpace(*q.reason) == "" {
		err = refused("nothing was changed: no reason was given")
	}
	return err
}

// readLine reads one line, until ctx ends. The end of the input is an empty line.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	defer reader.Close()
	stop := context.AfterFunc(ctx, func() { reader.Cancel() })
	defer stop()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

// progress is one line on a terminal that tells how far an execution is. Elsewhere, and on a terminal that cannot take
// a line back, it tells only why one waits, once for each reason.
type progress struct {
	mu       sync.Mutex // show is called from another goroutine
	out      io.Writer
	terminal bool
	shown    bool
	ended    bool
	waiting  string // that was told last
}

func (p *Program) progress() *progress {
	return &progress{out: p.Err, terminal: print.IsTerminal(p.Err) && !p.dumb()}
}

func (p *progress) show(account plan.Account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	words := model.Count(account.Done()) + " of " + model.Count(account.Planned)
	if !p.terminal {
		if account.Waiting != "" && account.Waiting != p.waiting {
			fmt.Fprintf(p.out, "waits at %s: %s\n", words, model.Printable(account.Waiting))
			p.waiting = account.Waiting
		}
		return
	}
	switch {
	case account.Waiting != "":
		words += "   waits: " + model.Printable(account.Waiting)
	case account.Canary.Phase != "":
		words += "   " + report.CanaryWords(&account) + account.Canary.Left(time.Now())
	}
	p.draw(words)
}

// draw replaces the line.
func (p *progress) draw(words string) {
	p.shown = true
	fmt.Fprintf(p.out, "\r\x1b[K%s", print.Shortened(words, 78))
}

// clear takes the line away, until the next one.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// stop takes the line away for good.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended = true; p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
