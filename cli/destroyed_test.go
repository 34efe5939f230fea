package cli_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/loss"
)

// losing is a queue of a test that destroys a number of messages.
type losing struct {
	queue, kind string // queue type and reason
	lost        int
	arguments   amqp.Table
	requeue     bool // what a consumer rejects comes back
}

var losers = []losing{
	{"classic.ttl", "classic expired", 3, amqp.Table{"x-message-ttl": 1}, false},
	{"classic.max", "classic maxlen", 5, amqp.Table{"x-max-length": 2}, false},
	{"classic.rejected", "classic rejected", 4, amqp.Table{}, false},
	{
		"classic.nowhere", "classic expired", 20,
		amqp.Table{"x-message-ttl": 1, "x-dead-letter-exchange": "nowhere"},
		false,
	},
	{"quorum.ttl", "quorum expired", 6, amqp.Table{"x-message-ttl": 1}, false},
	{"quorum.max", "quorum maxlen", 7, amqp.Table{"x-max-length": 2}, false},
	{"quorum.rejected", "quorum rejected", 8, amqp.Table{}, false},
	{"quorum.limit", "quorum delivery_limit", 2, amqp.Table{"x-delivery-limit": 2}, true},
	// neither counts: the first keeps what it has, and the dead letters of the second reach no queue
	{"classic.kept", "classic none", 0, amqp.Table{}, false},
	{
		"classic.unroutable", "classic none", 9,
		amqp.Table{"x-message-ttl": 1, "x-dead-letter-exchange": "amq.direct"},
		false,
	},
}

// lose makes a queue destroy its messages.
func (l losing) lose(t *testing.T, url string, channel *amqp.Channel) {
	t.Helper()
	l.arguments["x-queue-type"], _, _ = strings.Cut(l.kind, " ")
	must.Get(channel.QueueDeclare(l.queue, true, false, false, false, l.arguments))(t)
	published := l.lost
	if limit, limited := l.arguments["x-max-length"]; limited {
		published += limit.(int)
	}

	dial.Publish(t, channel, l.queue, make([]amqp.Publishing, published)...)
	if strings.HasSuffix(l.kind, "rejected") || l.requeue {
		dial.Work(t, url, l.queue, 0, func(d amqp.Delivery) { _ = d.Reject(l.requeue) })
	}
}

// destroyed lists what a run counted besides 0, since the node started or while it watched.
func (r result) destroyed(t *testing.T) (since, watched []string) {
	t.Helper()
	for _, d := range decode[findingsContract](t, r).Destroyed {
		assert.Equal(t, d.Unknown, "", "%q", r.args)
		if d.Messages > 0 {
			since = append(since, fmt.Sprintf("%s %s: %d", d.QueueType, d.Reason, d.Messages))
		}
		if d.Watched > 0 {
			watched = append(watched, fmt.Sprintf("%s %s: %d", d.QueueType, d.Reason, d.Watched))
		}
	}

	slices.Sort(since)
	return since, watched
}

// meanwhile does something between two counts of a source.
type meanwhile struct {
	cli.Source
	do func()
}

func (m meanwhile) Destroyed(ctx context.Context) []loss.Destroyed {
	counts := m.Source.Destroyed(ctx)
	m.do()
	return counts
}

// What a node with rabbitmq_prometheus destroys is told exactly, by queue type and reason, and beside it the statistics
// of each queue; what is destroyed while findings watches, too.
func TestFindingsCountDestroyedMessages(t *testing.T) {
	t.Parallel()
	_, port, _ := net.SplitHostPort(dial.Unused(t))
	own := must.Get(demo.Start(t.Context(), demo.Options{
		Plugins: []string{"rabbitmq_prometheus"}, Settings: "prometheus.tcp.port = " + port + "\n",
	}))(t)
	t.Cleanup(func() { must.Do(t, own.Stop()) })
	channel := dial.Channel(t, own.AMQP())
	for _, l := range losers {
		l.lose(t, own.AMQP(), channel)
	}

	find := []string{"findings", "--url", own.AMQP(), "--api", own.API(), "-o", "json"}
	var r result
	must.Await(t, "all is counted, also in the statistics of queues", func() bool {
		r = run(t, find...)
		since, _ := r.destroyed(t)
		return len(since) == 7 && strings.Contains(r.out, "quorum.limit (2)") && strings.Contains(r.out, "quorum.max (7)") &&
			strings.Contains(r.out, "classic.ttl (3)") && strings.Contains(r.out, "classic.nowhere (20)")
	})
	want := []string{
		"classic expired: 23", "classic maxlen: 5", "classic rejected: 4", "quorum delivery_limit: 2", "quorum expired: 6",
		"quorum maxlen: 7", "quorum rejected: 8",
	}
	since, _ := r.destroyed(t)
	assert.List(t, since, want)

	found := map[string]string{}
	for _, f := range decode[findingsContract](t, r).Findings {
		found[f.Level+" "+f.Code+" "+f.Queue] = *f.Evidence
	}
	for finding, words := range map[string]string{
		"warning ttl-without-dlx classic.ttl":             "23 messages of classic queues (expired) since it started",
		"error dlx-missing classic.nowhere":               "23 messages of classic queues (expired) since it started",
		"warning limit-without-dlx quorum.max":            "7 messages of quorum queues (maxlen) since it started",
		"warning delivery-limit-without-dlx quorum.limit": "2 messages of quorum queues (delivery_limit) since it started",
	} {
		assert.Contains(t, found[finding], own.Name()+" destroyed "+words, finding)
	}

	// Where the first answer of the node's metrics takes too long, what was destroyed since is unknown: once more then.
	var watched []string
	for n := 1; len(watched) == 0 && n <= 5; n++ {
		name := fmt.Sprint("new", n)
		dial.Queue(t, channel, name, amqp.Table{"x-queue-type": "quorum"}) // without statistics: findings watches
		var once sync.Once
		r = runChanged(t.Context(), func(p *cli.Program) {
			open := p.Source
			p.Source = func(c config.Connection) (cli.Source, error) {
				source, err := open(c)
				return meanwhile{source, func() {
					once.Do(func() { dial.Publish(t, channel, "classic.ttl", make([]amqp.Publishing, 5)...) })
				}}, err
			}
		}, find...)
		want[0] = fmt.Sprintf("classic expired: %d", 23+5*n)
		since, watched = r.destroyed(t)
		assert.List(t, since, want)
	}

	assert.List(t, watched, []string{"classic expired: 5"})
	all := strings.TrimPrefix(want[0], "classic expired: ")
	assert.Contains(t, r.out, "destroyed "+all+" messages of classic queues (expired) since it started, 5 while dlxtop")
}

// Without rabbitmq_prometheus, the finding says what it would tell.
func TestFindingsNameThePluginThatCounts(t *testing.T) {
	v := newVHost(t)
	v.declare("ttl", amqp.Table{"x-message-ttl": 1})
	v.run("findings").ends(t, cli.ExitDone).shows(t, "how many it destroyed is unknown: rabbitmq-plugins enable "+
		"rabbitmq_prometheus on "+node.Name()+" shows it, from when it started")
}
