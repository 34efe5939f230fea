package broker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
)

// peekerVariable makes the test's program a process that looks at a queue until it is killed: "type url queue".
const peekerVariable = "DLXTOP_TEST_PEEKER"

func peeker() int {
	var kind, url, queue string
	fmt.Sscan(os.Getenv(peekerVariable), &kind, &url, &queue)
	c, err := broker.New(broker.Options{URL: url})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	q := described(model.QueueRef{VHost: "/", Name: queue}, model.QueueType(kind))
	plan := peek.OfQueue(q, model.Settings{},
		model.BehaviourOf(model.ParseVersion(os.Getenv(peekerVariable+"_VERSION"))), peek.Want{Limit: 100_000})
	fmt.Println("begins")
	_, err = c.Peek(context.Background(), plan)
	fmt.Println("ends", err)
	return 0
}

// TestKilledPeek kills a process that holds messages. All of them come back as they were; nothing of what it kept on
// disk has a name.
func TestKilledPeek(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	forEachKindAlone(t, func(t *testing.T, kind model.QueueType) {
		const n = 8_000 // more than a look keeps in memory
		a := newApp(t)
		q := a.queue("q", kind)
		messages := numbered(n)
		for i := range messages {
			messages[i].Body = fmt.Appendf(make([]byte, 0, 1024), "%01000d", i+1)
		}
		a.publish(q, messages...)
		person, url := person(t)
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s", peekerVariable, kind, url, q.Name),
			peekerVariable+"_VERSION="+node.Version())
		command.Stderr = os.Stderr
		out, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		must.Do(t, err)
		if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "begins" {
			t.Fatal(lines.Text())
		}
		a.until(func() error {
			if a.ready(q) > n/2 {
				return errors.New("it does not hold half of them yet")
			}
			return nil
		})
		_ = command.Process.Kill()
		_ = command.Wait()
		a.until(func() error { return allGone(t, node, person) })
		a.await(q, n)
		named := namedSpools(t)
		assert.That(t, len(named) == 0, "a file is left: %v", named)
		got := a.drain(q, n)
		for i, id := range ids(got) {
			must.That(t, string(got[i].Body) == fmt.Sprintf("%01000s", id), "message %s: %s", id, got[i].Body)
		}
		switch order := ids(got); {
		case slices.Equal(order, count(n)):
		case kind == model.Classic:
			t.Error("the order has changed")
		default:
			t.Log("the order has changed, as it does when the consumer of a quorum queue dies while deliveries are under way")
		}
		slices.SortFunc(got, func(x, y amqp.Delivery) int { return strings.Compare(string(x.Body), string(y.Body)) })
		assert.List(t, ids(got), count(n), "not every message is there once")
	})
}

// TestPeekEndsInTime stops at the time that the plan allows, says so, and leaves order, content and counts as they
// were.
func TestPeekEndsInTime(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		n := size.Of(3000, 20_000)
		a, c := newApp(t), client(t)
		q := a.queue("q", kind)
		a.publish(q, numbered(n)...)
		plan := planPeek(described(q, kind), peek.Want{Limit: n, Timeout: 20 * time.Millisecond})
		peeked := peekAt(t, c, plan)
		if got := len(peeked.Messages); got < n && peeked.Stopped == "" ||
			!slices.Equal(messageIDs(peeked.Messages), count(got)) {
			t.Errorf("%d messages, stopped %q", got, peeked.Stopped)
		} else {
			t.Logf("%d messages: %s", got, peeked.Stopped)
		}
		a.await(q, n)
		wantIDs(t, "the queue", a.drain(q, n), count(n))
	})
}

// TestLooksInARow: what one look gives back is there for the next one, which comes at once.
func TestLooksInARow(t *testing.T) {
	t.Parallel()
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		n := size.Of(2000, 20_000)
		a, c := newApp(t), client(t)
		c.SetComeback(patience) // nobody takes them meanwhile
		q := a.queue("q", kind)
		messages := numbered(n)
		for i := range messages {
			messages[i].Body = make([]byte, 1024)
		}
		a.publish(q, messages...)
		for look := range 6 {
			peeked := must.Get(c.Peek(t.Context(), planPeek(described(q, kind), peek.Want{Limit: n / 2})))(t)
			if depth := peeked.Depth.Or(0); depth != int64(n) || peeked.Messages.Len() != n/2 {
				t.Errorf("look %d: %d of %d messages", look+1, peeked.Messages.Len(), depth)
			}
			if last, err := peeked.Messages.At(n/2-1, 0); err != nil || last.Properties.MessageID != fmt.Sprint(n/2) {
				t.Errorf("look %d: the last one is %s: %v", look+1, last.Properties.MessageID, err)
			}
			peeked.Messages.Close()
		}
	})
}
