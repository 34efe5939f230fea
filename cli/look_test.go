package cli_test

import (
	"strings"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model/peek"
)

// The contract's JSON, repeated here: a renamed, added or missing field fails a test.
type (
	flowsContract struct {
		Flows []flowContract
	}
	flowContract struct {
		Name, VHost string
		Worker      struct {
			Queue            string
			Ready, Consumers *int
			Redelivered      *float64 `json:"redelivered_per_second"`
		}
		Buffers []struct {
			Queue, Role string
			Ready       *int
			TTL         *int   `json:"ttl_ms"`
			TTLSource   string `json:"ttl_source"`
			DLX         *string
			DLXSource   string  `json:"dlx_source"`
			RoutingKey  *string `json:"routing_key"`
			Targets     []string
			Reason      string
			Redelivered *float64 `json:"redelivered_per_second"`
		}
		Failed []struct {
			Queue       string
			Ready       *int
			Reason      string
			Redelivered *float64 `json:"redelivered_per_second"`
		}
	}
	peekContract struct {
		Queue, Method, Cost string
		DeliveryLimit       *int64 `json:"delivery_limit"`
		DeliveriesLeft      *int64 `json:"deliveries_left"`
		Rescued             int
		Messages            []messageContract
	}
	messageContract struct {
		Position            int
		MessageID           *string `json:"message_id"`
		Exchange            *string
		RoutingKey          *string `json:"routing_key"`
		Redelivered         *bool
		Properties, Headers map[string]any
		Body                *string
		BodyEncoding        string `json:"body_encoding"`
		BodyBytes           *int   `json:"body_bytes"`
		Deaths              []struct {
			Queue, Reason      string
			Count              int
			Exchange           *string
			RoutingKeys        []string `json:"routing_keys"`
			Time               string
			OriginalExpiration string `json:"original_expiration"`
		}
		Framework *struct {
			Name, Task, Due, Expires string
			Counted                  *int64
		}
		Failure *struct {
			Kind, Message string
		}
	}
	findingsContract struct {
		Findings []struct {
			Code, Level, VHost, Queue, Exchange, Node, Message string
			Evidence                                           *string
			Remedy, Page                                       string
		}
		Destroyed []struct {
			Node, Unknown, Reason string
			QueueType             string `json:"queue_type"`
			Messages, Watched     int64
		}
	}
)

// declarePubsub declares the pubsub scenario on the vhost, without its applications.
func (v *vhost) declarePubsub() {
	v.t.Helper()
	scenario := must.Get(demo.ScenarioNamed("pubsub"))(v.t)
	must.Do(v.t, scenario.Declare(v.t.Context(), v.url()))
}

// The depth of a queue is the broker's, not that of its statistics, which say nothing or 0 at first.
func TestFlowsOfNewQueues(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("w", amqp.Table{
		"x-queue-type": "quorum", "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed",
	})
	v.declare("w.failed", amqp.Table{"x-queue-type": "quorum"})
	v.fill("w.failed", 3)
	v.run("flows").ends(t, cli.ExitDone).shows(t, `"ready": 3`)
}

func TestFlows(t *testing.T) {
	v := newVHost(t)
	v.declarePubsub()
	r := v.run("flows")
	must.Equal(t, r.status, cli.ExitDone, "exit status %d: %s", r.status, r.stderr)
	must.That(t, r.quiet(), "exit status %d: %s", r.status, r.stderr)

	for _, flow := range decode[flowsContract](t, r).Flows {
		if flow.Name != "ucenter@user" {
			continue
		}
		must.Equal(t, flow.VHost, v.name, "this is not the flow: %+v", flow)
		must.Equal(t, flow.Worker.Queue, "ucenter@user", "%v", flow)
		must.Equal(t, len(flow.Buffers), 1, "%v", flow)
		must.Equal(t, len(flow.Failed), 1, "%v", flow)
		b := flow.Buffers[0]
		assert.Equal(t, b.Queue, "ucenter@user@retry", "this is not the buffer: %+v", b)
		assert.Equal(t, b.Role, "retry")
		assert.Equal(t, *b.TTL, 30_000)
		assert.Equal(t, b.TTLSource, "argument")
		assert.Equal(t, *b.DLX, "master")
		assert.Equal(t, b.DLXSource, "argument")
		assert.Equal(t, *b.RoutingKey, "ucenter@user")
		assert.Equal(t, strings.Join(b.Targets, " "), "ucenter@user")
		assert.That(t, b.Reason != "", "this is not the buffer: %+v", b)
		f := flow.Failed[0]
		assert.Equal(t, f.Queue, "ucenter@user@failed", "this is not the failed queue: %+v", f)
		assert.That(t, f.Reason != "", "this is not the failed queue: %+v", f)
		v.run("flows -o table").shows(t, "ucenter@user@retry", "30s (argument)", "ucenter@user through master")
		return
	}

	t.Fatalf("there is no flow ucenter@user in %s", r.out)
}

func TestPeek(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declarePubsub()
	const queue = "ucenter@user@failed"
	before := v.count(queue)
	r := v.run("peek", queue, "-n", "3").ends(t, cli.ExitDone)
	peeked := decode[peekContract](t, r)
	must.Equal(t, peeked.Queue, queue, "peeked %+v", peeked)
	must.Equal(t, peeked.Method, "basic.consume")
	must.That(t, peeked.Cost != "", "peeked %+v", peeked)
	must.Equal(t, len(peeked.Messages), 3)

	for i, m := range peeked.Messages {
		assert.Equal(t, m.Position, i+1, "message %d: %+v", i+1, m)
		assert.That(t, *m.MessageID != "", "message %d: %+v", i+1, m)
		assert.Equal(t, *m.Exchange, "master.failed", "%v", i+1)
		assert.Equal(t, *m.RoutingKey, queue, "%v", i+1)
		assert.That(t, len(m.Deaths) > 0, "message %d: %+v", i+1, m)
		assert.Equal(t, m.BodyEncoding, "utf-8", "%v", i+1)
		assert.Equal(t, *m.BodyBytes, len(*m.Body), "%v", i+1)
		assert.That(t, m.Properties["message_id"] == *m.MessageID, "message %d: %+v", i+1, m)
		assert.That(t, m.Failure != nil, "message %d: %+v", i+1, m)
		d := m.Deaths[0]
		assert.Equal(t, d.Queue, "ucenter@user@retry", "death of message %d: %+v", i+1, d)
		assert.Equal(t, d.Reason, "expired", "%v", i+1)
		assert.That(t, d.Count != 0, "death of message %d: %+v", i+1, d)
		assert.That(t, d.Exchange != nil, "death of message %d: %+v", i+1, d)
		assert.That(t, len(d.RoutingKeys) > 0, "death of message %d: %+v", i+1, d)
		when := must.Get(time.Parse("2006-01-02T15:04:05.000Z07:00", d.Time))(t)
		assert.That(t, time.Since(when) <= 24*time.Hour, "the time of its death is %q", d.Time)
	}

	assert.Contains(t, r.stderr, "the first 3 of", "nothing is said of the others")
	again := decode[peekContract](t, v.run("peek", queue, "-n", "3"))
	for i, m := range again.Messages {
		assert.Equal(t, *m.MessageID, *peeked.Messages[i].MessageID, "a second look sees %s at %d instead of %s",
			*m.MessageID, i+1, *peeked.Messages[i].MessageID)
		assert.That(t, *m.Redelivered, "a second look sees %s at %d instead of %s", *m.MessageID, i+1,
			*peeked.Messages[i].MessageID)
	}

	second := *peeked.Messages[1].MessageID
	one := decode[peekContract](t, v.run("peek", queue, "-n", "3", "--filter", `message_id == "`+second+`"`))
	must.Equal(t, len(one.Messages), 1, "with the filter it shows %+v", one.Messages)
	assert.Equal(t, *one.Messages[0].MessageID, second)
	assert.Equal(t, one.Messages[0].Position, 2)
	v.holds(queue, before)
	table := v.run("peek", queue, "-o", "table")
	deaths := "expired" // once, by the broker's count

	if behaviour().CountsRepublishedDeaths {
		deaths = "expired ×3"
	}

	assert.Contains(t, table.out, deaths)
	assert.Contains(t, table.stderr, "peek:")
}

const hostile = "evil\x1b]0;title\a\x1b[2J\r\u202e\u0085\u2066end\x00"

func TestHostileText(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	queue := "q\x1b[31m\u202e"
	v.declare(queue, nil)

	v.publish("", queue, amqp.Publishing{
		MessageId: hostile, ContentType: "text/plain", Headers: amqp.Table{
			"k\x1b[5m": hostile,
			"x-death":  hostile, "x-exception-message": hostile,
		}, Body: []byte(hostile),
	})

	v.publish("", queue, amqp.Publishing{Body: []byte{0xff, 0x00, 0x1b, '['}})

	for _, format := range []string{"json", "table"} {
		for _, args := range [][]string{
			{"peek", queue},
			{"flows"},
			{"findings"},
			{"drop", queue, "--dry-run"},
			{"replay", queue, "--dry-run", "--to", "queue:" + queue},
		} {
			r := v.run(append(args, "-o", format)...)
			assert.That(t, r.status == cli.ExitDone || args[0] == "findings", "%v: exit status %d: %q", args, r.status, r.stderr)
			for _, text := range []string{r.out, r.stderr} {
				assert.That(t, !strings.ContainsAny(strings.ReplaceAll(text, "\n", ""), "\x1b\a\r\x00\u202e\u0085\u2066"),
					"%v -o %s lets something through: %q", args, format, text)
			}
		}
	}

	peeked := decode[peekContract](t, v.run("peek", queue))
	m := peeked.Messages[0]
	assert.Equal(t, *m.MessageID, hostile, "JSON changed the message: %q %q %q", *m.MessageID, *m.Body, m.Headers)
	assert.Equal(t, *m.Body, hostile)
	assert.That(t, m.Headers["k\x1b[5m"] == hostile, "JSON changed the message: %q %q %q", *m.MessageID, *m.Body,
		m.Headers)
	assert.Equal(t, peeked.Queue, queue)
	m = peeked.Messages[1]
	assert.Equal(t, m.BodyEncoding, "base64", "the binary body became %+v", m)
	assert.Equal(t, *m.Body, "/wAbWw==")
	assert.Equal(t, *m.BodyBytes, 4)
	assert.That(t, m.MessageID == nil, "the binary body became %+v", m)
	v.run("peek", "no\x1b[2J").refuses(t, cli.ExitUsage, "no queue no")
}

// If a look counts against the delivery limit of a quorum queue, it says how much is left.
func TestPeekShowsTheDeliveriesLeft(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("q", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(10)})
	v.fill("q", 3)

	counts := behaviour().ReturnCountsAsDelivery
	for look := range int64(2) {
		v.holds("q", 3)
		r := v.run("peek q")
		peeked := decode[peekContract](t, r)
		switch {
		case !counts && peeked.DeliveryLimit == nil && peeked.DeliveriesLeft == nil:
		case counts && peeked.DeliveryLimit != nil && *peeked.DeliveryLimit == 10 && peeked.DeliveriesLeft != nil &&
			*peeked.DeliveriesLeft == 9-look &&
			strings.Contains(r.stderr, peek.LooksLeft(int64(9-look), 10)) && strings.Contains(peeked.Cost, "10"):
		default:
			t.Errorf("look %d: %s\n%s", look+1, r.out, r.stderr)
		}
	}
}

// A message that is in the journal only, because nothing could be published, is not where it was: nothing is done.
func TestLookThatKeepsAMessageInTheJournalOnly(t *testing.T) {
	t.Parallel()
	if !behaviour().ReturnCountsAsDelivery {
		return // no return loses a message
	}
	v := newVHost(t)
	n := manage.Of(t, node.API())
	for name, args := range map[string][]string{
		"peek": {"peek", "failed"}, "export": {"export", "failed", t.TempDir() + "/f"},
	} {
		atTheLimit(v)
		user := manage.User(t, node.API(), v.name+"-"+name, "management", v.name)
		n.Done(n.PutUserLimits(user, rabbithole.UserLimitsValues{"max-connections": 1}))
		as := strings.Replace(v.url(), "guest:guest", user+":"+manage.Password, 1)
		args = append(args, "--insist", "--url", as, "--api", node.API())
		run(t, args...).ends(t, cli.ExitRefused, "1 message at the delivery limit kept in the journal only")
	}
}

func TestPeekRefused(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	must.Get(v.channel.QueueDeclare("mine", false, false, true, false, nil))(t)
	for _, args := range [][]string{
		{"peek", "mine"},
		{"drop", "mine", "--yes"},
		{"replay", "mine", "--yes", "--to", "queue:mine"},
	} {
		v.run(args...).refuses(t, cli.ExitRefused, "exclusive")
	}
}

func TestQueueNames(t *testing.T) {
	v := newVHost(t, "orders.failed")
	other := newNamedVHost(t, "another", "orders.failed", "only.here")
	everywhere := []string{"--url", node.AMQP(), "--api", node.API()}
	for _, test := range []struct {
		queue string
		want  []string
	}{
		{"orders.failed", []string{"in each of the vhosts", v.name, other.name, "--vhost"}},
		{"order.faild", []string{"no queue order.faild", "did you mean orders.failed?"}},
		{"failed", []string{"did you mean orders.failed?"}},
		{"something else entirely", []string{"`dlxtop flows`"}},
	} {
		run(t, append([]string{"peek", test.queue}, everywhere...)...).refuses(t, cli.ExitUsage, test.want...)
	}

	for _, args := range [][]string{
		{"peek", "only.here"}, {"peek", other.name + "/orders.failed"}, {"peek", "orders.failed", "--vhost", other.name},
	} {
		run(t, append(args, everywhere...)...).ends(t, cli.ExitDone)
	}
}

func TestFindings(t *testing.T) {
	v := newVHost(t, "fine")
	r := v.run("findings").ends(t, cli.ExitDone)
	assert.Equal(t, len(decode[findingsContract](t, r).Findings), 0, "findings")
	v.declare("buffer", amqp.Table{"x-message-ttl": 3_600_000, "x-dead-letter-exchange": "nowhere"})
	r = v.run("findings").ends(t, cli.ExitRefused)
	assert.That(t, r.quiet(), "it says %s", r.stderr)
	found := decode[findingsContract](t, r).Findings
	must.That(t, len(found) > 0, "found %s", r.out)
	assert.Equal(t, found[0].Level, "error")
	assert.Equal(t, found[0].Queue, "buffer")
	assert.That(t, found[0].Code != "", "found %s", r.out)
	assert.That(t, found[0].Message != "", "found %s", r.out)
	assert.That(t, found[0].Remedy != "", "found %s", r.out)
	v.run("findings -o table").ends(t, cli.ExitRefused).shows(t, "buffer", "remedy")

	// a message with a shorter TTL of its own waits behind one with the queue's: only its messages tell
	v.declare("later", amqp.Table{
		"x-message-ttl": 3_600_000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "fine",
	})
	v.publish("", "later", amqp.Publishing{})
	v.publish("", "later", amqp.Publishing{Expiration: "60000"})
	assert.That(t, !strings.Contains(v.run("findings -o table").out, "blocks"), "it read messages")
	must.Await(t, "it counts two messages, and reads them", func() bool {
		return strings.Contains(v.run("findings --read -o table").out, "message 1 (TTL 1h) blocks 1 message")
	})
}

// A quorum queue keeps dead letters that no queue accepts, but they are not visible (dead-letter-strategy
// at-least-once).
func TestHeldDeadLettersAreSaid(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("jobs", amqp.Table{
		"x-queue-type": "quorum", "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
		"x-dead-letter-exchange": "jobs.dlx",
	})

	v.exchange("jobs.dlx", "direct")
	v.declare("jobs.later", amqp.Table{
		"x-message-ttl": 60_000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "jobs",
	})
	v.consume("jobs", func(d amqp.Delivery) { _ = d.Reject(false) })
	v.fill("jobs", 3)
	must.Await(t, "the statistics know what is held", func() bool {
		return strings.Contains(v.run("flows").out, `"dead_letters_held": 3`)
	})
	must.Await(t, "the table has it, once the statistics know the depth, too", func() bool {
		return strings.Contains(v.run("flows -o table").out, "0 +3 held")
	})
	v.run("peek jobs").ends(t, cli.ExitDone, "it holds 3 dead letters that no queue has taken yet")
}

// Messages that cannot be kept on disk were not looked at, and the exit status says so.
func TestPeekWithoutRoom(t *testing.T) {
	v := newVHost(t, "q")
	for range 6 {
		v.publish("", "q", amqp.Publishing{Body: make([]byte, 1<<20)})
	}

	t.Setenv("TMPDIR", t.TempDir()+"/missing")
	r := v.run("peek q -o json")
	read := len(decode[peekContract](t, r).Messages)
	assert.Equal(t, r.status, cli.ExitRefused, "exit status %d, %d read: %s", r.status, read, r.stderr)
	assert.Contains(t, r.stderr, "TMPDIR")
	assert.That(t, read != 0, "exit status %d, %d read: %s", r.status, read, r.stderr)
	assert.That(t, read != 6, "exit status %d, %d read: %s", r.status, read, r.stderr)
}

// A worker that pauses between two rounds of a loop has a rate of 0 in between: the totals let suspect it, and
// `findings` watches.
func TestFindingsWatchASlowLoop(t *testing.T) {
	size.Long(t)
	t.Parallel()
	v := newVHost(t, "jobs.failed")
	v.declare("jobs", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "jobs.failed"})
	v.fill("jobs", 2)
	pauses := make(chan struct{})
	rounds := 0
	v.consume("jobs", func(d amqp.Delivery) {
		if rounds++; rounds == 20 {
			select {
			case <-pauses:
			case <-t.Context().Done():
			}
		}
		_ = d.Nack(false, true)
	})

	var r result
	must.Await(t, "the statistics have the rounds, and it watches", func() bool {
		r = v.run("findings")
		return strings.Contains(r.stderr, "because messages were delivered again and again: jobs")
	})
	assert.Equal(t, len(decode[findingsContract](t, r).Findings), 0, "findings while nothing is delivered")

	close(pauses)
	r = v.run("findings").ends(t, cli.ExitRefused)
	assert.Contains(t, r.out, `"requeue-loop"`)
}

// A queue that was just declared has no statistics, and its policy is not known: findings waits for them.
func TestFindingsOfNewQueues(t *testing.T) {
	v := newVHost(t)
	v.declare("orders", amqp.Table{
		"x-queue-type": "quorum", "x-dead-letter-strategy": "at-least-once", "x-dead-letter-exchange": "amq.fanout",
	})
	v.declare("dead", nil)
	v.bind("dead", "", "amq.fanout")

	r := v.run("findings").ends(t, cli.ExitDone)
	assert.Contains(t, r.out, `"at-least-once-falls-back"`)
}
