package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/muesli/cancelreader"

	"dlxtop/model"
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
}

// ask lets the person agree: with a yes, or with the queue's name when many messages or a production system are concerned.
func (p *Program) ask(ctx context.Context, q question) error {
	queue := model.Printable(q.queue.Name)
	fmt.Fprintf(p.Err, "%s %s %s %s", q.does, model.Plural(q.messages, "message"), q.where, model.Printable(q.queue.String()))
	careful := q.production || q.messages > manyMessages
	if careful {
		fmt.Fprint(p.Err, ": to go on, type the queue's name: ")
	} else {
		fmt.Fprint(p.Err, "? [y/N] ")
	}
	answer, err := readLine(ctx, p.In)
	if err != nil {
		fmt.Fprintln(p.Err)
		return err
	}
	if careful && answer == queue || !careful && (strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes")) {
		return nil
	}
	return refused("not agreed: nothing was changed")
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
	return strings.TrimSpace(line), nil
}

// progress is one line on a terminal that tells how far an execution is. Elsewhere it shows nothing.
type progress struct {
	mu    sync.Mutex // show is called from another goroutine
	out   io.Writer
	shown bool
	ended bool
}

func (p *Program) progress() *progress {
	if isTerminal(p.Err) {
		return &progress{out: p.Err}
	}
	return &progress{out: io.Discard}
}

func (p *progress) show(account model.Account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.shown = true
	words := fmt.Sprintf("%d of %d", account.Done(), account.Planned)
	if account.Canary != "" {
		words += "   " + model.Printable(account.Canary)
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", shortened(words, 78))
}

// end takes the line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended = true; p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
