package findings

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
)

// shovels adds running shovels.
func shovels(all ...model.Shovel) build.Part {
	return func(s *model.Snapshot) { s.Shovels = append(s.Shovels, all...) }
}

func shovel(from string, to model.Address) model.Shovel {
	return model.Shovel{Name: "back", VHost: "/", State: "running", From: build.Ref(from), ToVHost: "/", To: to}
}

// Circles, crashes and queues that stand still: what is found, and what is not.
func TestLoopsAndStandstills(t *testing.T) {
	codes := []string{
		"shovel-down", "shovel-no-worker", "shovel-unconfirmed",
		"shovel-loop", "no-active-consumer", "no-acknowledgements", "dead-letters-return", "requeue-loop",
	}
	jobs := parts(build.Text(`
		queue jobs consumers=1 dlx= key=jobs.failed
		queue jobs.failed
	`))
	back := model.Address{RoutingKey: "jobs"}
	seats := func(ready int64, none bool) build.Part {
		return build.Quorum("seats", build.Consumers(2), build.Ready(ready), func(q *model.Queue) {
			q.SingleActive, q.NoneActive = true, none
		})
	}

	dead := parts(build.Text(`
		exchange fanout dlx
		queue w consumers=1
		bind dlx dead
	`))

	all := func(s *model.Snapshot) {
		for q := range model.Each(s.Queues) {
			build.Policy("all", model.Table{"dead-letter-exchange": "dlx"})(q)
		}
	}

	held := func(q *model.Queue) {
		q.HeldFor, q.Unacked, q.Consumers = 5*time.Minute, build.Some(12), build.Some(2)
	}

	crashing := func(q *model.Queue) {
		q.RedeliverRate, q.Ready, q.Redelivered = model.Some(0.6), build.Some(1), build.Some(40)
	}

	for _, test := range []struct {
		name  string
		parts []build.Part
		want  string
		says  string
	}{
		{
			"a shovel back to the worker (d03)", append(jobs, shovels(shovel("jobs.failed", back))),
			"error shovel-loop jobs.failed", "the shovel back carries jobs.failed to jobs",
		},
		{
			"a shovel back to the exchange of the worker",
			append(jobs, build.Text(`
				exchange topic in
				bind in job.# jobs
			`),
				shovels(shovel("jobs.failed", model.Address{Exchange: "in", RoutingKey: "job.new"}))),
			"error shovel-loop jobs.failed", "to jobs",
		},

		{
			"a shovel into a buffer of the worker",
			append(jobs, build.Buffer("jobs.wait", "jobs", 1000),
				shovels(shovel("jobs.failed", model.Address{RoutingKey: "jobs.wait"}))),
			"error shovel-loop jobs.failed", "carries jobs.failed to jobs.wait",
		},
		{
			"two shovels in a row",
			append(jobs, build.Queue("attic"), shovels(shovel("jobs.failed", model.Address{RoutingKey: "attic"}),
				shovel("attic", back))),
			"error shovel-loop attic; error shovel-loop jobs.failed", "",
		},
		{
			"the worker is away: nothing goes round yet",
			parts(build.Text(`
				queue jobs dlx= key=jobs.failed consumers=0
				queue jobs.failed consumers=1
			`), shovels(shovel("jobs.failed", back)),
				func(s *model.Snapshot) { s.Queues[1].Consumers = build.Some(0) }),
			"warning shovel-loop jobs.failed", "",
		},

		{
			"a shovel into an archive", append(jobs, build.Queue("archive"),
				shovels(shovel("jobs.failed", model.Address{RoutingKey: "archive"}))),
			"info shovel-no-worker jobs.failed", "to archive, where nothing consumes them",
		},

		{
			"a shovel to where no queue is", append(jobs, shovels(shovel("jobs.failed", model.Address{RoutingKey: "gone"}))),
			"error shovel-no-worker jobs.failed", "no queue takes them at gone",
		},
		{
			"a shovel that confirms nothing, to another broker", append(jobs, shovels(model.Shovel{
				Name: "away", State: "running", AckMode: "no-ack", From: build.Ref("jobs.failed"), ToHost: "hq:5672",
				To: model.Address{RoutingKey: "all.failed"},
			})), "warning shovel-unconfirmed jobs.failed", "before all.failed on hq:5672 has confirmed them",
		},

		{
			"a shovel that is terminated", append(jobs, shovels(model.Shovel{
				Name: "away", State: "terminated", From: build.Ref("jobs.failed"), ToHost: "hq:5672",
			})), "error shovel-down jobs.failed", "from jobs.failed to a queue on hq:5672: its state is terminated",
		},

		{
			"a shovel that keeps keys which are unknown",
			append(jobs, build.Text(`
				exchange topic in
				bind in job.# jobs
			`), shovels(model.Shovel{
				Name: "back", VHost: "/", State: "running", From: build.Ref("jobs.failed"), ToVHost: "/",
				To: model.Address{Exchange: "in"}, KeepsKey: true,
			})), "", "",
		},
		{
			"a shovel into a vhost that is not shown", append(jobs, shovels(model.Shovel{
				Name: "back", VHost: "/", State: "running", From: build.Ref("jobs.failed"), ToVHost: "/other", To: back,
			})), "", "",
		},
		{
			"no consumer of a single active one is active (d01)", parts(seats(6, true)), "error no-active-consumer seats",
			"6 ready messages and 2 consumers, but none of them is the active one",
		},

		{"one is active", parts(seats(6, false)), "", ""},
		{"none is active, and nothing waits", parts(seats(0, true)), "", ""},
		{
			"a worker holds its whole prefetch for minutes", parts(build.Queue("jobs", held, build.Ready(38))),
			"warning no-acknowledgements jobs", "nothing of jobs was acknowledged for 5m or longer, and 38 messages wait",
		},
		{
			"Dramatiq's workers hold what is not due", parts(build.Text(`
				queue jobs dlx= key=jobs.XQ consumers=1
				queue jobs.XQ
			`), build.Queue("jobs.DQ", held, build.Ready(3), build.DLX("", "jobs.XQ"))), "", "",
		},

		{
			"a consumer rejects what comes back to it", append(dead, build.Text("queue dead consumers=1"), all),
			"error dead-letters-return dead", "delivers what is rejected again at once",
		},
		{
			"nobody consumes what comes back", append(dead, build.Queue("dead"), all),
			"info dead-letters-return dead", "what a person rejects",
		},
		{
			"a worker crashes on a failed queue, and is connected", append(jobs[:1:1],
				build.Queue("jobs.failed", crashing, build.Consumers(1))), "error requeue-loop jobs.failed", "",
		},
		{
			"somebody looks at a failed queue", append(jobs[:1:1], build.Queue("jobs.failed", crashing)), "", "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var found []string

			said := ""
			for _, f := range Of(build.TopologyOf("4.3.6", test.parts...)) {
				if slices.Contains(codes, f.Code) {
					found = append(found, string(f.Level)+" "+f.Code+" "+f.Queue)
					said += f.Message + "\n"
				}
			}

			assert.Equal(t, strings.Join(found, "; "), test.want)
			assert.Contains(t, said, test.says)
		})
	}
}

// A worker on a failed queue crashes, and no poll but perhaps the first finds it connected. One poll looks the
// same when someone peeks; several do not.
func TestCrashesOnAFailedQueue(t *testing.T) {
	var topology *model.Topology
	crashes := func(consumers int64, every time.Duration, totals ...int64) bool {
		topology = nil
		for _, n := range totals {
			s := build.Broker("4.0.5", build.Text(`
				queue jobs consumers=1 dlx= key=jobs.failed
				queue jobs.failed ready=1
			`))
			q := &s.Queues[1]
			q.Consumers, q.RedeliverRate, q.Redelivered = model.Some(consumers), model.Some(0.6), model.Some(n)
			s.TakenAt = s.TakenAt.Add(time.Duration(n) * every)
			topology, consumers = topology.Next(s), 0
		}

		return slices.Contains(codes(Of(topology)), "error requeue-loop jobs.failed")
	}

	assert.That(t, crashes(1, time.Second, 1, 40), "not found, though it was connected at an earlier poll")
	assert.That(t, crashes(0, time.Second, 40, 44, 44, 47, 51), "not found by several polls")
	assert.That(t, crashes(0, 2*time.Second, 6, 8, 10, 12), "not found, though the broker counts more than the polls saw")
	assert.That(t, !crashes(0, 2*time.Second, 2, 4, 6, 8), "found before ten rounds")
	assert.That(t, !crashes(0, time.Second, 40), "found, though it may have been a peek")
	assert.That(t, !crashes(0, time.Second, 41, 42, 43, 44), "found, though somebody peeked three times")
	assert.That(t, !crashes(0, 5*time.Second, 40, 44, 47, 51), "found, though somebody peeks now and then")

	crashes(0, time.Second, 40, 44)
	topology.Queues[build.Ref("jobs.failed")].RedeliverRate = model.Some(0.0) // between two crashes
	assert.Equal(t, len(LoopsToWatch(topology)), 1, "queues to watch on")
}

// Queues that are deleted with what waits in them.
func TestMessagesGoWithTheirQueue(t *testing.T) {
	dead := parts(build.Text(`
		exchange fanout svc.dlx
		queue svc.dead
		bind svc.dlx svc.dead
	`))
	autoDelete := func(q *model.Queue) { q.AutoDelete = true }
	exclusive := func(q *model.Queue) { q.Exclusive = true }

	for _, test := range []struct {
		name  string
		parts []build.Part
		want  string
		says  string
	}{
		{
			"one queue for each pod (d05)",
			append(dead, build.Queue("pod-1", autoDelete, build.DLX("svc.dlx"), build.Consumers(1), build.Ready(9)),
				build.Queue("pod-2", autoDelete, build.DLX("svc.dlx"), build.Consumers(1))),
			"warning pod-1", "pod-1, pod-2 is lost when its last consumer ends",
		},
		{
			"exclusive", append(dead, build.Queue("mine", exclusive, build.DLX("svc.dlx"))), "warning mine",
			"when the connection that declared it ends",
		},

		{
			"a lease", append(dead, build.Text("queue w x-expires=60000 dlx=svc.dlx")),
			"warning w", "when it has had no consumer for 1m",
		},
		{
			"for answers, under a policy for all queues",
			append(dead, build.Queue("amq.gen-1", exclusive,
				build.Policy("all", model.Table{"dead-letter-exchange": "svc.dlx"}))),
			"info amq.gen-1", "",
		},
		{"it stays", append(dead, build.Text("queue w dlx=svc.dlx consumers=1")), "", ""},
		{"without a dead-letter exchange", parts(build.Queue("w", autoDelete, build.Consumers(1))), "", ""},
		{
			"a buffer has a finding of its own",
			parts(build.Text("queue w consumers=1"), build.Buffer("w.wait", "w", 1000, autoDelete)), "", "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, said := "", ""

			for _, f := range Of(build.TopologyOf("4.0.5", test.parts...)) {
				if f.Code == "messages-go-with-queue" {
					got = got + string(f.Level) + " " + f.Queue
					said = f.Message
				}
			}

			assert.Equal(t, got, test.want)
			assert.Contains(t, said, test.says)
		})
	}
}

// What another queue counted in a message is neither this queue's loop nor near its limit.
func TestCountsOfAnotherQueue(t *testing.T) {
	for _, test := range []struct {
		name    string
		version string
		kind    model.QueueType
		again   int64 // redeliveries that this queue counted
		headers model.Table
		deaths  []message.Death
		want    string
	}{
		{
			"a dead letter of a queue in which it went round (4.3)", "4.3.6", model.Quorum, 3,
			model.Table{"x-acquired-count": int64(150), "x-delivery-count": int64(2)},
			[]message.Death{{Queue: "src"}},
			"",
		},
		{
			"it went round here", "4.3.6", model.Quorum, 200,
			model.Table{"x-acquired-count": int64(150), "x-delivery-count": int64(2)},
			[]message.Death{{Queue: "src"}},
			"requeue-loop",
		},
		{
			"it was never dead-lettered", "4.3.6", model.Quorum, 3,

			model.Table{"x-acquired-count": int64(150)},
			nil, "requeue-loop",
		},
		{
			"a classic queue counts nothing", "4.3.6", model.Classic, 200,
			model.Table{"x-acquired-count": int64(150)},
			nil, "",
		},
		{
			"a republished message has the count of another queue before that of this one (3.10)", "3.10.8", model.Quorum, 3,
			model.Table{"x-delivery-count": model.Repeated{int64(4), int64(1)}},
			nil, "",
		},
		{
			"its own count is near the limit", "3.10.8", model.Quorum, 3,
			model.Table{"x-delivery-count": model.Repeated{int64(0), int64(4)}},
			nil, "delivery-count-near-limit",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			topology := build.TopologyOf(test.version, build.Queue("q", build.OfType(test.kind), build.Consumers(1),
				build.DeliveryLimit(6), func(q *model.Queue) { q.Redelivered = model.Some(test.again) }))
			r := ReadingOf(topology, build.Ref("q"), build.Noon, nil)
			r.See(&message.Message{Position: 1, Redelivered: true, Headers: test.headers, Deaths: test.deaths})

			var found []string
			for _, f := range r.Found() {
				found = append(found, f.Code)
			}
			assert.Equal(t, strings.Join(found, "; "), test.want)
		})
	}
}
