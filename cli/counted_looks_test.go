package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// TestLooksOfManyRuns: each look at a quorum queue uses up its delivery limit, which is 20 by default from 4.0. However
// many runs there are, and each knows of the others only what is on the disk: no message is lost, and a run that would
// use the limit up is refused with the number.
func TestLooksOfManyRuns(t *testing.T) {
	t.Parallel()
	const n, runs, limit = 25, 24, 20
	counts := model.BehaviourOf(model.ParseVersion(node.Version())).ReturnCountsAsDelivery
	export := func(v *vhost, run int) []string {
		return []string{"export", "q", filepath.Join(v.t.TempDir(), fmt.Sprint(run))}
	}
	args := func(args ...string) func(*vhost, int) []string { return func(*vhost, int) []string { return args } }
	for _, test := range []struct {
		name string
		args func(*vhost, int) []string
		free bool // it needs no look
		says string
	}{
		{"peek", args("peek", "q"), false, "this look used 1: "},
		{"export", export, false, "exported"},
		{
			"replay --dry-run", args("replay", "q", "--to", "exchange:amq.direct/k", "--dry-run"),
			false, "this dry run used 1 look: ",
		},
		{"drop --filter", args("drop", "q", "--filter", `body == "no such body"`, "--yes"), false, "no message matches"},
		{"move --dry-run", args("move", "q", "--to", "queue:other", "--dry-run"), true, "this dry run used no look"},
		{"drop --dry-run", args("drop", "q", "--dry-run"), true, "this dry run used no look"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := newVHost(t)
			v.declare("q", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(limit)})
			v.declare("other", nil)
			must.Do(t, v.channel.QueueBind("other", "k", "amq.direct", false, nil))
			v.fill("q", n)
			refused := 0
			for run := range runs {
				r := v.run(test.args(v, run)...)
				switch {
				case r.status == cli.ExitRefused:
					refused++
					assert.Contains(t, r.stderr, "2 looks left of 20", "run %d", run+1)
				case counts && r.status != cli.ExitDone, counts && !strings.Contains(r.stderr, test.says):
					t.Errorf("run %d: exit status %d: %s", run+1, r.status, r.stderr)
				}
			}
			want := 0
			if counts && !test.free {
				want = runs - limit + 2
			}
			// On a busy machine a look can cost two: a consumer that is cancelled while a message is on its way. One that
			// comes before the queue shows what it got back costs none.
			assert.That(t, refused >= want-2 && (want != 0 || refused <= 0) && refused <= want+3,
				"%d runs were refused, want the last %d", refused, want)
			await(t, "all are back", func() bool { return v.count("q") == n })
			d, ok, err := v.channel.Get("q", true)
			assert.That(t, err == nil && ok && (!counts || !test.free || !d.Redelivered),
				"the first message: %v %v", err, d.Redelivered)
			came, _ := d.Headers["x-delivery-count"].(int64)
			assert.That(t, !counts || came <= limit-2 && (came != 0 || test.free), "the first message came back %d times", came)
		})
	}
}

// TestReadOnlyLooks: on a read-only connection nobody can agree to rescues, and what is at its limit is not lost
// either.
func TestReadOnlyLooks(t *testing.T) {
	t.Parallel()
	if !model.BehaviourOf(model.ParseVersion(node.Version())).ReturnCountsAsDelivery {
		return // nothing is refused: TestLooksOfManyRuns
	}
	v := newVHost(t)
	v.declare("q", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(3)})
	v.fill("q", 2)
	for look := range 5 {
		await(t, "both are back", func() bool { return v.count("q") == 2 })
		r := v.run("peek", "q", "--read-only", "--insist")
		assert.That(t, (look <= 0 || r.status == cli.ExitRefused) && !strings.Contains(r.stderr, "--insist"),
			"look %d: exit status %d: %s", look+1, r.status, r.stderr)
	}
	await(t, "both are left", func() bool { return v.count("q") == 2 })
}

// looking is a broker that counts the looks at queues.
type looking struct {
	cli.Broker
	looks *atomic.Int32
}

func (l looking) Peek(ctx context.Context, look peek.Plan) (peek.Peeked, error) {
	l.looks.Add(1)
	return l.Broker.Peek(ctx, look)
}

// TestAgreedActionsLookOnce: what a quorum queue got back it gives out first, and all of it has to be taken. So with
// --yes an action takes its messages, and looks at none before, unless its plan depends on them.
func TestAgreedActionsLookOnce(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("q", amqp.Table{"x-queue-type": "quorum"})
	v.declare("other", nil)
	for i, test := range []struct {
		looks int32
		args  []string
	}{
		{0, v.on("move", "q", "--to", "queue:other", "--yes")},
		{0, v.on("replay", "q", "--to", "queue:other", "--yes", "--limit", "2")},
		{0, v.on("drop", "q", "--yes")},
		{1, v.on("replay", "q", "--to", "queue:other", "--filter", `body != ""`, "--yes")},
		{1, v.on("replay", "q", "--to", "exchange:/other", "--yes")},
	} {
		v.send("q", []amqp.Publishing{ // no copies of what was replayed before
			{MessageId: fmt.Sprint("first ", i), Body: []byte("1")}, {MessageId: fmt.Sprint("second ", i), Body: []byte("2")},
		})
		r := v.run("peek", "q")
		must.That(t, r.status == cli.ExitDone, "%v", r.stderr)
		var out, errs bytes.Buffer
		var looks atomic.Int32
		p := program(strings.NewReader(""), &out, &errs)
		broker := p.Broker
		p.Broker = func(c config.Connection, j cli.Journal, reread plan.Reread) (cli.Broker, error) {
			b, err := broker(c, j, reread)
			return looking{b, &looks}, err
		}
		if status := p.Run(t.Context(), test.args); status != cli.ExitDone || looks.Load() != test.looks {
			t.Errorf("%v: exit status %d, %d looks, want %d: %s", test.args, status, looks.Load(), test.looks, errs.String())
		}
		unread := strings.Contains(errs.String(), "no message was read")
		if want := test.looks == 0 && test.args[0] != "drop"; unread != want {
			t.Errorf("%v: it says %s", test.args, errs.String())
		}
		assert.Equal(t, v.count("q"), 0, "%v", test.args)
	}
}
