package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model"
)

// struckNode is the node that a fault strikes; dlxtop is connected to another one.
const struckNode = 1

// standsStill exceeds the cluster's net_ticktime, so the other nodes consider the struck one down.
const standsStill = 40 * time.Second

var (
	clusterFaults = []string{"kill", "term", "stop", "link"}
	clusterPlaces = map[string][2]int{
		"source": {struckNode, 0}, "target": {0, struckNode}, "both": {struckNode, struckNode}, "neither": {0, 2},
	}
	clusterActions = []string{"move", "replay", "edit", "drop", "undo", "resume", "import"}
	pacedActions   = clusterActions[:3:3]
)

// clusterTrial is one dlxtop command in a cluster, one of whose nodes is struck meanwhile.
type clusterTrial struct {
	*cluster
	place, action  string
	kinds          [2]string // of the queues
	rejects        bool      // the target rejects messages beyond its limit
	source, target string
	n, rate        int   // messages, and messages per second; 0: no limit
	retries        bool  // it resumes by itself
	uses           []int // the nodes that it connects to: the first one that answers
	home           string
	record         int // of the command, in the journal
	args           []string
	command        *exec.Cmd
	ended          func() bool
	stdout         *bytes.Buffer

	forgets        bool // its classic queue may forget acknowledgements from before the kill: docs/promises.md
	struck         bool // before the command ended
	twice, unknown int
}

// TestClusterFaults strikes a node while dlxtop, connected to another one, moves messages between queues on that node
// or elsewhere. No message is lost, and the journal is right about each of them: those it calls moved or dropped have
// left their queue, and only those it calls unknown may be in two places.
func TestClusterFaults(t *testing.T) {
	size.Long(t)
	nodes := startCluster(t, "net_ticktime = 15\n")
	faults := clusterFaults
	if inMnesia(nodes[0]) {
		faults = faults[:3] // losing one link separates all three
	}

	r := seed.Rand(t)
	var sum clusterSum
	for i := range 2 + (size.Rounds(0)+4)/5 {
		classic := [2]string{"classic", "classic"}
		fault := faults[(i+2)%len(faults)]
		var these []*clusterTrial
		switch i {
		case 0: // acknowledgements that no queue received
			fault = "kill"
			these = []*clusterTrial{{place: "source", action: "move", kinds: classic, n: 8000, rate: 1000, uses: []int{0}}}
		case 1:
			fault = faults[len(faults)-1]
			these = []*clusterTrial{
				{place: "source", action: "replay", kinds: classic, n: 8000, rate: 1000, uses: []int{0}},
			}
		default:
			these = allTrials(r)
			if fault == "stop" && inMnesia(nodes[0]) { // the struck node stays apart until all commands have ended
				for _, trial := range these {
					trial.retries = false
				}
			}
		}

		sum.strike(t, r, cluster{nodes: nodes}, fmt.Sprint(i), fault, i < 2, these)
	}

	t.Log(sum.words())
	assert.That(t, sum.alone*50 >= sum.resumed*45, "%d of %d came to their end by themselves", sum.alone, sum.resumed)
}

// clusterSum counts trials.
type clusterSum struct{ trials, messages, struck, twice, unknown, resumed, alone int }

// strike runs trials under one fault, and counts them.
func (sum *clusterSum) strike(
	t *testing.T, r *rand.Rand, on cluster, name, fault string, mustBeUnknown bool, these []*clusterTrial,
) {
	t.Run(name+" "+fault, func(t *testing.T) {
		each := func(phase string, do func(*clusterTrial)) {
			t.Run(phase, func(t *testing.T) {
				for _, trial := range these {
					t.Run(fmt.Sprintf("%s %s %s", trial.action, trial.place, trial.kinds), func(t *testing.T) {
						t.Parallel()
						trial.t = t
						do(trial)
					})
				}
			})

			for _, trial := range these {
				trial.t = t
			}
		}

		for k, trial := range these {
			of := on
			trial.cluster, trial.home = &of, t.TempDir()
			trial.source, trial.target = fmt.Sprintf("source-%s-%d", name, k), fmt.Sprintf("target-%s-%d", name, k)
		}

		if each("prepare", (*clusterTrial).prepare); t.Failed() {
			return
		}
		strike(r, fault, these)
		each("judge", func(trial *clusterTrial) {
			trial.settle()
			trial.free()
			trial.judge(mustBeUnknown)
		})

		for _, trial := range these {
			if trial.struck {
				sum.struck++
			}
			if trial.said("resumed") > 0 {
				sum.resumed++
				if !trial.struck {
					sum.alone++
				}
			}

			sum.trials++
			sum.messages += trial.n
			sum.twice += trial.twice
			sum.unknown += trial.unknown
			assert.Succeeds(t, trial.clear())
		}
	})
}

func (sum *clusterSum) words() string {
	return fmt.Sprintf("%d trials, %d messages, %d times in the middle, %d in two places, %d unknown; %d resumed by "+
		"themselves, %d of them to their end", sum.trials, sum.messages, sum.struck, sum.twice, sum.unknown, sum.resumed,
		sum.alone)
}

// cable leads to a node, and can be cut.
type cable struct {
	sync.Mutex
	to    *demo.Node
	at    string
	isCut bool
	ends  []net.Conn
}

// lay returns the node's URL for AMQP through the cable.
func (c *cable) lay(t *testing.T) string {
	c.Lock()
	defer c.Unlock()
	u := must.Get(url.Parse(c.to.AMQP()))(t)
	if far := u.Host; c.at == "" {
		c.at = dial.Serve(t, dial.Listen(t), func(near net.Conn) {
			end, err := net.Dial("tcp", far)
			c.Lock()
			defer c.Unlock()
			if err != nil || c.isCut {
				near.Close()
				return
			}
			c.ends = append(c.ends, near, end)
			go func() { _, _ = io.Copy(near, end); near.Close() }()
			go func() { _, _ = io.Copy(end, near); end.Close() }()
		})
	}

	u.Host = c.at
	return u.String()
}

// cut ends all connections, and lets no other through until it is mended.
func (c *cable) cut(is bool) {
	c.Lock()
	defer c.Unlock()
	c.isCut = is
	for _, end := range c.ends {
		end.Close()
	}
	c.ends = nil
}

// allTrials returns the 112 combinations of action, place and queue types, in random order. They run at the same time,
// because the node takes up most of a trial's time.
func allTrials(r *rand.Rand) []*clusterTrial {
	var trials []*clusterTrial
	kinds := []string{"classic", "quorum"}
	for _, action := range clusterActions {
		for place := range clusterPlaces {
			for k := range 4 {
				trial := &clusterTrial{
					action: action, place: place, kinds: [2]string{kinds[k/2], kinds[k%2]},
					n: 300 + r.IntN(1500), rejects: r.IntN(3) == 0, retries: r.IntN(2) == 0, uses: []int{0},
				}
				if trial.retries && r.IntN(2) == 0 {
					trial.uses = []int{struckNode, 0, 2}
				}
				if slices.Contains(pacedActions, action) {
					trial.rate = trial.n / 15
				}
				trials = append(trials, trial)
			}
		}
	}

	r.Shuffle(len(trials), func(i, k int) { trials[i], trials[k] = trials[k], trials[i] })
	return trials
}

// strike starts the commands, strikes the node, and waits until all commands have ended and the cluster is whole.
func strike(r *rand.Rand, fault string, trials []*clusterTrial) {
	c := trials[0]
	t := c.t
	process := os.Getpid()
	if fault == "kill" || fault == "stop" {
		process = c.process(struckNode)
	}

	if fault == "link" { // rabbitmqctl is slow: this schedules the fault
		c.eval(0, fmt.Sprintf("[timer:apply_after(%d, erlang, disconnect_node, [N]) || N <- ['%s', '%s']].",
			4000+r.IntN(2000), c.nodes[struckNode].Name(), c.nodes[2].Name()))
	}

	connection, channel := c.connect()
	ended := make(chan error, len(trials))
	within := []time.Duration{200 * time.Millisecond, 1500 * time.Millisecond}[r.IntN(2)]
	for _, paced := range []bool{true, false} { // the others are over quickly
		var begun []func() bool
		for _, c := range trials {
			if (c.rate > 0) != paced {
				continue
			}
			acts := c.acting(channel)
			c.command, c.stdout = c.start(c.args...)
			over := make(chan error, 1)
			go func() { over <- c.command.Wait(); ended <- nil }()
			c.ended = func() bool { return len(over) > 0 }
			begun = append(begun, func() bool { return acts() || c.ended() })
		}

		all := paced || c.cable != nil // 10,000 messages are not over as quickly
		must.Await(t, "messages move, or the command has ended", func() bool {
			return len(begun) == 0 || all && !slices.ContainsFunc(begun, func(has func() bool) bool { return !has() }) ||
				!all && slices.ContainsFunc(begun, func(has func() bool) bool { return has() })
		})
	}

	<-time.After(seed.Within(r, within)) // the fault comes at a random moment
	_ = connection.Close()
	for _, c := range trials {
		c.forgets = fault == "kill" && c.ended() && c.kinds[0] == "classic" && clusterPlaces[c.place][0] == struckNode
	}

	c.hit(fault, process)
	late := time.After(10 * time.Minute) // three resumes, each of which waits
	for over := 0; over < len(trials); {
		select {
		case <-ended:
			over++
		case <-late:
			t.Error("a command does not end")
			for _, c := range trials {
				_ = c.command.Process.Kill()
			}
		}
	}

	if fault == "stop" && inMnesia(c.nodes[0]) && c.cable == nil {
		c.restart(struckNode)
	}

	c.whole()
}

// acting returns a check whether the command, which starts after this call, has begun to move messages. A look holds at
// most 100.
func (c *clusterTrial) acting(channel *amqp.Channel) func() bool {
	source := depth.Of(c.t, channel, c.source)
	target := depth.Of(c.t, channel, c.target)

	return func() bool {
		if c.action == "drop" {
			return depth.Of(c.t, channel, c.source) < source-100
		}
		return depth.Of(c.t, channel, c.target) > target
	}
}

// fill publishes the messages as persistent: transient ones would be lost with their node.
func (c *clusterTrial) fill(queue string) {
	c.t.Helper()
	connection, channel := c.connect()
	defer connection.Close()
	messages := make([]amqp.Publishing, c.n)
	for i := range messages {
		messages[i] = amqp.Publishing{MessageId: strconv.Itoa(i), DeliveryMode: amqp.Persistent, Body: []byte("body")}
	}

	dial.Publish(c.t, channel, queue, messages...)
}

// prepare creates what the command needs: its queues, their messages, an earlier record.
func (c *clusterTrial) prepare() {
	c.record = 1
	for i, queue := range []string{c.source, c.target} {
		arguments := amqp.Table{"x-queue-type": c.kinds[i]}
		if i == 1 && c.rejects {
			arguments["x-max-length"], arguments["x-overflow"] = 1<<20, "reject-publish"
		}
		c.declare(queue, clusterPlaces[c.place][i], arguments)
	}

	first := c.source
	if c.action == "undo" {
		first = c.target
	}

	c.fill(first)
	if c.args = c.arguments(); !c.retries {
		c.args = append(c.args, "--no-retry")
	}
}

// arguments returns the command's arguments, after it has run what must precede the command.
func (c *clusterTrial) arguments() []string {
	paced := func(action string, more ...string) []string {
		return append([]string{
			action, c.source, "--to", "queue:" + c.target, "--yes", "-o", "json", "--rate",
			strconv.Itoa(cmp.Or(c.rate, 200)) + "/s",
		}, more...)
	}

	switch c.action {
	case "edit":
		return paced("replay", "--edit", `.headers.edited = "yes"`)
	case "drop":
		return []string{"drop", c.source, "--yes", "-o", "json"}
	case "undo": // it brings back to the target what was moved to the source
		c.must("move", c.target, "--to", "queue:"+c.source, "--yes")
		c.record = 2
		return []string{"journal", "undo", "1", "--yes", "-o", "json"}
	case "resume":
		command, _ := c.start(paced("move")...)
		_, channel := c.connect()
		must.Await(c.t, "some are moved", func() bool { return depth.Of(c.t, channel, c.target) > c.n/4 })
		_ = command.Process.Kill()
		_ = command.Wait()
		c.record = 2
		return []string{"journal", "resume", "1", "--yes", "-o", "json"}
	case "import":
		file := filepath.Join(c.home, "messages.json")
		c.must("export", c.source, file)
		return []string{"import", file, "--to", "queue:" + c.target, "--yes", "-o", "json"}
	}

	return paced(c.action)
}

// hit strikes the node, and brings it back.
func (c *clusterTrial) hit(fault string, process int) {
	c.t.Helper()
	var err error
	switch fault {
	case "kill":
		err = syscall.Kill(process, syscall.SIGKILL)
	case "cut":
		c.cable.cut(true)
		<-time.After(standsStill / 2)
		c.cable.cut(false)
	case "apart":
		mend := c.cut(struckNode)
		<-time.After(standsStill / 2)
		mend()
	case "stop":
		if err = syscall.Kill(process, syscall.SIGSTOP); err == nil {
			<-time.After(standsStill) // the fault itself
			err = syscall.Kill(process, syscall.SIGCONT)
		}
	}

	must.Do(c.t, err)
	again := fault == "kill" || fault == "term"
	if fault == "stop" && c.cable != nil && inMnesia(c.nodes[0]) { // it stays apart until then
		<-time.After(time.Second) // what its sockets have is processed
		again = true
	}

	if again {
		c.restart(struckNode)
	}
}

// inMnesia reports whether the metadata is in Mnesia: nodes that lost contact then stay apart until one is restarted.
func inMnesia(n *demo.Node) bool { return !model.ParseVersion(n.Version()).AtLeast(4, 3) }

// start starts dlxtop with the trial's home directory.
func (c *clusterTrial) start(args ...string) (*exec.Cmd, *bytes.Buffer) {
	c.t.Helper()
	out := &bytes.Buffer{}
	command := built.In(c.home, append(args, c.hosts(c.uses...)...)...)
	command.Stdout, command.Stderr = out, out
	must.Do(c.t, command.Start())
	return command, out
}

// must runs dlxtop to its end.
func (c *clusterTrial) must(args ...string) {
	c.t.Helper()
	command, out := c.start(args...)
	must.That(c.t, command.Wait() == nil, "%v: %s", args, out)
}

// whole waits until all nodes run.
func (c *clusterTrial) whole() {
	c.t.Helper()
	must.Await(c.t, "the cluster is whole", func() bool {
		for i := range c.nodes {
			out, err := c.nodes[i].Control(c.t.Context(), "eval", "length(rabbit_nodes:all_running()).")
			if err != nil || out != "3" {
				return false
			}
		}
		return true
	})
}

// settle waits until both queues are available and their message counts are stable.
func (c *clusterTrial) settle() {
	c.t.Helper()
	last, since := -1, time.Now()
	must.Await(c.t, "the queues are there, and change no more", func() bool {
		connection, err := dial.AMQP(c.nodes[0].AMQP())
		if err != nil {
			return false
		}
		defer connection.Close()
		channel, err := connection.Channel()
		sum := 0
		for _, queue := range []string{c.source, c.target} {
			var q amqp.Queue
			if err == nil {
				q, err = channel.QueueDeclarePassive(queue, true, false, false, false, nil)
			}
			sum += q.Messages
		}

		if err != nil {
			return false
		}
		if sum != last {
			last, since = sum, time.Now()
		}

		return time.Since(since) > 2*time.Second
	})
}

// free gives a quorum queue another leader where it keeps messages for consumers that are gone, as 3.10 and 4.0 do for
// good after some faults. A new leader asks after each consumer, and takes these messages back.
func (c *clusterTrial) free() {
	c.t.Helper()
	for i, queue := range []string{c.source, c.target} {
		if c.kinds[i] != "quorum" {
			continue
		}
		name := fmt.Sprintf(`rabbit_misc:r(<<"/">>, queue, <<"%s">>)`, queue)
		heldNow := func() (held int) {
			out := c.eval(0, `{ok, Q} = rabbit_amqqueue:lookup(`+name+`), `+
				`proplists:get_value(messages_unacknowledged, rabbit_amqqueue:info(Q, [messages_unacknowledged])).`)
			held = must.Get(strconv.Atoi(out))(c.t)
			return held
		}

		held, since := heldNow(), time.Now()
		must.Await(c.t, "no message is held, or some are for long", func() bool {
			held = heldNow()
			return held == 0 || time.Since(since) > 15*time.Second
		})
		if held == 0 {
			continue
		}

		c.t.Logf("%s keeps %d messages for consumers that are gone", queue, held)
		c.eval(0, `{ok, Q} = rabbit_amqqueue:lookup(`+name+`), {Name, Leader} = amqqueue:get_pid(Q), `+
			`#{nodes := Nodes} = amqqueue:get_type_state(Q), `+
			`[Other | _] = [N || N <- Nodes, N =/= Leader], ra:transfer_leadership({Name, Leader}, {Name, Other}).`)
		must.Await(c.t, "the new leader takes them back", func() bool { return heldNow() == 0 })
	}
}

// outcomes returns the outcomes by message id; "" means untouched.
func (c *clusterTrial) outcomes() map[string]string {
	c.t.Helper()
	first := c.record
	if c.action == "resume" {
		first = 1
	}

	recorded := map[string]string{}
	for record := first; record <= max(c.record, c.said("journal_id")); record++ {
		for id, outcome := range c.outcomesOf(record) {
			if recorded[id] == "" || outcome != "" {
				recorded[id] = outcome
			}
		}
	}

	return recorded
}

// said returns a number of the command's account; 0: it has none.
func (c *clusterTrial) said(name string) (n int) {
	if c.stdout == nil {
		return 0
	}
	if found := regexp.MustCompile(`"` + name + `": (\d+)`).FindSubmatch(c.stdout.Bytes()); found != nil {
		n, _ = strconv.Atoi(string(found[1]))
	}
	return n
}

func (c *clusterTrial) outcomesOf(record int) map[string]string {
	c.t.Helper()
	command, out := c.start("journal", "show", strconv.Itoa(record), "-o", "json")
	_ = command.Wait()
	var shown struct {
		Entries []struct {
			ID      string `json:"message_id"`
			Outcome string `json:"outcome"`
		} `json:"entries"`
	}

	err := json.Unmarshal(out.Bytes(), &shown)
	must.That(c.t, err == nil || command.ProcessState.ExitCode() != cli.ExitDone, "%v %v", err, out)

	recorded := map[string]string{}
	for _, e := range shown.Entries {
		recorded[e.ID] = e.Outcome
	}

	return recorded
}

// find counts the messages of both queues by id, and leaves them there.
func (c *clusterTrial) find() (found [2]map[string]int) {
	c.t.Helper()
	for i, queue := range []string{c.source, c.target} {
		for try := 1; ; try++ {
			var n int
			var complete bool
			if found[i], n, complete = c.read(queue); complete {
				break
			}
			c.t.Logf("%s gives %d of %d messages", queue, len(found[i]), n)
			if try == 3 {
				c.t.FailNow()
			}
		}
	}

	return found
}

// read counts what one consumer receives from a queue. After a fault, one consumer may hang and the next may not.
func (c *clusterTrial) read(queue string) (found map[string]int, n int, complete bool) {
	c.t.Helper()
	connection, channel := c.connect()
	defer func() {
		_ = connection.Close()
		_, channel := c.connect()
		must.Await(c.t, "the queue has its messages back", func() bool { return depth.Of(c.t, channel, queue) == n })
	}()

	n = depth.Of(c.t, channel, queue)
	must.Do(c.t, channel.Qos(n+1, 0, false))
	deliveries := must.Get(channel.Consume(queue, "", false, false, false, false, nil))(c.t)
	found = map[string]int{}

	late := time.After(built.Patience / 4)
	for range n {
		select {
		case d := <-deliveries:
			found[d.MessageId]++
		case <-late:
			return found, n, false
		}
	}

	return found, n, true
}

// clear deletes the queues, so that the next trials find a cluster without them.
func (c *clusterTrial) clear() error {
	_, channel := c.connect()
	for _, queue := range []string{c.source, c.target} {
		if _, err := channel.QueueDelete(queue, false, false, false); err != nil {
			return err
		}
	}

	return nil
}

// judge compares where each message is with what the journal says, and resumes a command that was struck.
func (c *clusterTrial) judge(mustBeUnknown bool) {
	c.t.Helper()
	found, recorded := c.find(), map[string]int{}
	outcomes := c.outcomes()
	for _, outcome := range outcomes {
		recorded[outcome]++
	}

	status := c.command.ProcessState.ExitCode()
	c.struck = status != cli.ExitDone
	c.unknown = recorded["unknown"]
	c.compare(outcomes, recorded, found)
	assert.That(c.t, !mustBeUnknown || c.struck && c.unknown != 0,
		"exit status %d, and of %v nothing is unknown", status, recorded)
	c.t.Logf("%s at %d: exit status %d, resumed %d times by itself, %v, %d in two places", c.action, c.uses, status,
		c.said("resumed"), recorded, c.twice)
	c.goOn(status, c.twice)

	if c.t.Failed() || c.struck {
		c.t.Log(c.stdout)
	}
}

// compare checks each message against its outcome, and counts in twice how many messages are in two places.
func (c *clusterTrial) compare(outcomes map[string]string, recorded map[string]int, found [2]map[string]int) {
	c.t.Helper()
	wrong := map[string]int{}
	for i := range c.n {
		id := strconv.Itoa(i)
		in := found[0][id]
		out := found[1][id]
		outcome := outcomes[id]
		if c.action == "import" {
			in = 0 // the queue that they were exported from still has them
		}

		dropped := c.action == "drop" && outcome != ""
		switch {
		case in+out == 0 && !dropped && c.action != "import":
			wrong["lost: "+outcome]++
		case in+out > 1 && !c.forgets:
			if c.twice++; outcome != "unknown" && !(c.action == "resume" && outcome == "") { // a kill leaves no outcome
				wrong["doubled: "+outcome]++
			}
		}

		switch outcome {
		case "moved":
			if in > 0 && !c.forgets || out != 1 {
				wrong["moved, and not only there"]++
			}
		case "dropped":
			if in > 0 && !c.forgets {
				wrong["dropped, and there"]++
			}
		case "refused", "returned":
			if out > 0 {
				wrong[outcome+", and there"]++
			}
		}
	}

	assert.That(c.t, len(wrong) == 0, "of %d messages, %v: %v", c.n, recorded, wrong)
}

// goOn resumes a command that ended early: then every message is where it belongs, once.
func (c *clusterTrial) goOn(status, twice int) {
	c.t.Helper()
	if status == cli.ExitDone || len(c.outcomes()) == 0 { // or it never began
		return
	}
	record := max(c.record, c.said("journal_id"))
	if c.action == "resume" && len(c.outcomesOf(record)) == 0 {
		record = 1 // the resume did not begin
	}

	command, out := c.start("journal", "resume", strconv.Itoa(record), "--yes", "-o", "json")
	_ = command.Wait()
	assert.Lacks(c.t, out.String(), "ended a look", "the fault is taken for a message that cannot be read")
	c.settle()
	wrong := map[string]int{}
	found := c.find()
	all := maps.Clone(found[1])

	if c.action != "import" {
		for id, n := range found[0] {
			all[id] += n
		}
	}

	for _, n := range all {
		if n > 1 {
			wrong["twice"]++
		}
	}

	left, untold := 0, 0 // a queue whose node is down is no target: returned messages stay, as the record says
	for i, outcomes := 0, c.outcomes(); i < c.n; i++ {
		id := strconv.Itoa(i)
		there := found[0][id] > 0
		if c.action == "import" {
			there = found[1][id] == 0
		}
		if there {
			left++
			if outcome := outcomes[id]; outcome != "returned" && outcome != "refused" {
				untold++
			}
		}
	}

	status = command.ProcessState.ExitCode()
	assert.That(c.t, status != cli.ExitDone || len(wrong)+left == 0,
		"after a resume of %d that were twice: %v, %d left; %s", twice, wrong, left, out)
	c.t.Logf("%d twice; resumed with exit status %d, %d left, %v", twice, status, left, wrong)
	if status != cli.ExitDone {
		c.t.Log(out)
	}

	assert.That(c.t, untold == 0 || !strings.Contains(out.String(), "came to its end"),
		"the rest is there, and the record says that it is gone")
}
