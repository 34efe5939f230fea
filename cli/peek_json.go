package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

// peekJSON is the JSON of `dlxtop peek`.
type peekJSON struct {
	Queue          string      `json:"queue"`                     // its name
	Method         peek.Method `json:"method"`                    // how the queue was looked at
	Cost           string      `json:"cost"`                      // what that costs it, in a sentence
	DeliveryLimit  int64       `json:"delivery_limit,omitempty"`  // when looks use it up
	DeliveriesLeft *int64      `json:"deliveries_left,omitempty"` // of it, after this look: how many looks are left
	// messages at the limit that were moved to the end of the queue
	Rescued  int               `json:"rescued,omitempty"`
	Messages []json.RawMessage `json:"messages"` // in the order of the queue
}

const (
	runMessages = 128      // that are worked out together
	runBytes    = 1 << 20  // of their text, after which a run ends early
	runBody     = 64 << 10 // bytes of a body that is worked out beside others; larger ones are written in parts
)

// messageRun is the JSON of some messages in a row.
type messageRun struct {
	from, to int    // indexes
	done     int    // the index behind the last one that is in text; what is left is written in parts
	text     []byte // each behind the comma and the indentation in front of it
	said     []string
	err      error
	ready    chan struct{} // closed when it was worked out
}

// writePeeked writes one object, as writeJSON does. All processors work on it, with a few runs of messages in memory.
func (p *Program) writePeeked(head peekJSON, messages message.Messages) error {
	var text bytes.Buffer
	head.Messages = []json.RawMessage{}
	if err := print.JSON(&text, head); err != nil {
		return err
	}
	if messages.Len() == 0 {
		_, err := p.Out.Write(text.Bytes())
		return err
	}
	open := bytes.TrimSuffix(text.Bytes(), []byte("]\n}\n"))
	buffered := bufio.NewWriterSize(p.Out, 64<<10)
	_, _ = buffered.Write(open)                           // Flush tells
	runs := make(chan *messageRun, runtime.GOMAXPROCS(0)) // as many as are worked on, in their order
	over := make(chan struct{})
	var workers sync.WaitGroup
	defer workers.Wait()
	defer close(over)
	workers.Go(func() {
		defer close(runs)
		for from := 0; from < messages.Len(); from += runMessages {
			run := &messageRun{from: from, to: min(from+runMessages, messages.Len()), ready: make(chan struct{})}
			select {
			case runs <- run:
				workers.Go(func() { run.work(messages) })
			case <-over:
				return
			}
		}
	})
	for run := range runs {
		<-run.ready
		for _, said := range run.said {
			p.say("%s", said)
		}
		_, _ = buffered.Write(run.text)
		if run.err != nil {
			return run.err
		}
		for i := run.done; i < run.to; i++ {
			if err := p.writeLarge(buffered, messages, i); err != nil {
				return err
			}
		}
	}
	_, _ = buffered.WriteString("\n  ]\n}\n")
	return buffered.Flush()
}

// work works the run out, up to the first message that is too large for it.
func (r *messageRun) work(messages message.Messages) {
	defer close(r.ready)
	var text bytes.Buffer
	r.done = r.from
	err := messages.Range(r.from, r.to, runBody, func(m *message.Message) error {
		if len(m.Body) < m.BodyBytes || text.Len() >= runBytes {
			return errRunEnds
		}
		if said := unreadableDeaths(m); said != "" {
			r.said = append(r.said, said)
		}
		if err := writeInList(&text, m, nil, r.done); err != nil {
			return err
		}
		r.done++
		return nil
	})
	if err != errRunEnds {
		r.err = err
	}
	r.text = text.Bytes()
}

// errRunEnds ends a run early.
var errRunEnds = errors.New("the run ends")

// writeLarge writes a message with a part of its body in memory at a time.
func (p *Program) writeLarge(out io.Writer, messages message.Messages, i int) error {
	m, err := messages.At(i, shownBody)
	if err != nil {
		return err
	}
	if said := unreadableDeaths(&m); said != "" {
		p.say("%s", said)
	}
	return writeInList(out, &m, message.BodyOf(messages, i), i)
}

// writeInList writes a message at an index of the list.
func writeInList(out io.Writer, m *message.Message, body io.ReaderAt, i int) error {
	before := ",\n    "
	if i == 0 {
		before = before[1:]
	}
	if _, err := io.WriteString(out, before); err != nil {
		return err
	}
	return m.WriteJSON(out, body, "    ", "  ")
}

// unreadableDeaths says what cannot be read of the deaths of a message, "" when all can be.
func unreadableDeaths(m *message.Message) string {
	if m.DeathsError == "" {
		return ""
	}
	return fmt.Sprintf("message %d: its x-death cannot be read in full: %s", m.Position, model.Printable(m.DeathsError))
}
