package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	fmt.Println("begins")
	_, err = c.Execute(context.Background(), plan, nil)
	fmt.Println("ends", err)
	return 0
}

// TestKilled kills a process in the middle of drops and replays. Every message is in the source, the target or the journal, what is in
// two places is known to be uncertain, and an undo brings everything back.
func TestKilled(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for _, operation := range []model.Operation{model.Drop, model.Replay} {
		forEachKind(t, func(t *testing.T, kind model.QueueType) {
			for round := range rounds {
				t.Run(fmt.Sprint(operation, round), func(t *testing.T) { killOnce(t, operation, kind) })
			}
		})
	}
}

func killOnce(t *testing.T, operation model.Operation, kind model.QueueType) {
	const n = 2000
	a := newApp(t)
	from, to := described(a.queue("failed", kind), kind), described(a.queue("worker", kind), kind)
	path := filepath.Join(t.TempDir(), "journal.db")
	a.publish(from.QueueRef, numbered(n)...)

	// The name of the queue holds no space: it is part of a list.
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %s %s %s", victimVariable, operation, kind, node.AMQP(), from.Name, to.Name, path),
		victimVariable+"_VERSION="+node.Version())
	command.Stderr = os.Stderr
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
	moment := time.Duration(rand.Int64N(int64(350 * time.Millisecond)))
	time.Sleep(moment)
	_ = command.Process.Kill()
	ended := lines.Scan() && strings.HasPrefix(lines.Text(), "ends")
	_ = command.Wait()

	// What it held goes back when the broker has noticed.
	c, j := journaledBy(t, journal.New(journal.Options{Path: path}), false), journal.New(journal.Options{Path: path})
	defer j.Close()
	var source, target map[string]int
	a.until(func() error {
		if inQueues := a.ready(from.QueueRef) + a.ready(to.QueueRef); operation == model.Replay && inQueues < n {
			return fmt.Errorf("%d messages are ready", inQueues)
		}
		return a.noneHeld(from.Name)
	})
	source, target = a.look(from.QueueRef), a.look(to.QueueRef)
	kept, moved := map[string]bool{}, map[string]bool{}
	records, err := j.Records(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
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
	lost, twice, told := 0, 0, 0
	for _, id := range count(n) {
		inSource, inTarget := source[id] > 0, target[id] > 0
		switch {
		case inSource && inTarget:
			if twice++; moved[id] || !kept[id] {
				t.Errorf("%s is in both queues, and nobody knows", id)
			}
		case inSource:
			if moved[id] {
				t.Errorf("%s is in its queue, and the journal says that it is not", id)
			}
		case operation == model.Drop && !kept[id], operation == model.Replay && !inTarget:
			lost++
		}
		if moved[id] {
			told++
		}
	}
	t.Logf("killed after %s: %d in the source, %d in the target, %d in the journal, %d certainly done, %d uncertain, %d twice", moment, len(source), len(target), len(kept), told, uncertain, twice)
	if lost > 0 || twice > uncertain {
		t.Errorf("%d lost, %d twice, %d uncertain", lost, twice, uncertain)
	}
	if operation != model.Drop || len(records) == 0 || len(source) == n {
		return
	}
	if account := undo(t, c, j, records[0].ID, from); !account.Complete() {
		t.Errorf("undo: %+v", account)
	}
	back := map[string]int{}
	for _, d := range a.drain(from.QueueRef, n) {
		back[d.MessageId]++
	}
	if len(back) != n {
		t.Errorf("%d different messages came back", len(back))
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
