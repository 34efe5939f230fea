package findings

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// A loop hands the same messages out again and again; it says how many there are, how fast they go round, and how often
// that was.
func TestRequeueLoop(t *testing.T) {
	taken := func(again, acked float64, ready, unacked, total int64) build.Setting {
		return func(q *model.Queue) {
			q.RedeliverRate, q.AckRate = model.Some(again), model.Some(acked)
			q.Ready, q.Unacked, q.Redelivered = model.Some(ready), model.Some(unacked), model.Some(total)
		}
	}
	for _, test := range []struct {
		name string
		set  build.Setting
		want []string // in message and evidence; nil: there is no loop
	}{
		{"one", taken(24, 0, 0, 1, 1722), []string{
			"returns its 1 message and receives it again, 24.0 times", "1,722 times since RabbitMQ",
		}},
		{"several", taken(24, 0, 39, 1, 1722), []string{"returns its 40 messages and receives them again, 24.0 " +
			"times"}},
		{"a crash every second or two", taken(0.6, 0, 0, 1, 11), []string{"receives it again, 0.6 times"}},
		{"a crash now, after much work", func(q *model.Queue) {
			taken(0.6, 0, 0, 1, 11)(q)
			q.Acked = model.Some[int64](5)
		}, nil},
		{"a first crash", taken(0.2, 0, 0, 1, 1), nil},
		{"looks at what nobody consumes", func(q *model.Queue) {
			taken(0.6, 0, 1, 0, 11)(q)
			q.Consumers, q.PollRate = model.Some[int64](0), model.Some(0.6)
		}, nil},
		{"the work gets done", taken(24, 20, 39, 1, 1722), nil},
		{"a worker that was restarted with its hands full", taken(8, 0, 0, 40, 40), nil},
		{"nothing is there any more", taken(24, 0, 0, 0, 1722), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := Of(build.TopologyOf("4.3.6", build.Queue("w", build.Consumers(1), test.set)))
			if (len(found) == 1) != (test.want != nil) {
				t.Fatal(codes(found))
			}
			for _, f := range found {
				for _, words := range test.want {
					assert.That(t, strings.Contains(f.Message+"\n"+f.Evidence, words),
						"nothing of %q in: %s\n%s", words, f.Message, f.Evidence)
				}
				assert.That(t, f.Happening, "it does not say that it happens now")
			}
		})
	}
}

// Who looks at a failed queue several times in some seconds, dlxtop for example, is no worker in a loop.
func TestLooksAreNoLoop(t *testing.T) {
	looked := func(q *model.Queue) {
		q.RedeliverRate, q.Ready, q.Redelivered = model.Some(6.0), model.Some[int64](6), model.Some[int64](60)
	}
	found := codes(Of(build.TopologyOf("3.10.8", build.Exchange("fanout", "dead"),
		build.Queue("mail", build.DLX("dead"), build.Consumers(1)),
		build.Queue("mail.dlq", looked), build.Bind("dead", "", "mail.dlq"))))
	assert.That(t, !slices.Contains(found, "error requeue-loop mail.dlq"), "found %v", found)
}

// A worker that crashes on its message is mostly gone when the broker counts consumers.
func TestCrashLoop(t *testing.T) {
	crashing := func(polled model.Opt[float64]) build.Setting {
		return func(q *model.Queue) {
			q.RedeliverRate, q.PollRate = model.Some(0.4), polled
			q.Ready, q.Redelivered = model.Some[int64](1), model.Some[int64](10)
		}
	}
	for _, test := range []struct {
		name   string
		polled model.Opt[float64]
		loops  bool
	}{
		{"a worker that crashes", model.Unknown[float64](), true},
		{"somebody looks at the messages of a worker that is down", model.Some(0.4), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := codes(Of(build.TopologyOf("4.0.5", build.Exchange("fanout", "dead"),
				build.Queue("mail", build.DLX("dead"), crashing(test.polled)),
				build.Queue("mail.dlq", crashing(model.Unknown[float64]())), build.Bind("dead", "", "mail.dlq"))))
			assert.Equal(t, slices.Contains(found, "error requeue-loop mail"), test.loops, "found %v", found)
			assert.That(t, !slices.Contains(found, "error requeue-loop mail.dlq"), "no worker is on the failed queue: %v", found)
		})
	}
}

func TestSinceWhenFindingsAreThere(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	var memory Memory
	for _, step := range []struct {
		second int
		codes  []string
		want   []int // seconds
	}{
		{0, []string{"a"}, []int{0}},
		{2, []string{"a", "b"}, []int{0, 2}},
		{20, []string{"b"}, []int{2}},
		{30, []string{"a", "b"}, []int{0, 2}},
		{40, nil, nil},
		{71, []string{"a", "b"}, []int{71, 71}},
		{171, []string{"a", "b"}, []int{71, 71}}, // a slow broker is asked every two minutes
		{271, []string{"b"}, []int{71}},
		{371, []string{"a", "b"}, []int{371, 71}},
	} {
		var found []Finding
		for _, code := range step.codes {
			found = append(found, Finding{Code: code})
		}
		before := len(memory)
		next := memory.Mark(found, start.Add(time.Duration(step.second)*time.Second))
		assert.That(t, len(memory) == before, "at %d the memory of the poll before was changed", step.second)
		memory = next
		for i, f := range found {
			if want := start.Add(time.Duration(step.want[i]) * time.Second); !f.Since.Equal(want) {
				t.Errorf("at %d, %s is there since %v, want %v", step.second, f.Code, f.Since, want)
			}
		}
	}
}
