// Package mcp answers an assistant over the Model Context Protocol: each of its tools is one of dlxtop's commands that
// change nothing on the broker.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server offers the tools.
type Server struct {
	Version string
	Show    bool // values of headers and bodies are not masked
	Run     Run

	turn sync.Mutex // one command at a time
}

// Run runs a command with flags ("--output=json") and arguments on a read-only connection where a look that has a cost
// is refused. It returns what the command wrote to standard output and to standard error, and the exit status.
type Run func(ctx context.Context, command string, flags, arguments []string) (out, said string, status int)

// mostAnswer bounds an answer, in bytes: assistants read less.
const mostAnswer = 1 << 20

const instructions = `dlxtop shows why messages of RabbitMQ failed and what a replay would do. No tool changes the
broker: plan is a dry run, and a person runs the command that it names. A look marks messages of classic queues as
redelivered; one that costs more (a quorum queue before RabbitMQ 4.3 counts each towards its delivery limit) is refused
with its cost.`

// What the tools take. The texts are shown to the assistant.
type (
	nothing  struct{}
	ofQueues struct {
		Queues string `json:"queues,omitempty" jsonschema:"only queues with such names: a glob with * and ?"`
	}
	aText struct {
		Text  string `json:"text" jsonschema:"a text, or = and an expression: =worker == \"orders\" and deaths > 3"`
		Limit int    `json:"limit,omitempty" jsonschema:"how many messages to find at most (default 100)"`
		ofQueues
	}
	aCode struct {
		Code string `json:"code,omitempty" jsonschema:"of a finding; without it, all are listed"`
	}
	ofOne struct {
		Queue  string `json:"queue" jsonschema:"its name, or VHOST/NAME"`
		Filter string `json:"filter,omitempty" jsonschema:"only messages that match this expression"`
		Cause  string `json:"cause,omitempty" jsonschema:"only messages that failed for the cause of this id"`
		Limit  int    `json:"limit,omitempty" jsonschema:"how many messages at most"`
	}
	anAction struct {
		Operation string `json:"operation" jsonschema:"replay, move or drop"`
		To        string `json:"to,omitempty" jsonschema:"where: auto (default of replay), origin, queue:NAME, exchange:NAME/KEY"`
		ofOne
	}
)

// command is a command line.
type command struct {
	name      string
	flags     []string
	arguments []string
}

// with adds a flag, unless its value is "".
func (c command) with(flag, value string) command {
	if value != "" {
		c.flags = append(c.flags, "--"+flag+"="+value)
	}
	return c
}

func inJSON(name string, arguments ...string) command {
	return command{name: name, arguments: arguments}.with("output", "json")
}

func (o *ofOne) selected(c command) command {
	if o.Limit != 0 {
		c = c.with("limit", strconv.Itoa(o.Limit))
	}
	return c.with("filter", o.Filter).with("cause", o.Cause)
}

// Serve answers until the assistant closes in, or ctx ends.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	to := mcp.NewServer(&mcp.Implementation{Name: "dlxtop", Version: s.Version},
		&mcp.ServerOptions{Instructions: instructions})

	add(s, to, "flows", "The flows: each worker with its buffers, failed queues and what waits in them.",
		func(nothing) (command, error) { return inJSON("flows"), nil })
	add(s, to, "causes", "What failed and why: the messages of all failed queues that can be read without a cost, by "+
		"their cause.", func(a ofQueues) (command, error) { return inJSON("causes").with("queues", a.Queues), nil })
	add(s, to, "find", "The messages of all queues that can be read without a cost and have a text or match an "+
		"expression.", func(a aText) (command, error) {
		return inJSON("find", a.Text).with("queues", a.Queues).with("number", strconv.Itoa(cmp.Or(a.Limit, 100))), nil
	})

	add(s, to, "explain", "What a finding of dlxtop means and what to do about it.",
		func(a aCode) (command, error) {
			if a.Code == "" {
				return command{name: "explain"}, nil
			}
			return command{name: "explain", arguments: []string{a.Code}}, nil
		})
	add(s, to, "peek", "The first messages of a queue, where a look has no cost; they stay where they are.",
		func(a ofOne) (command, error) {
			return a.selected(inJSON("peek", a.Queue)), nil
		})
	add(s, to, "plan", "What a replay, a move or a drop of messages would do. It is never done.",
		func(a anAction) (command, error) {
			switch a.Operation {
			case "replay", "move", "drop":
			default:
				return command{}, errors.New("operation is replay, move or drop")
			}
			c := inJSON(a.Operation, a.Queue).with("dry-run", "true").with("to", a.To)
			return a.selected(c), nil
		})

	err := to.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: unclosed{out}})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// unclosed is an output that its owner closes.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }

func add[In any](s *Server, to *mcp.Server, name, does string, of func(In) (command, error)) {
	closed := false
	tool := &mcp.Tool{
		Name: name, Description: does,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}

	mcp.AddTool(to, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		c, err := of(in)
		if err != nil {
			return nil, nil, err
		}
		return s.call(ctx, c)
	})
}

// call runs a command. What it said is beside what it wrote, or the error if it wrote nothing.
func (s *Server) call(ctx context.Context, c command) (*mcp.CallToolResult, any, error) {
	s.turn.Lock()
	out, said, status := s.Run(ctx, c.name, c.flags, c.arguments)
	s.turn.Unlock()
	said = strings.TrimSpace(said)
	switch {
	case out == "" && status != 0:
		lines := strings.Split(said, "\n")
		return nil, nil, errors.New(strings.TrimPrefix(lines[len(lines)-1], "dlxtop: "))
	case len(out) > mostAnswer:
		return nil, nil, fmt.Errorf("the answer has %d KiB, more than %d: ask for fewer messages", len(out)>>10,
			mostAnswer>>10)
	}

	if !s.Show {
		var err error
		if out, err = masked(out); err != nil {
			return nil, nil, err
		}
	}

	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}}
	if said != "" {
		result.Content = append(result.Content, &mcp.TextContent{Text: said})
	}
	return result, nil, nil
}
