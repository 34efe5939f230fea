package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/broker"
	"dlxtop/journal"
	"dlxtop/model"
)

// victimVariable makes the test's program a process that acts on a queue and is killed: "operation type url from to journal".
const victimVariable = "DLXTOP_TEST_VICTIM"

// victim executes one plan, and says when it begins.
func victim() int {
	var operation, kind, url, from, to, path string
	fmt.Sscan(os.Getenv(victimVariable), &operation, &kind, &url, &from, &to, &path)
	c, err := broker.New(broker.Options{URL: url, Journal: journal.New(journal.Options{Path: path})})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	queue := func(name string) model.Queue {
		return *described(model.QueueRef{VHost: "/", Name: name}, model.QueueType(kind))
	}
	s := &model.Snapshot{VHosts: []string{"/"}, Queues: []model.Queue{queue(from), queue(to)}}
	s.Exchanges = []model.Exchange{{ExchangeRef: model.ExchangeRef{VHost: "/"}, Type: "direct", Durable: true}}
	s.Overview.Version = model.ParseVersion(os.Getenv(victimVariable + "_VERSION"))
	plan := model.NewTopology(s).Plan(model.ActionWant{
		Operation: model.Operation(operation), From: s.Queues[0].QueueRef, Mode: model.ToQueue, Fixed: model.Address{RoutingKey: to}, User: "guest", Insist: true,
	})
	signal.Ignore(syscall.Signal(25)) // SIGXFSZ: a file that may not become larger shall be an error, as on a full disk
	fmt.Println("begins")
	account, err := c.Execute(context.Background(), plan, nil)
	fmt.Println("ends", account.Stopped, err)
	return 0
}

// TestKilled kills a process at random moments of drops and replays. Every message is in the source, the target or the journal, what is in
// two places is known to be uncertain and is told at the next start, and an undo brings everything back.
func TestKilled(t *testing.T) {
	rounds := sized(3, func(faults int) int { return faults })
	n := sized(2000, always(10_000))
	for _, operation := range both {
		forEachKind(t, func(t *testing.T, kind model.QueueType) {
			t.Run(string(operation), func(t *testing.T) {
				var total verdict
				took := killOnce(t, operation, kind, n, time.Minute, &verdict{}) // not killed
				for round := range rounds {
					t.Run(fmt.Sprint(round), func(t *testing.T) { killOnce(t, operation, kind, n, rand.N(took), &total) })
				}
				t.Logf("killed in a %s, %s: %s", operation, kind, &total)
			})
		})
	}
}

// killOnce kills a process so long after it began, and returns how long it ran.
func killOnce(t *testing.T, operation model.Operation, kind model.QueueType, n int, moment time.Duration, total *verdict) (ran time.Duration) {
	a := newApp(t)
	from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
	path := filepath.Join(t.TempDir(), "journal.db")
	a.publish(from.QueueRef, numbered(n)...)
	ran, said := runVictim(t, moment, victimOf(operation, kind, from.Name, to.Name, path))
	ended := strings.HasPrefix(said, "ends")

	// What it held goes back when the broker has noticed.
	c, j := journaledBy(t, journal.New(journal.Options{Path: path}), false), journal.New(journal.Options{Path: path})
	defer j.Close()
	before := -1
	a.until(func() error { // it holds messages without a consumer, too
		inQueues := a.ready(from.QueueRef) + a.ready(to.QueueRef)
		if operation == model.Replay && inQueues < n || inQueues != before {
			before = inQueues
			time.Sleep(200 * time.Millisecond)
			return fmt.Errorf("%d messages are ready, and may become more", inQueues)
		}
		return a.noneHeld(from.Name)
	})
	source, target := a.look(from.QueueRef), a.look(to.QueueRef)
	records, err := j.Records(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	kept, moved := map[string]bool{}, map[string]bool{}
	uncertain := 0
	for _, r := range records {
		uncertain += r.Uncertain()
		if ended && r.Unfinished() { // it may be killed between its end and saying so
			t.Errorf("ended %t, but %+v", ended, r)
		}
		if err := j.Entries(t.Context(), r.ID, func(e *model.Entry) error {
			kept[e.MessageID] = e.Message != nil && string(e.Message.Body) == "body of "+e.MessageID || e.Sent != nil
			moved[e.MessageID] = e.Outcome == model.Moved || e.Outcome == model.Dropped
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	v := verdict{rounds: 1, messages: n}
	for _, id := range count(n) {
		inSource, inTarget := source[id] > 0, target[id] > 0
		switch {
		case inSource && inTarget:
			if v.twice++; moved[id] || !kept[id] {
				t.Errorf("%s is in both queues, and nobody knows", id)
			}
		case inSource:
			if moved[id] {
				t.Errorf("%s is in its queue, and the journal says that it is not", id)
			}
		case operation == model.Drop && !kept[id], operation == model.Replay && !inTarget:
			v.lost++
		}
	}
	t.Logf("killed after %s: %d in the source, %d in the target, %d in the journal, %d uncertain, %d twice", moment, len(source), len(target), len(kept), uncertain, v.twice)
	const window = 1000
	if v.lost > 0 || v.twice > uncertain || uncertain > window {
		t.Errorf("%d lost, %d twice, %d uncertain", v.lost, v.twice, uncertain)
	}
	if v.struck = wantTold(t, j, uncertain); operation == model.Drop && v.struck > 0 {
		wantAllBack(t, c, j, records[0].ID, from, n)
	}
	v.mostTwice, v.unknown, v.mostUnknown = v.twice, uncertain, uncertain
	total.add(v)
	return ran
}

// victimOf is a process that acts on a queue. The names hold no space: they are part of a list.
func victimOf(operation model.Operation, kind model.QueueType, from, to, path string) *exec.Cmd {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %s %s %s", victimVariable, operation, kind, node.AMQP(), from, to, path),
		victimVariable+"_VERSION="+node.Version())
	command.Stderr = os.Stderr
	return command
}

// runVictim runs a victim, and kills it so long after it began. said is what it said at its end, "" when it was killed before.
func runVictim(t *testing.T, moment time.Duration, command *exec.Cmd) (ran time.Duration, said string) {
	t.Helper()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "begins" {
		t.Fatal(lines.Text())
	}
	began := time.Now()
	killer := time.AfterFunc(moment, func() { _ = command.Process.Kill() })
	if lines.Scan() {
		said = lines.Text()
	}
	ran = time.Since(began)
	killer.Stop()
	_ = command.Wait()
	return ran, said
}

// TestFullDisk: an execution that meets a full disk in its middle stops there, and what it had not written down is in its queue.
func TestFullDisk(t *testing.T) {
	forEachKind(t, func(t *testing.T, kind model.QueueType) {
		const n = 3000
		a := newApp(t)
		from := described(a.queue("failed", kind), kind)
		path := filepath.Join(t.TempDir(), "journal.db")
		a.publish(from.QueueRef, numbered(n)...)
		command := victimOf(model.Drop, kind, from.Name, from.Name, path)
		command.Args = []string{"sh", "-c", `ulimit -f 800 && exec "$0"`, command.Path} // blocks of 512 or 1,024 bytes
		command.Path = "/bin/sh"
		_, said := runVictim(t, time.Minute, command)
		if !strings.Contains(said, "cannot be written: the disk") {
			t.Errorf("it said %q", said)
		}
		a.until(func() error { return a.noneHeld(from.Name) })
		j := journal.New(journal.Options{Path: path})
		defer j.Close()
		there, kept := a.look(from.QueueRef), 0
		if err := j.Entries(t.Context(), 1, func(e *model.Entry) error {
			kept++
			if e.Outcome == model.Dropped && there[e.MessageID] > 0 {
				t.Errorf("%s was dropped, and is in its queue", e.MessageID)
			}
			there[e.MessageID]++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(there) != n || kept == 0 || kept == n {
			t.Errorf("%d of %d are left, %d in the journal", len(there), n, kept)
		}
	})
}

// wantTold wants the next start to tell of what is uncertain. It returns how many records did not end.
func wantTold(t *testing.T, j *journal.Journal, uncertain int) int {
	t.Helper()
	unfinished, err := j.Unfinished(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for i := range unfinished {
		told += strings.Join(unfinished[i].Explain(), "\n")
	}
	if want := "not certain: " + model.Plural(uncertain, "message"); uncertain > 0 && !strings.Contains(told, want) {
		t.Errorf("%q is not in: %s", want, told)
	}
	return len(unfinished)
}

// wantAllBack undoes a drop: afterwards each of n messages is in its queue.
func wantAllBack(t *testing.T, c *broker.Client, j *journal.Journal, id int64, from *model.Queue, n int) {
	t.Helper()
	a := newApp(t)
	if plan := planUndo(t, c, j, id, from); plan.Refusal == "" {
		if account := undo(t, c, j, id, from); !account.Complete() {
			t.Errorf("undo: %+v", account)
		}
	}
	back := a.look(from.QueueRef)
	if ready := a.ready(from.QueueRef); len(back) != n || ready != n {
		t.Errorf("%d messages came back, %d different ones", ready, len(back))
	}
}

// noneHeld reports whether nobody holds messages of a queue: one more consumer gets them all.
func (a *app) noneHeld(queue string) error {
	channel := a.open()
	defer channel.Close()
	q, err := channel.QueueDeclarePassive(queue, false, false, false, false, nil)
	if err != nil {
		return err
	}
	if q.Consumers > 0 {
		return fmt.Errorf("%s has %d consumers", queue, q.Consumers)
	}
	return nil
}

// look counts the messages of a queue by their ids, and leaves them there.
func (a *app) look(queue model.QueueRef) map[string]int {
	a.Helper()
	found := map[string]int{}
	connection, err := amqp.Dial(node.AMQP())
	if err != nil {
		a.Fatal(err)
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		a.Fatal(err)
	}
	n := a.ready(queue)
	if err := channel.Qos(n+1, 0, false); err != nil {
		a.Fatal(err)
	}
	deliveries, err := channel.Consume(queue.Name, "", false, false, false, false, nil)
	if err != nil {
		a.Fatal(err)
	}
	timeout := time.After(patience)
	for range n {
		select {
		case d := <-deliveries:
			found[d.MessageId]++
		case <-timeout:
			a.Fatalf("%s: %d of %d came", queue, len(found), n)
		}
	}
	_ = channel.Close()
	a.await(queue, n)
	return found
}
