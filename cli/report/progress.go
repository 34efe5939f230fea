package report

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// Progress is one line on a terminal that shows the progress of an execution. Elsewhere, and on a terminal that cannot
// erase a line, it only says why it waits, once for each reason.
type Progress struct {
	sync.Mutex // other goroutines show
	out        io.Writer
	terminal   bool
	shown      bool
	ended      bool
	waiting    string // the last reason shown
}

// NewProgress shows on a stream; plain: it is no terminal that can erase a line.
func NewProgress(out io.Writer, plain bool) *Progress {
	return &Progress{out: out, terminal: print.IsTerminal(out) && !plain}
}

// Show shows how far an action is.
func (p *Progress) Show(account plan.Account) {
	p.Lock()
	defer p.Unlock()
	if p.ended {
		return
	}
	words := model.Sayf("%v of %v", account.Done(), account.Planned)
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
		words += "   " + canaryWords(&account) + account.Canary.Left(time.Now())
	}

	p.draw(words)
}

// Draw shows words on a terminal.
func (p *Progress) Draw(words string) {
	p.Lock()
	defer p.Unlock()
	p.draw(words)
}

func (p *Progress) draw(words string) {
	if !p.terminal {
		return
	}
	p.shown = true
	fmt.Fprintf(p.out, "\r\x1b[K%s", print.Shortened(words, 78))
}

// Clear erases the line until it is drawn again.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// Stop erases the line for good.
func (p *Progress) Stop() {
	p.Lock()
	defer p.Unlock()
	p.ended = true
	p.Clear()
}
