package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
)

// call is a call of a tool, and what its answer has or lacks.
type call struct {
	Tool      string
	Arguments map[string]any
	Fails     bool
	Has       []string
	Shown     []string // has only with --show
}

// assistant starts the program with a client of the SDK.
func assistant(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	command := built.Command(t, append([]string{"mcp"}, args...)...)
	session := must.Get(client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil))(t)
	t.Cleanup(func() { assert.That(t, session.Close() == nil, "the program does not end") })
	return session
}

func answer(t *testing.T, to *mcp.ClientSession, c call) (text string, failed bool) {
	t.Helper()
	result := must.Get(to.CallTool(context.Background(), &mcp.CallToolParams{Name: c.Tool, Arguments: c.Arguments}))(t)
	for _, part := range result.Content {
		text += part.(*mcp.TextContent).Text + "\n"
	}
	return text, result.IsError
}

// An assistant sees what there is, masked, and changes nothing but the mark redelivered, whatever it asks for.
func TestAssistant(t *testing.T) {
	channel := dial.Channel(t, built.Node.AMQP())
	dial.Queue(t, channel, "helped", nil)
	dial.Queue(t, channel, "helped.failed", nil)
	dial.Queue(t, channel, "helped.costly", amqp.Table{"x-queue-type": "quorum", "x-expires": 3_600_000})
	dial.Publish(t, channel, "helped.costly", amqp.Publishing{})
	dial.Publish(t, channel, "helped.failed", amqp.Publishing{
		MessageId: "m-1", Type: "OrderPlaced", Body: []byte(`{"card":"s3cret-body"}`),
		Headers: amqp.Table{"x-error": "DeclinedError: s3cret-error of s3cret-person", "tenant": "s3cret-header"},
	}, amqp.Publishing{MessageId: "m-2", Body: []byte("s3cret-text")})

	masks, shows := assistant(t), assistant(t, "--show")
	tools := must.Get(masks.ListTools(t.Context(), nil))(t)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		assert.That(t, tool.Annotations.ReadOnlyHint, "%s changes something", tool.Name)
	}
	assert.Equal(t, strings.Join(names, " "), "causes explain find flows peek plan")

	for _, c := range must.Cases[call](t, "testdata/assistant.toml") {
		masked, failed := answer(t, masks, c)
		shown, _ := answer(t, shows, c)
		assert.Equal(t, failed, c.Fails, "%v: %s", c, masked)
		assert.Lacks(t, masked, "s3cret", "%v", c)
		for _, text := range c.Has {
			assert.Contains(t, masked, text, "%v", c)
		}
		for _, text := range c.Shown {
			assert.Contains(t, shown, text, "%v", c)
		}
		if c.Fails {
			assert.Equal(t, strings.Count(strings.TrimSpace(masked), "\n"), 0, "%s", masked)
		}
	}

	all := dial.Drain(t, channel, "helped.failed")
	must.Equal(t, len(all), 2)
	assert.Equal(t, all[0].MessageId+all[1].MessageId, "m-1m-2")
	assert.Equal(t, string(all[1].Body), "s3cret-text")
	assert.Equal(t, len(dial.Drain(t, channel, "helped")), 0)
}
