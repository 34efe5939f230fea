package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/dial"
)

var (
	binary string     // the program under test, with the race detector in it
	node   *demo.Node // the broker of all tests here; they do not run in parallel
)

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	if signal.Ignored(syscall.SIGHUP) { // by nohup: what tests start would, too, but for what is caught here
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	dir, err := os.MkdirTemp("", "dlxtop-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "dlxtop")
	if out, err := exec.Command("go", "build", "-race", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build dlxtop: %v\n%s", err, out)
		return 1
	}
	if node, err = demo.Start(context.Background(), demo.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer node.Stop()
	return m.Run()
}

// system is the pubsub scenario without its applications: what moves, dlxtop has moved. It is looked at past dlxtop's
// own code.
type system struct {
	t      testing.TB
	queues []string
}

func newSystem(t testing.TB) *system {
	t.Helper()
	scenario, err := demo.ScenarioNamed("pubsub")
	if err != nil {
		t.Fatal(err)
	}
	s := &system{t: t, queues: scenario.Queues()}
	if err := scenario.Declare(t.Context(), node.AMQP()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

// remove deletes the queues, so that the next test finds what the scenario puts into new ones.
func (s *system) remove() {
	connection, err := dial.AMQP(node.AMQP())
	if err != nil {
		s.t.Error(err)
		return
	}
	defer connection.Close()
	channel, err := connection.Channel()
	for _, queue := range s.queues {
		if err == nil {
			_, err = channel.QueueDelete(queue, false, false, false)
		}
	}
	if err != nil {
		s.t.Error(err)
	}
}

// arguments are the arguments that lead dlxtop to this system.
func (s *system) arguments(args ...string) []string {
	return append(args, "--url", node.AMQP()+"%2f", "--api", node.API())
}

// look reads every message of every queue, in order, and leaves them there.
func (s *system) look() map[string][]amqp.Delivery {
	s.t.Helper()
	connection, err := dial.AMQP(node.AMQP())
	if err != nil {
		s.t.Fatal(err)
	}
	defer connection.Close() // which gives the messages back, in order: the queues are classic ones
	channel, err := connection.Channel()
	if err != nil {
		s.t.Fatal(err)
	}
	found := map[string][]amqp.Delivery{}
	for _, queue := range s.queues {
		for {
			d, ok, err := channel.Get(queue, false)
			if err != nil {
				s.t.Fatal(err)
			}
			if !ok {
				break
			}
			found[queue] = append(found[queue], d)
		}
	}
	return found
}

// written is a message as its publisher wrote it, in one comparable text.
func written(d amqp.Delivery) string {
	var headers []string
	for _, key := range slices.Sorted(maps.Keys(d.Headers)) {
		headers = append(headers, fmt.Sprintf("%s=%v", key, d.Headers[key]))
	}
	return fmt.Sprint(d.MessageId, d.ContentType, d.ContentEncoding, d.DeliveryMode, d.Priority, d.CorrelationId,
		d.ReplyTo, d.Expiration,
		d.Timestamp, d.Type, d.UserId, d.AppId, headers, string(d.Body))
}

// TestReplayInTheDashboard is the main job: find the failed message, read it, replay it, and see on the broker that
// exactly this message is in the worker's queue, cleaned, and that nothing else changed.
func TestReplayInTheDashboard(t *testing.T) {
	s := newSystem(t)
	const failed, worker = "ucenter@user@failed", "ucenter@user"
	before := s.look()
	chosen := before[failed][2]

	screen := open(t, s.arguments()...)
	screen.waitForPoll("FLOW", worker)
	screen.press("/" + worker + "\r")
	screen.waitUntil("only this flow is shown", func() bool { return !strings.Contains(screen.text(), "user-monitor") })
	screen.press("f")
	screen.waitFor(failed, fmt.Sprintf("%d messages", len(before[failed])))
	screen.press("jj\r")
	screen.waitFor(chosen.MessageId, "expired", "ucenter@user@retry")
	screen.press("r")
	screen.waitFor("Replay 1 message", worker, "strips", "x-death")
	screen.press("\r")
	screen.waitFor("1 message moved to " + worker)
	screen.press("\r")

	var after map[string][]amqp.Delivery
	screen.waitUntil("the message is in the worker's queue", func() bool {
		after = s.look()
		return len(after[worker]) > 0
	})
	if len(after[worker]) != 1 {
		t.Fatalf("%d messages are in %s", len(after[worker]), worker)
	}
	moved := after[worker][0]
	if moved.MessageId != chosen.MessageId || !bytes.Equal(moved.Body, chosen.Body) || moved.Exchange != "master" ||
		moved.RoutingKey != worker {
		t.Errorf("moved was %+v instead of %+v", moved, chosen)
	}
	if mark, ok := moved.Headers["dlxtop-replay"].(string); !ok || !strings.HasPrefix(mark, "count=1;") {
		t.Errorf("it is not marked as replayed: %v", moved.Headers)
	}
	delete(moved.Headers, "dlxtop-replay")
	clean := chosen
	clean.Headers = amqp.Table{}
	for key, value := range chosen.Headers {
		ofThatFailure := key == "x-error" || key == "x-death" || strings.HasPrefix(key, "x-first-death-") ||
			strings.HasPrefix(key, "x-last-death-")
		if !ofThatFailure {
			clean.Headers[key] = value
		}
	}
	if len(clean.Headers) == len(chosen.Headers) {
		t.Errorf("there was nothing to clean in %v", chosen.Headers)
	}
	if got, want := written(moved), written(clean); got != want {
		t.Errorf("the message became\n%s\ninstead of\n%s", got, want)
	}
	for _, queue := range s.queues {
		want := before[queue]
		switch queue {
		case failed:
			want = slices.Delete(slices.Clone(want), 2, 3)
		case worker:
			continue
		}
		if !slices.EqualFunc(after[queue], want, func(a, b amqp.Delivery) bool { return written(a) == written(b) }) {
			t.Errorf("%s changed: it has %d messages instead of %d, or others", queue, len(after[queue]), len(want))
		}
	}

	s.bringBack(screen, failed, chosen, len(before[failed]))
	screen.press("5")
	screen.waitFor("1 moved; 1 undone", "undo of 1")
	screen.press("\x03")
	screen.waitForEnd(cli.ExitDone)
}

// bringBack undoes the replay of a message: it is what it was, at the end of its queue of n messages.
func (s *system) bringBack(screen *terminal, failed string, chosen amqp.Delivery, n int) {
	s.t.Helper()
	screen.press("u")
	screen.waitFor("bring back 1 message", "the replay of "+failed)
	screen.press("\r")
	screen.waitFor("1 of 1 message brought back to " + failed)
	screen.press("\r")
	var after map[string][]amqp.Delivery
	screen.waitUntil("the message is back", func() bool {
		after = s.look()
		return len(after[failed]) == n
	})
	back, worker := after[failed][n-1], strings.TrimSuffix(failed, "@failed")
	if got, want := written(back), written(chosen); got != want || len(after[worker]) > 0 {
		s.t.Errorf("the message came back as\n%s\ninstead of\n%s", got, want)
	}
}

func TestEndsOfTheDashboard(t *testing.T) {
	s := newSystem(t)
	for _, test := range []struct {
		name   string
		end    func(*terminal)
		status int
	}{
		{"q", func(s *terminal) { s.press("q") }, cli.ExitDone},
		{"ctrl-c", func(s *terminal) { s.press("\x03") }, cli.ExitDone},
		{"SIGINT", func(s *terminal) { s.signal(syscall.SIGINT) }, cli.ExitInterrupted},
		{"SIGTERM", func(s *terminal) { s.signal(syscall.SIGTERM) }, cli.ExitInterrupted},
	} {
		t.Run(test.name, func(t *testing.T) {
			screen := open(t, s.arguments()...)
			screen.waitForPoll("ucenter@user")
			if screen.mu.Lock(); !screen.alt || screen.cursor {
				t.Errorf("the dashboard does not have the terminal: alternate screen %t, cursor %t", screen.alt, screen.cursor)
			}
			if !strings.Contains(screen.emulator.Render(), "\x1b[38;") {
				t.Error("the dashboard has no colours") // as it has none where CI is set: see internal/unasked
			}
			screen.mu.Unlock()
			test.end(screen)
			screen.waitForEnd(test.status)
		})
	}
}

// TestBrokerLost: a broker that goes away is said to be lost, and comes back by itself.
func TestBrokerLost(t *testing.T) {
	s := newSystem(t)
	screen := open(t, s.arguments()...)
	screen.waitForPoll("ucenter@user")
	if err := node.Halt(); err != nil {
		t.Fatal(err)
	}
	screen.waitFor("lost", "stale", "ucenter@user")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	if err := node.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	screen.waitUntil("it is live again", func() bool {
		text := screen.text()
		return polled.MatchString(text) && !strings.Contains(text, "stale")
	})
	screen.press("1f") // and messages can be read again, over AMQP
	screen.waitFor("@failed", "messages")
	screen.press("\x03")
	screen.waitForEnd(cli.ExitDone)
}

// TestErrorsLeaveTheTerminal: what is wrong before the dashboard opens is one line, and the terminal was never taken.
func TestErrorsLeaveTheTerminal(t *testing.T) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	listener.Close()
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--url", "amqp://guest:s3cr3t@" + nobody, "--api", "http://" + nobody}, cli.ExitConnect, nobody},
		{[]string{
			"--url", strings.Replace(node.AMQP(), "guest:guest", "guest:s3cr3t", 1), "--api",
			strings.Replace(node.API(), "guest:guest@", "", 1),
		}, cli.ExitConnect, "password"},
		{[]string{"--url", node.AMQP() + "missing", "--api", node.API()}, cli.ExitConnect, "missing"},
		{[]string{"--what"}, cli.ExitUsage, "--what"},
	} {
		screen := open(t, test.args...)
		screen.waitForEnd(test.status)
		text := strings.Join(strings.Fields(screen.text()), " ")
		if screen.entered || !strings.HasPrefix(text, "dlxtop: ") || !strings.Contains(text, test.want) ||
			strings.Contains(text, "s3cr3t") {
			t.Errorf("%v leaves %s", test.args, text)
		}
	}
}

// TestKilledTap kills the program in the middle of a tap: the broker has nothing of it afterwards.
func TestKilledTap(t *testing.T) {
	connection, err := dial.AMQP(node.AMQP())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	worker, err := channel.QueueDeclare("", false, false, true, false, nil)
	if err == nil {
		err = channel.QueueBind(worker.Name, "", "amq.fanout", false, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	taps := func() (queues, bindings, consumers int) {
		for path, count := range map[string]*int{"queues": &queues, "bindings": &bindings, "consumers": &consumers} {
			response, err := http.Get(node.API() + "/api/" + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if path == "queues" {
				*count = bytes.Count(body, []byte(`"name":"dlxtop.tap-`))
			} else {
				*count = bytes.Count(body, []byte(`dlxtop.tap-`))
			}
		}
		return queues, bindings, consumers
	}
	command := exec.Command(binary, "tap", "amq.fanout", "--url", node.AMQP(), "--api", node.API())
	command.Env = cleanEnvironment()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(2*patience, func() { _ = command.Process.Kill() })
	defer stuck.Stop()
	seen := make(chan bool)
	go func() { seen <- bufio.NewScanner(out).Scan() }()
	for waiting := true; waiting; {
		if err := channel.Publish("amq.fanout", "", false, false, amqp.Publishing{Body: []byte("passes")}); err != nil {
			t.Fatal(err)
		}
		select {
		case ok := <-seen:
			if waiting = false; !ok {
				t.Fatal("the tap ended")
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
	await(t, "the broker shows the tap", func() bool {
		queues, bindings, consumers := taps()
		return queues == 2 && bindings > 0 && consumers > 0
	})
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	await(t, "nothing of it is left", func() bool {
		queues, bindings, consumers := taps()
		return queues+bindings+consumers == 0
	})
}
