package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/findings"
	"github.com/dlxtop/dlxtop/model/peek"
)

// cluster is three nodes with queues of each type, accessed through the first node. One of the queues has the worker's
// failed messages.
type cluster struct {
	t     *testing.T
	nodes []*demo.Node
	cable *cable // dlxtop's, to one of them; nil: none
}

func startCluster(t *testing.T, settings string) []*demo.Node {
	t.Helper()
	nodes := must.Get(demo.StartCluster(t.Context(), 3, demo.Options{Settings: settings}))(t)
	t.Cleanup(func() { assert.Succeeds(t, demo.StopCluster(nodes)) })
	return nodes
}

// declare declares a durable queue that the given node leads: the one that is asked.
func (c *cluster) declare(name string, at int, arguments amqp.Table) {
	c.t.Helper()
	channel := dial.Channel(c.t, c.nodes[at].AMQP())
	must.Get(channel.QueueDeclare(name, true, false, false, false, arguments))(c.t)
}

// channel opens a channel with confirms on the first node.
func (c *cluster) channel() *amqp.Channel {
	c.t.Helper()
	return dial.Channel(c.t, c.nodes[0].AMQP())
}

// connect opens a connection to the first node, and a channel with confirms on it.
func (c *cluster) connect() (*amqp.Connection, *amqp.Channel) {
	c.t.Helper()
	connection := must.Get(dial.AMQP(c.nodes[0].AMQP()))(c.t)
	c.t.Cleanup(func() { connection.Close() })
	channel := must.Get(connection.Channel())(c.t)
	must.Do(c.t, channel.Confirm(false))
	return connection, channel
}

func (c *cluster) publish(queue string, n int) {
	c.t.Helper()
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i] = amqp.Publishing{MessageId: fmt.Sprintf("m-%d", i+1), DeliveryMode: amqp.Persistent}
	}
	dial.Publish(c.t, c.channel(), queue, messages...)
}

// poll polls the first node as a user until the topology is as wanted.
func (c *cluster) poll(user string, what string, wanted func(*model.Topology) bool) *model.Topology {
	c.t.Helper()
	source := must.Get(mgmt.New(mgmt.Options{
		URL:     strings.Replace(c.nodes[0].API(), "guest:guest", user, 1),
		Timeout: built.Patience,
	}))(c.t)
	defer source.Close()
	var last *model.Topology
	for deadline := time.Now().Add(built.Patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if last = model.NewTopology(must.Get(source.Snapshot(c.t.Context()))(c.t)); wanted(last) {
			return last
		}
	}

	c.t.Fatalf("not within %s: %s; queues %+v, nodes %+v", built.Patience, what, last.Snapshot.Queues, last.Snapshot.Nodes)
	return nil
}

// run runs dlxtop on the first node.
func (c *cluster) run(args ...string) (status int, out, errs string) {
	c.t.Helper()
	return built.Run(c.t, built.In(c.t.TempDir(), append(args, "--url", c.nodes[0].AMQP(), "--api", c.nodes[0].API())...))
}

// hosts names nodes in one URL, as they are tried.
func (c *cluster) hosts(nodes ...int) []string {
	var messages, management []string
	for _, n := range nodes {
		near := c.nodes[n].AMQP()
		if c.cable != nil && c.nodes[n] == c.cable.to {
			near = c.cable.lay(c.t)
		}
		_, at, _ := strings.Cut(strings.TrimSuffix(near, "/"), "@")
		_, api, _ := strings.Cut(c.nodes[n].API(), "@")
		messages, management = append(messages, at), append(management, api)
	}

	return []string{
		"--url", "amqp://guest:guest@" + strings.Join(messages, ","),
		"--api", "http://guest:guest@" + strings.Join(management, ","),
	}
}

// about lists what the findings with a code are about, sorted.
func about(t *model.Topology, code string) string {
	var places []string
	for _, f := range findings.Of(t) {
		if f.Code == code {
			places = append(places, string(f.Level)+" "+f.Queue+f.Node)
		}
	}

	slices.Sort(places)
	return strings.Join(places, ", ")
}

func running(t *model.Topology) (n int) {
	for _, node := range t.Snapshot.Nodes {
		if node.Running {
			n++
		}
	}

	return n
}

// TestCluster: dlxtop reports what is wrong with a cluster. All cases share one, because three nodes start slowly.
func TestCluster(t *testing.T) {
	size.Long(t)
	t.Parallel()
	nodes := startCluster(t, "")
	t.Run("a member is late", func(t *testing.T) { (&cluster{t: t, nodes: nodes}).holdMember() })
	t.Run("a node is gone", func(t *testing.T) { (&cluster{t: t, nodes: nodes}).killNode() })
	t.Run("a node is in maintenance", func(t *testing.T) { (&cluster{t: t, nodes: nodes}).drainNode() })
	t.Run("a node stops", func(t *testing.T) { (&cluster{t: t, nodes: nodes}).stopNode() })
	t.Run("the network breaks", func(t *testing.T) { (&cluster{t: t, nodes: nodes}).breakNetwork() })
}

// holdMember suspends the member of a quorum queue that delivers to dlxtop, while the leader reports that nothing is
// left: an action must wait for it.
func (c *cluster) holdMember() {
	const n = 2000
	c.declare("late", 1, amqp.Table{"x-queue-type": "quorum"})
	c.publish("late", n)
	c.poll("guest:guest", "all are there", func(t *model.Topology) bool {
		q, _ := t.Queue(build.Ref("late"))
		return q != nil && q.Ready.Or(0) == n
	})

	c.eval(0, "[spawn(fun() -> [begin sys:suspend('%2F_late'), timer:sleep(400), sys:resume('%2F_late'), "+
		"timer:sleep(10) end || _ <- lists:seq(1, 20)] end)].")
	status, out, errs := c.run("drop", "late", "--yes", "-o", "json")
	assert.Equal(c.t, status, cli.ExitDone, "exit status: %s %s", out, errs)
	assert.Contains(c.t, out, fmt.Sprintf(`"dropped": %d`, n))
	must.Get(c.channel().QueueDelete("late", false, false, false))(c.t)
}

// killNode kills the node of a classic queue during a drop, and restarts it only after the drop has ended: the drop
// must not wait until the broker gives up looking for the queue.
func (c *cluster) killNode() {
	const n = 20000
	c.declare("killed", 1, nil)
	c.publish("killed", n)
	process, channel := c.process(1), c.channel()
	status, out, errs := -1, "", ""
	ended := make(chan bool)
	go func() {
		status, out, errs = c.run("drop", "killed", "--yes", "--no-retry", "-o", "json")
		close(ended)
	}()

	must.Await(c.t, "some are dropped", func() bool {
		return depth.Of(c.t, channel, "killed") < n-100 // a look holds 100
	})
	must.Do(c.t, syscall.Kill(process, syscall.SIGKILL))

	select {
	case <-ended:
	case <-time.After(built.Patience / 2):
		c.t.Error("the drop still waits for the queue")
		<-ended
	}

	assert.That(c.t, status == cli.ExitDone || strings.Contains(out, `"unknown": `), "exit status %d: %s %s", status, out,
		errs)
	c.restart(1)
	must.Get(c.channel().QueueDelete("killed", false, false, false))(c.t)
}

// drainNode puts a node into maintenance: its members of quorum queues no longer count, whatever lists say of them.
func (c *cluster) drainNode() {
	c.declare("drained", 0, amqp.Table{"x-queue-type": "quorum"})
	c.eval(2, "rabbit_maintenance:drain().")

	drained := c.poll("guest:guest", "one more must not stop", func(t *model.Topology) bool {
		return about(t, "quorum-at-risk") == "warning drained"
	})

	want := ""
	if drained.Snapshot.Overview.Version.AtLeast(4, 0) {
		want = "warning " + c.nodes[2].Name()
	}

	assert.Equal(c.t, about(drained, "node-in-maintenance"), want)
	c.eval(2, "rabbit_maintenance:revive().")

	c.poll("guest:guest", "the node is back", func(t *model.Topology) bool {
		return about(t, "quorum-at-risk")+about(t, "node-in-maintenance") == ""
	})
	must.Get(c.channel().QueueDelete("drained", false, false, false))(c.t)
}

// stopNode stops a node: dlxtop reports its queues as down everywhere, and none as deleted or empty.
func (c *cluster) stopNode() {
	t, gone := c.t, c.nodes[2].Name()
	c.declareForStop()

	well := c.poll("guest:guest", "all nodes run and have reported their queues", func(t *model.Topology) bool {
		q, _ := t.Queue(build.Ref("three"))
		if q == nil || len(q.Online) != 3 {
			return false
		}
		return running(t) == 3 && len(t.Snapshot.Queues) == 7
	})

	for _, code := range []string{"queue-down", "node-down", "memory-alarm", "disk-alarm", "partition"} {
		assert.Equal(t, about(well, code), "", "nothing is wrong, and dlxtop finds %s of", code)
	}

	assert.Equal(t, about(well, "quorum-at-risk"), "info one, info two", "at risk by their size")
	for _, user := range []string{"guest:guest", "manager:m"} {
		for _, command := range []string{"flows", "peek two"} {
			args := strings.Fields(command + " --url " + c.nodes[1].AMQP() + " --api " + c.nodes[0].API())
			for i := range args {
				args[i] = strings.Replace(args[i], "guest:guest", user, 1)
			}

			status, out, errs := built.Run(t, built.In(t.TempDir(), args...))
			assert.Equal(t, status, cli.ExitDone, "%s, %s at two nodes: %s%s", user, command, out, errs)
		}
	}
	early := peek.For(well, build.Ref("orders.failed"), peek.Want{})
	screen := built.Open(t, c.hosts(2, 0)...).WaitFor("orders.retry")
	screen.Press("2/orders.failed\r").WaitFor("orders.failed", "classic", "1 of 7")

	must.Do(t, c.nodes[2].Halt())
	c.checkStoppedQueues(gone)
	c.checkStoppedErrors(early)
	c.checkStoppedScreens(screen, gone)
	c.checkStoppedCommands(gone)

	// What expires into a queue that is down is lost, as the finding says.
	c.publish("orders.retry", 4)

	c.poll("guest:guest", "the buffer is empty again", func(t *model.Topology) bool {
		q, _ := t.Queue(build.Ref("orders.retry"))
		return q.Published.Or(0) == 4 && q.Ready.Or(-1) == 0
	})

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	must.Do(t, c.nodes[2].Resume(ctx))

	back := c.poll("guest:guest", "all is back", func(t *model.Topology) bool {
		q, _ := t.Queue(early.Queue)
		return running(t) == 3 && about(t, "queue-down") == "" && about(t, "quorum-at-risk") == "info one, info two" &&
			q.Ready.Known()
	})

	q, _ := back.Queue(early.Queue)
	assert.Equal(t, q.Ready.Or(-1), 3, "messages came back in orders.failed")
	screen.WaitForPoll("orders.failed", "classic")
	screen.Press("q").WaitForEnd(cli.ExitDone)
}

// declareForStop declares queues on each node, some with messages, and a user who may see less than guest.
func (c *cluster) declareForStop() {
	c.t.Helper()
	c.declare("orders", 0, nil)
	c.declare("orders.retry", 1, amqp.Table{
		"x-message-ttl": 500, "x-dead-letter-exchange": "",
		"x-dead-letter-routing-key": "orders.failed",
	})

	c.declare("orders.failed", 2, nil)
	c.declare("three", 0, amqp.Table{"x-queue-type": "quorum"})
	c.declare("two", 2, amqp.Table{"x-queue-type": "quorum", "x-quorum-initial-group-size": 2})
	c.declare("one", 2, amqp.Table{"x-queue-type": "quorum", "x-quorum-initial-group-size": 1})

	c.declare("log", 2, amqp.Table{"x-queue-type": "stream", "x-initial-cluster-size": 1})

	for _, queue := range []string{"orders.failed", "three", "two", "one", "log"} {
		c.publish(queue, 3)
	}

	n := manage.Of(c.t, c.nodes[0].API())
	n.Done(n.PutUser("manager", rabbithole.UserSettings{Password: "m", Tags: rabbithole.UserTags{"management"}}))
	n.Done(n.UpdatePermissionsIn("/", "manager", manage.EveryRight))
}

// checkStoppedQueues checks that the stopped node's queues are reported as down, and that none may be looked at.
func (c *cluster) checkStoppedQueues(gone string) {
	c.t.Helper()
	t := c.t
	const log = "error log, " // a stream: 3.10.8 says nothing of it to who does not see nodes
	for _, user := range []string{"guest:guest", "manager:m"} {
		down := c.poll(user, "the stopped node's queues are down", func(t *model.Topology) bool {
			queues, _ := strings.CutPrefix(about(t, "queue-down"), log)
			return len(strings.Split(queues, ",")) == 3 && (user != "guest:guest" || queues != about(t, "queue-down")) &&
				about(t, "quorum-at-risk") == "warning three" && (user != "guest:guest" || running(t) == 2)
		})

		queues, _ := strings.CutPrefix(about(down, "queue-down"), log)
		assert.Equal(t, queues, "error one, error orders.failed, error two", "%s: down", user)
		nodes := "error " + gone
		if user != "guest:guest" {
			nodes = "" // the tag management does not show nodes
		}

		assert.Equal(t, about(down, "node-down"), nodes, "%s: nodes down", user)
		for _, name := range []string{"orders.failed", "two", "one"} {
			ref := build.Ref(name)
			plan := peek.For(down, ref, peek.Want{Insist: true})
			assert.That(t, !plan.Allowed(), "%s may be looked at: %q", name, plan.Refusal.Words())
			assert.Contains(t, plan.Refusal.Words(), gone, "%v", name)
			declare, totals := down.Countable(ref)
			assert.That(t, !declare, "%s may be counted", name)
			assert.That(t, !totals, "%s may be counted", name)
		}
	}
}

// checkStoppedErrors looks with a plan that was made while the node was still running.
func (c *cluster) checkStoppedErrors(plan peek.Plan) {
	c.t.Helper()
	client := must.Get(broker.New(broker.Options{URL: c.nodes[0].AMQP()}))(c.t)
	defer client.Close()
	_, err := client.Peek(c.t.Context(), plan)
	assert.That(c.t, errors.Is(err, model.ErrQueueDown), "a peek says %v", err)
	assert.That(c.t, !errors.Is(err, model.ErrQueueGone), "a peek says %v", err)
	counts, err := client.Count(c.t.Context(), []model.QueueRef{plan.Queue, {VHost: "/", Name: "orders"}})
	_, counted := counts[plan.Queue]
	must.Do(c.t, err)
	assert.That(c.t, !counted, "a count says %v", counts)
	assert.Equal(c.t, len(counts), 1)
}

func (c *cluster) checkStoppedScreens(screen *built.Terminal, gone string) {
	c.t.Helper()
	screen.WaitFor("orders.failed", "classic", "down", "its node "+gone+" is down")
	screen.Press("\r").WaitFor("not read: its node " + gone + " is down")
	assert.That(c.t, !strings.Contains(screen.Text(), "does not exist"), "the queue is shown as gone:\n%s",
		screen.Text())
	screen.Press("q").Press("4").WaitFor("node-down", "node "+gone, "a queue is unavailable",
		"one more node that stops makes a quorum")
	screen.Press("2")
}

func (c *cluster) checkStoppedCommands(gone string) {
	c.t.Helper()
	for _, command := range [][]string{
		{"peek", "orders.failed"},
		{"peek", "two"},
		{"drop", "one", "--yes"},
		{"replay", "three", "--to", "queue:orders.failed", "--yes"},
		{"move", "three", "--to", "queue:two", "--yes"},
	} {
		status, out, errs := c.run(command...)
		assert.Equal(c.t, status, cli.ExitRefused, "%v: exit status, %q, %q", command, out, errs)
		assert.Equal(c.t, out, "", "%v", command)
		assert.Contains(c.t, errs, gone, "%v", command)
		assert.Lacks(c.t, errs, "does not exist", "%v", command)
	}

	status, out, errs := c.run("flows", "-o", "table")
	assert.Equal(c.t, status, cli.ExitDone, "flows: %s %s", out, errs)
	assert.Contains(c.t, out, "down")
	status, out, errs = c.run("findings", "-o", "json")
	assert.Equal(c.t, status, cli.ExitRefused, "findings: %s %s", out, errs)
	assert.Contains(c.t, out, `"node": "`+gone+`"`)
	assert.Contains(c.t, out, `"queue": "orders.failed"`)
}

// TestAlarm: a broker alarm is shown before a replay starts and while it waits, on screen and on the command line.
func TestAlarm(t *testing.T) {
	built.Scenario(t)
	control := func(command ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), built.Patience)
		defer cancel()
		must.Get(built.Node.Control(ctx, command...))(t)
	}

	// of its own, because an action has its queue to itself
	channel := dial.Channel(t, built.Node.AMQP())
	dial.Queue(t, channel, "alarm.failed", nil)
	dial.Publish(t, channel, "alarm.failed", amqp.Publishing{MessageId: "a"})

	const limit, noLimit = "0.000001", "0.9"
	t.Cleanup(func() { control("set_vm_memory_high_watermark", noLimit) })
	screen := built.OpenNode(t, "ucenter@user")
	assert.That(t, !strings.Contains(screen.Text(), "alarm"), "an alarm is shown where there is none:\n%s", screen.Text())
	control("set_vm_memory_high_watermark", limit)
	screen.WaitFor("✗ memory alarm")
	screen.Press("4").WaitFor("memory-alarm", "RabbitMQ blocks every connection")

	command := built.Command(t, "replay", "alarm.failed", "--to", "queue:ucenter@user", "--yes", "-o", "json")
	var out, errs built.Buffer
	command.Stdout, command.Stderr = &out, &errs
	built.Begin(t, command)
	const waits = "waits at 0 of 1: the broker blocks publishers"
	must.Await(t, "it says why it waits", func() bool { return strings.Contains(errs.String(), waits) })

	// In the dashboard: one message, replayed by hand.
	screen.Press("3f").WaitFor("FAILED QUEUE", "ucenter@user@failed")
	screen.Press("/ucenter@user@failed\r\r").WaitFor("peek:", "Story", "republished")
	screen.Press("r").WaitFor("Replay 1 message", "memory alarm on", "RabbitMQ blocks publishers")
	agree(screen, "replay", "the broker blocks publishers")

	control("set_vm_memory_high_watermark", noLimit)
	screen.WaitFor("What happened", "1 message moved")
	err := command.Wait()
	must.Do(t, err)
	assert.Equal(t, command.ProcessState.ExitCode(), cli.ExitDone, "%s", errs.String())
	assert.Equal(t, strings.Count(errs.String(), waits), 1, "standard error has\n%s", errs.String())
	assert.Contains(t, errs.String(), "warning: memory alarm on")
	assert.Lacks(t, errs.String(), "\x1b")
	assert.Contains(t, out.String(), `"moved": 1`, "standard output")
	screen.Press("\r").WaitUntil("the alarm is over", func() bool { return !strings.Contains(screen.Text(), "alarm") })
	screen.Press(":quit\r").WaitForEnd(cli.ExitDone) // q would ask while the replay is watched
}

// cut cuts a node off from the others, like a network failure, until mend is called. RabbitMQ (3.10.8, 4.0.5)
// may cut off the second one, too, because it briefly saw both sides.
func (c *cluster) cut(node int) (mend func()) {
	c.t.Helper()
	var others []string
	for i := range c.nodes {
		if i != node {
			others = append(others, "'"+c.nodes[i].Name()+"'")
		}
	}

	each := func(do string) {
		c.eval(node, fmt.Sprintf("[begin %s end || N <- [%s]].", do, strings.Join(others, ", ")))
	}
	each("erlang:set_cookie(N, nobody_knows_this), erlang:disconnect_node(N)")

	return func() { each("erlang:set_cookie(N, erlang:get_cookie()), net_adm:ping(N)") }
}

// eval returns the value of an Erlang expression on a node.
func (c *cluster) eval(node int, expression string) string {
	c.t.Helper()
	out, err := c.nodes[node].Control(c.t.Context(), "eval", expression)
	must.That(c.t, err == nil, "%v %v", out, err)
	return out
}

// breakNetwork: where metadata is in Mnesia (3.10.8, 4.0.5), a network failure leaves a partition even when it is over:
// each side runs alone until it is restarted, and dlxtop reports that. With Khepri (4.3) there is none.
func (c *cluster) breakNetwork() {
	t := c.t
	well := c.poll("guest:guest", "all nodes run", func(t *model.Topology) bool { return running(t) == 3 })
	must.Equal(t, about(well, "partition"), "", "%v", "reported where there is none: ")
	if well.Snapshot.Overview.Version.AtLeast(4, 3) {
		return
	}
	mend := c.cut(2)
	c.poll("guest:guest", "nodes are out of sight", func(t *model.Topology) bool { return running(t) < 3 })
	mend()
	c.poll("guest:guest", "the partition is reported", func(t *model.Topology) bool {
		return strings.Contains(about(t, "partition"), "error "+c.nodes[0].Name())
	})
}

// process returns a node's process id.
func (c *cluster) process(node int) int {
	c.t.Helper()
	return must.Get(strconv.Atoi(c.eval(node, "list_to_integer(os:getpid()).")))(c.t)
}

// restart halts a node, if it runs, and starts it again.
func (c *cluster) restart(node int) {
	c.t.Helper()
	must.Do(c.t, c.nodes[node].Halt())
	must.Do(c.t, c.nodes[node].Resume(c.t.Context()))
}

// restoreAfterFailure starts each node again after a test that failed, so that the tests behind it have their broker.
func (c *cluster) restoreAfterFailure() {
	if !c.t.Failed() {
		return
	}

	for _, node := range c.nodes {
		must.Do(c.t, node.Halt())
		must.Do(c.t, node.Resume(context.Background()))
	}
}
