package mend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/itchyny/gojq"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/message"
)

// mostSteps bounds what a program does with one message, in instructions of jq's virtual machine: some 50 ms. It is a
// count and not a time, so that a program has the same result on a busy machine.
const mostSteps = 1_000_000

// Program is a jq program that changes messages. It is safe for concurrent use. It sees only the message: no
// environment, no files, no further input.
type Program struct {
	Text   string // as it was written
	code   *gojq.Code
	ctx    context.Context // cancels it; nil: never
	runner Runner          // nil: it cannot be applied
}

// Runner runs a program on one message, and returns the result and whether it differs. The error is a *Problem. It
// bounds the time and the memory of that: inside a process nothing can stop a single instruction of jq.
type Runner interface {
	Run(ctx context.Context, p *Program, m *message.Publishing) (made message.Publishing, changed bool, err error)
}

// Parse reads a program. The error is one sentence.
func Parse(text string) (*Program, error) {
	query, err := gojq.Parse(text)
	var syntax *gojq.ParseError
	switch {
	case errors.As(err, &syntax):
		return nil, syntaxError(text, syntax)
	case err == nil:
		var code *gojq.Code
		if code, err = gojq.Compile(query); err == nil {
			return &Program{Text: text, code: code}, nil
		}
	}

	return nil, fmt.Errorf("this is not a jq program: %s", detail(err.Error()))
}

// Within returns the same program, applied by a runner and bound to ctx: once that is done, its result is the problem
// Stopped.
func (p *Program) Within(ctx context.Context, runner Runner) *Program {
	if p == nil {
		return nil
	}

	within := *p
	within.ctx, within.runner = ctx, runner
	return &within
}

func syntaxError(text string, err *gojq.ParseError) error {
	if err.Token == "" {
		return errors.New("the jq program is not complete: something is missing at its end")
	}
	before := text[:min(max(err.Offset-len(err.Token), 0), len(text))]
	const shown = 20 // enough to find it again
	if runes := []rune(before); len(runes) > shown {
		before = "…" + string(runes[len(runes)-shown:])
	}

	return fmt.Errorf("this is not a jq program: %s, behind %s", detail(err.Error()), message.Excerpt(before))
}

func (p *Program) MarshalJSON() ([]byte, error) { return json.Marshal(message.TextOf(p.Text)) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Program) UnmarshalJSON(from []byte) error {
	var text message.Text
	if err := json.Unmarshal(from, &text); err != nil {
		return message.JSONError(err)
	}
	read, err := Parse(string(text))
	if err == nil {
		*p = *read
	}

	return err
}

// Apply runs the program on a message, and returns the result and whether it differs. The error is a *Problem.
func (p *Program) Apply(m *message.Publishing) (made message.Publishing, changed bool, err error) {
	if p.runner == nil {
		return *m, false, &Problem{Kind: NotRun, Detail: "nothing here runs jq programs"}
	}
	return p.runner.Run(p.ctx, p, m)
}

// InProcess runs programs in this process, where only their steps are bounded: for a child, which can be killed, and
// for tests of programs that are known.
type InProcess struct{}

func (InProcess) Run(_ context.Context, p *Program, m *message.Publishing) (
	made message.Publishing, changed bool, err error,
) {
	defer func() {
		if r := recover(); r != nil { // hostile input must not crash the program
			made, changed, err = *m, false, Failure(Failed, fmt.Errorf("%v", r))
		}
	}()

	was := objectOf(m)
	result, err := p.run(was.value())
	if err != nil {
		return *m, false, err
	}

	return was.made(result)
}

// run returns the one output of the program for an input.
func (p *Program) run(value any) (result any, err error) {
	values := p.code.RunWithContext(&bounded{Context: context.Background()}, value)
	for n := 0; ; n++ {
		next, more := values.Next()
		failed := problemOf(next)
		switch {
		case !more && n == 0:
			return nil, &Problem{Kind: Nothing}
		case !more:
			return result, nil
		case failed != nil:
			return nil, failed
		case n > 0:
			return nil, &Problem{Kind: Several}
		}

		result = next
	}
}

// problemOf returns the error in a program's output, if it is one.
func problemOf(result any) error {
	err, failed := result.(error)
	switch {
	case !failed:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &Problem{Kind: Endless}
	}

	return Failure(Failed, err)
}

// Failure returns a problem because of an error that is not of this package.
func Failure(kind Kind, err error) *Problem { return &Problem{Kind: kind, Detail: detail(err.Error())} }

// detail returns the beginning of a foreign error text, which may quote a message.
func detail(text string) string {
	return model.Beginning(text, 120)
}

// bounded ends after a number of instructions: gojq checks before each of them whether its context is done.
type bounded struct {
	context.Context
	steps int
}

// ended is a closed channel.
var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (b *bounded) Done() <-chan struct{} {
	if b.steps++; b.steps > mostSteps {
		return ended
	}
	return nil // it is never ready
}

func (b *bounded) Err() error { return context.DeadlineExceeded }
