// Package jq runs the jq programs of package mend in a process of its own, another instance of this one: inside one
// process nothing can stop a single jq instruction that takes minutes or gigabytes. One child processes message after
// message, and is replaced when it was killed.
package jq

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/model/message"
)

const (
	mostAnswer = 512 << 20        // bytes in an answer
	startTime  = 30 * time.Second // until a child has started
	lookEvery  = 5 * time.Millisecond

	childVariable = "DLXTOP_JQ_CHILD" // set in its environment, which has nothing else
	greeting      = "dlxtop jq 2\n"   // its first output
	exitMemory    = 3                 // its exit status after using too much memory
)

// Serve makes this process a child if it was started as one, and reports that: it has to end then. A program that has
// a Runner calls it first.
func Serve() bool {
	if os.Getenv(childVariable) == "" {
		return false
	}
	serve(os.Stdin, os.Stdout)
	return true
}

// request is a message for a child, and answer is the result: a line of JSON, followed by the body as it is.
type (
	request struct {
		Program string
		head
		body []byte
	}
	answer struct {
		Problem *mend.Problem
		Changed bool
		head
		Same     []string // headers that stay unchanged
		SameBody bool
		body     []byte
	}
	// head is a message without its body, but with its size.
	head struct {
		message.HeadJSON
		Size int
	}
)

func headOf(p *message.Publishing) head { return head{p.HeadJSON(), len(p.Body)} }

func send(to io.Writer, v any, body []byte) error {
	err := json.NewEncoder(to).Encode(v)
	if err == nil {
		_, err = to.Write(body)
	}
	return err
}

func receive(from *bufio.Reader, v any) error {
	line, err := from.ReadBytes('\n')
	if err != nil {
		return err
	}
	return message.Decode(line, v)
}

// serve is the main loop of a child: it ends with its input.
func serve(in io.Reader, out io.Writer) {
	signal.Ignore(os.Interrupt) // from the terminal: the parent decides
	debug.SetMemoryLimit(mostMemory / 2)
	limitMemory(uint64(mostMemory) * 3 / 2)
	var begun atomic.Int64 // when the current message began, in ns; 0: none
	go watch(&begun)
	if _, err := io.WriteString(out, greeting); err != nil {
		return
	}
	reader := bufio.NewReader(in)
	var p *mend.Program
	for {
		var r request
		if receive(reader, &r) != nil {
			return
		}

		r.body = make([]byte, r.Size)
		if _, err := io.ReadFull(reader, r.body); err != nil {
			return
		}
		begun.Store(time.Now().UnixNano())
		if p == nil || p.Text != r.Program {
			var err error
			if p, err = mend.Parse(r.Program); err != nil {
				return
			}
		}

		a := answerTo(p, &r)
		err := send(out, &a, a.body)
		if begun.Store(0); err != nil {
			return
		}
	}
}

// watch kills a child that uses too much memory, which on Linux the kernel does, too, or whose parent is gone.
func watch(begun *atomic.Int64) {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(lookEvery) {
		if metrics.Read(heap); heap[0].Value.Uint64() > uint64(mostMemory) {
			os.Exit(exitMemory)
		}
		if at := begun.Load(); at != 0 && time.Since(time.Unix(0, at)) > 2*mostTime {
			os.Exit(1)
		}
	}
}

// answerTo returns the program's result for a message, in the child.
func answerTo(p *mend.Program, r *request) (a answer) {
	was, err := r.Publishing()
	if err != nil {
		return answer{Problem: mend.Failure(mend.Failed, err)}
	}
	was.Body = r.body
	made, changed, err := mend.InProcess{}.Run(context.Background(), p, &was)
	if problem, ok := err.(*mend.Problem); ok {
		return answer{Problem: problem}
	} else if err != nil {
		return answer{Problem: mend.Failure(mend.Failed, err)}
	}

	if a.Changed = changed; !changed {
		return a
	}
	for name, v := range made.Headers {
		if before, there := was.Headers[name]; there && reflect.DeepEqual(before, v) {
			a.Same = append(a.Same, message.TextJSON(name))
			delete(made.Headers, name)
		}
	}

	if a.SameBody = bytes.Equal(was.Body, made.Body); a.SameBody {
		made.Body = nil
	}

	a.head, a.body = headOf(&made), made.Body
	return a
}

// message returns the changed message. Unchanged parts are taken from the original.
func (a *answer) message(was *message.Publishing) (made message.Publishing, err error) {
	if made, err = a.Publishing(); err != nil {
		return *was, err
	}
	if made.Properties.Timestamp.Equal(was.Properties.Timestamp) {
		made.Properties.Timestamp = was.Properties.Timestamp
	}

	for _, written := range a.Same {
		name, err := message.ParseText(written)
		if err != nil {
			return *was, err
		}
		if made.Headers == nil {
			made.Headers = model.Table{}
		}
		made.Headers[name] = was.Headers[name]
	}

	made.Reaches = was.Reaches
	if made.Body = a.body; a.SameBody {
		made.Body = was.Body
	}

	return made, nil
}

type child struct {
	command *exec.Cmd
	in      io.Writer
	answers *io.LimitedReader
	reader  *bufio.Reader // reads the child's output
	tooLong bool          // it was killed for a message that took too long
}

// startChild starts this program again, as a child.
func startChild() (c *child, err error) {
	self := "/proc/self/exe" // works even when the file was replaced by another version
	if _, err := os.Stat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return nil, err
		}
	}

	c = &child{command: exec.Command(self)}
	c.command.Env = []string{childVariable + "=1"}
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(startTime, func() { _ = c.command.Process.Kill() })
	defer late.Stop()
	said := make([]byte, len(greeting))
	if _, err := io.ReadFull(out, said); err != nil || string(said) != greeting {
		c.end()
		return nil, fmt.Errorf("the process that runs it did not begin: %v", err)
	}

	c.answers = &io.LimitedReader{R: out}
	c.reader = bufio.NewReader(c.answers)
	return c, nil
}

func (c *child) end() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}

// ask makes the child process one message.
func (c *child) ask(ctx context.Context, r *request, most time.Duration) (a answer, err error) {
	kill := func() { _ = c.command.Process.Kill() }
	late := time.AfterFunc(most, kill)
	defer func() { c.tooLong = !late.Stop() }()
	defer context.AfterFunc(ctx, kill)()

	c.answers.N = mostAnswer
	if err = send(c.in, r, r.body); err == nil {
		err = receive(c.reader, &a)
	}
	if err == nil && a.Size > mostAnswer {
		err = io.ErrShortBuffer
	}

	if err == nil {
		a.body = make([]byte, a.Size)
		_, err = io.ReadFull(c.reader, a.body)
	}

	return a, err
}

// Runner runs programs in children, one at a time.
type Runner struct {
	turn chan struct{} // holds one token: its owner may use the child
	now  *child        // nil: none
	idle *time.Timer   // ends the child when it is idle
	rest time.Duration // without a message, after which a child ends
	most time.Duration // for one message
}

func New() *Runner {
	return &Runner{turn: make(chan struct{}, 1), rest: 10 * time.Second, most: mostTime}
}

func (r *Runner) Run(ctx context.Context, p *mend.Program, m *message.Publishing) (
	made message.Publishing, changed bool, err error,
) {
	a, err := r.ask(ctx, &request{p.Text, headOf(m), m.Body})
	switch {
	case err != nil:
		return *m, false, err
	case a.Problem != nil:
		return *m, false, a.Problem
	case !a.Changed:
		return *m, false, nil
	}

	if made, err = a.message(m); err != nil {
		return *m, false, mend.Failure(mend.Failed, err)
	}

	return made, true, nil
}

// ask processes one message in a child. An error is a *mend.Problem; after a failed child the next message gets a new
// one.
func (r *Runner) ask(ctx context.Context, request *request) (answer, error) {
	select {
	case <-ctx.Done():
		return answer{}, &mend.Problem{Kind: mend.Stopped}
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	}

	if ctx.Err() != nil { // both were ready
		return answer{}, &mend.Problem{Kind: mend.Stopped}
	}
	if r.idle != nil {
		r.idle.Stop()
	}

	if r.now == nil {
		c, err := startChild()
		if err != nil {
			return answer{}, mend.Failure(mend.NotRun, err)
		}
		r.now = c
	}

	c := r.now
	a, err := c.ask(ctx, request, r.most)
	if err != nil || ctx.Err() != nil || c.tooLong {
		c.end()
		r.now = nil
		return answer{}, r.problem(ctx, c)
	}

	r.idle = time.AfterFunc(r.rest, func() { // it takes the turn first: its owner may return it without a message
		r.turn <- struct{}{}
		if r.now != nil {
			r.now.end()
			r.now = nil
		}
		<-r.turn
	})

	return a, nil
}

// problem returns why a child ended.
func (r *Runner) problem(ctx context.Context, c *child) *mend.Problem {
	switch {
	case ctx.Err() != nil:
		return &mend.Problem{Kind: mend.Stopped}
	case c.tooLong:
		return &mend.Problem{Kind: mend.Slow, Detail: r.most.String()}
	}

	return &mend.Problem{Kind: mend.Large, Detail: message.Size(mostMemory) + "B"}
}
