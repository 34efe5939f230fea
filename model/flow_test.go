package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// told is a flow in one line for each queue: what the tests compare.
func told(flows []Flow) []string {
	var lines []string
	for _, f := range flows {
		line := f.Name + ":"
		for _, b := range f.Buffers {
			ttl := "per message"
			if d, ok := b.TTL.Get(); ok {
				ttl = ShortDuration(d)
			}
			if most, ok := b.MaxTTL.Get(); ok {
				ttl += "…" + LongDuration(most)
			}
			line += fmt.Sprintf(" %s=%s(%s, %s)", b.Name(), b.Role, ttl, b.TTLSource)
		}
		for _, m := range f.Failed {
			line += fmt.Sprintf(" %s=failed", m.Queue.Name)
		}
		if f.DelayedRetry.Set {
			line += fmt.Sprintf(" retries by itself: %s", f.DelayedRetry)
		}
		lines = append(lines, line)
	}
	return lines
}

// The five systems of the demo, as their brokers declare them.
var scenarioParts = map[string][]part{
	"retry-queue": {
		exchange("fanout", "RetryExchange"), queue("RetryQueue", consumers(2)), bind("RetryExchange", "", "RetryQueue"),
		queue("default-delay", dlx("RetryExchange"), ttl(60000)), queue("test-delay", dlx("RetryExchange"), ttl(10000)),
	},
	"delayed": {
		exchange("direct", "out.exchange"), exchange("direct", "dlx.exchange"),
		queue("buffer-queue", dlx("dlx.exchange"), deadKey("dlx.routing.key")), queue("worker-queue", consumers(1)),
		bind("out.exchange", "out.routing.key", "buffer-queue"), bind("dlx.exchange", "dlx.routing.key", "worker-queue"),
	},
	"delayed, queue TTL, the worker is down": {
		exchange("direct", "out.exchange"), exchange("direct", "dlx.exchange"),
		queue("buffer-queue", dlx("dlx.exchange"), deadKey("dlx.routing.key"), ttl(5000)), queue("worker-queue"),
		bind("out.exchange", "out.routing.key", "buffer-queue"), bind("dlx.exchange", "dlx.routing.key", "worker-queue"),
	},
	"pubsub": {
		exchange("topic", "master"), exchange("topic", "master.retry"), exchange("topic", "master.failed"),
		queue("ucenter@user", consumers(1)), bind("master", "user.*", "ucenter@user"), bind("master", "ucenter@user", "ucenter@user"),
		queue("ucenter@user@retry", dlx("master"), deadKey("ucenter@user"), ttl(30000)), bind("master.retry", "ucenter@user", "ucenter@user@retry"),
		queue("ucenter@user@failed"), bind("master.failed", "ucenter@user", "ucenter@user@failed"),
		queue("user-monitor", consumers(1)), bind("master", "user.*", "user-monitor"), bind("master", "user-monitor", "user-monitor"),
	},
	"lifecycle": {
		exchange("fanout", "amq.fanout"), exchange("fanout", "example.dlx.exchange"),
		queue("example.delay.life", dlx("example.dlx.exchange")), queue("example.delay.heaven"),
		bind("amq.fanout", "", "example.delay.life"), bind("example.dlx.exchange", "", "example.delay.heaven"),
	},
	"a worker that dead-letters into its retry buffer, policies only": {
		exchange("direct", "dlx"),
		queue("orders", consumers(3), policy("orders", Table{"dead-letter-exchange": "dlx", "dead-letter-routing-key": "wait"})),
		queue("orders.wait", policy("wait-10s", Table{"message-ttl": int64(10000), "dead-letter-exchange": "", "dead-letter-routing-key": "orders"})),
		bind("dlx", "wait", "orders.wait"),
	},
	"the same, with the worker down": {
		queue("orders", dlx(""), deadKey("orders.wait")),
		queue("orders.wait", dlx(""), deadKey("orders"), ttl(10000)),
	},
	"a plain worker with a dead-letter queue": {
		exchange("fanout", "dead"), queue("mail", consumers(1), dlx("dead")), queue("mail.dlq"), bind("dead", "", "mail.dlq"),
	},
	"a plain worker that is down": {
		exchange("fanout", "dead"), queue("mail", dlx("dead"), ttl(86400000)), queue("mail.dlq"), bind("dead", "", "mail.dlq"),
	},
	"a chain of buffers": {
		queue("mail", consumers(1)),
		queue("wait.1", dlx(""), deadKey("wait.2"), ttl(10000)), queue("wait.2", dlx(""), deadKey("mail"), ttl(60000)),
	},
	"nothing that waits or fails": {
		queue("a", consumers(1)), queue("b"),
	},
}

func TestFlows(t *testing.T) {
	tests := map[string][]string{
		"retry-queue":                            {"RetryQueue: test-delay=delayed(10s, argument) default-delay=delayed(1m, argument)"},
		"delayed":                                {"worker-queue: buffer-queue=delayed(per message, message)"},
		"delayed, queue TTL, the worker is down": {"worker-queue: buffer-queue=delayed(5s, argument)"},
		"pubsub":                                 {"ucenter@user: ucenter@user@retry=retry(30s, argument) ucenter@user@failed=failed"},
		"lifecycle":                              {"example.delay.heaven: example.delay.life=delayed(per message, message)"},
		"a worker that dead-letters into its retry buffer, policies only": {"orders: orders.wait=retry(10s, policy wait-10s)"},
		"the same, with the worker down":                                  {"orders: orders.wait=retry(10s, argument)"},
		"a plain worker that is down":                                     {"mail: mail.dlq=failed"},
		"a plain worker with a dead-letter queue":                         {"mail: mail.dlq=failed"},
		"a chain of buffers":                                              {"mail: wait.1=delayed(10s, argument) wait.2=delayed(1m, argument)"},
		"nothing that waits or fails":                                     nil,
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			parts, ok := scenarioParts[name]
			if !ok {
				t.Fatal("no such topology")
			}
			topology := topologyOf("3.10.8", parts...)
			if diff := cmp.Diff(want, told(topology.Flows())); diff != "" {
				t.Error(diff)
			}
			for _, f := range topology.Flows() {
				for _, m := range append([]Member{f.Worker}, f.Failed...) {
					if m.Reason == "" {
						t.Errorf("%s has no reason for its role", m.Queue)
					}
				}
				for _, b := range f.Buffers {
					if b.Reason == "" || len(b.Targets) == 0 {
						t.Errorf("%s: reason %q, targets %v", b.Queue, b.Reason, b.Targets)
					}
				}
			}
		})
	}
}

func TestTheFiveSystemsSideBySide(t *testing.T) {
	var parts []part
	for _, name := range []string{"retry-queue", "delayed", "pubsub", "lifecycle"} {
		parts = append(parts, scenarioParts[name]...)
	}
	var names []string
	for _, f := range topologyOf("3.10.8", parts...).Flows() {
		names = append(names, f.Name)
	}
	want := []string{"RetryQueue", "example.delay.heaven", "ucenter@user", "worker-queue"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

func TestMovesBetween(t *testing.T) {
	at := func(seconds int64, set func(*Queue)) *Snapshot {
		s := broker("3.10.8", queue("q", func(q *Queue) { set(q) }))
		s.TakenAt = time.Unix(seconds, 0)
		return s
	}
	tests := []struct {
		name          string
		before, after func(*Queue)
		came, went    int64
	}{
		{
			"a buffer: 10 published, depth falls by 5: 15 expired",
			func(q *Queue) { q.Published, q.Ready = Some[int64](100), Some[int64](20) },
			func(q *Queue) { q.Published, q.Ready = Some[int64](110), Some[int64](15) }, 10, 15,
		},
		{
			"a worker: nothing published, 15 acknowledged, depth as before: 15 came as dead letters",
			func(q *Queue) { q.Acked, q.Ready = Some[int64](1000), Some[int64](2) },
			func(q *Queue) { q.Acked, q.Ready = Some[int64](1015), Some[int64](2) }, 15, 15,
		},
		{
			"no statistics: only the change of depth is certain",
			func(q *Queue) { q.Ready = Some[int64](3) }, func(q *Queue) { q.Ready = Some[int64](7) }, 4, 0,
		},
		{
			"nothing moved",
			func(q *Queue) { q.Published = Some[int64](5) }, func(q *Queue) { q.Published = Some[int64](5) }, 0, 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := MovesBetween(at(0, test.before), at(2, test.after))[ref("q")]
			if m.Came != Some(test.came) || m.Went != Some(test.went) {
				t.Errorf("came %v, went %v", m.Came, m.Went)
			}
			if want := Some(float64(test.came) / 2); m.In != want {
				t.Errorf("in %v/s, want %v/s", m.In, want)
			}
		})
	}
	t.Run("a queue that was declared anew has no movements", func(t *testing.T) {
		moves := MovesBetween(at(0, func(q *Queue) { q.Published = Some[int64](50) }), at(2, func(q *Queue) { q.Published = Some[int64](1) }))
		if len(moves) != 0 {
			t.Errorf("%v", moves)
		}
		moves = MovesBetween(at(0, func(q *Queue) { q.Published, q.Ready = Some[int64](50), Some[int64](5) }), at(2, func(q *Queue) { q.Published, q.Ready = Unknown[int64](), Some[int64](0) }))
		if len(moves) != 0 {
			t.Errorf("its totals are gone, and still there are %v", moves)
		}
	})
	t.Run("the first poll has none", func(t *testing.T) {
		if moves := MovesBetween(nil, at(2, func(*Queue) {})); moves != nil {
			t.Errorf("%v", moves)
		}
	})
}
