package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

func TestMain(m *testing.M) { os.Exit(built.Main(m)) }

// system is the pubsub scenario, examined without dlxtop's own code.
type system struct {
	t      testing.TB
	queues []string
}

func newSystem(t testing.TB) *system {
	t.Helper()
	return &system{t, built.Scenario(t)}
}

// look reads every message of every queue, in order, and leaves them there.
func (s *system) look() map[string][]amqp.Delivery {
	s.t.Helper()
	connection := must.Get(dial.AMQP(built.Node.AMQP()))(s.t)
	defer connection.Close() // which gives the messages back, in order: the queues are classic ones
	channel := must.Get(connection.Channel())(s.t)

	found := map[string][]amqp.Delivery{}
	for _, queue := range s.queues {
		for {
			d, ok, err := channel.Get(queue, false)
			must.Do(s.t, err)
			if !ok {
				break
			}
			found[queue] = append(found[queue], d)
		}
	}

	return found
}

// written returns a message as its publisher wrote it, as one comparable string.
func written(d amqp.Delivery) string {
	var headers []string
	for _, key := range slices.Sorted(maps.Keys(d.Headers)) {
		headers = append(headers, fmt.Sprintf("%s=%v", key, d.Headers[key]))
	}
	return fmt.Sprint(d.MessageId, d.ContentType, d.ContentEncoding, d.DeliveryMode, d.Priority, d.CorrelationId,
		d.ReplyTo, d.Expiration, d.Timestamp, d.Type, d.UserId, d.AppId, headers, string(d.Body))
}

// showFailed opens the failed queue of a worker, with n messages.
func showFailed(screen *built.Terminal, worker string, n int) {
	screen.Press("/" + worker + "\r")
	screen.WaitUntil("only this flow is shown", func() bool { return !strings.Contains(screen.Text(), "user-monitor") })
	screen.Press("f").WaitFor(worker+"@failed", fmt.Sprintf("%d messages", n))
}

// agree presses enter until a text is there: statistics that come late change the plan of a dialog.
func agree(screen *built.Terminal, to, text string) {
	var pressed time.Time
	screen.WaitUntil(text, func() bool {
		shown := screen.Text()
		if strings.Contains(shown, "enter "+to+" ") && time.Since(pressed) > 3*time.Second {
			pressed = time.Now()
			screen.Press("\r")
		}
		return strings.Contains(shown, text)
	})
}

// TestReplayInTheDashboard does the main job: find the failed message, read it, replay it, and see on the broker that
// exactly this message is in the worker's queue, cleaned, and that nothing else changed.
func TestReplayInTheDashboard(t *testing.T) {
	s := newSystem(t)
	const failed, worker = "ucenter@user@failed", "ucenter@user"
	before := s.look()
	chosen := before[failed][2]

	screen := built.OpenNode(t, "FLOW", worker)
	showFailed(screen, worker, len(before[failed]))
	screen.Press("jj\r").WaitFor(chosen.MessageId, "expired", "ucenter@user@retry")
	screen.Press("r").WaitFor("Replay 1 message", worker, "strips", "x-death")
	agree(screen, "replay", "1 message moved to "+worker)
	screen.Press("\r")

	var after map[string][]amqp.Delivery
	screen.WaitUntil("the message is in the worker's queue", func() bool {
		after = s.look()
		return len(after[worker]) > 0
	})

	must.That(t, len(after[worker]) == 1, "%d messages are in %s", len(after[worker]), worker)
	moved := after[worker][0]
	assert.Equal(t, moved.MessageId, chosen.MessageId, "moved was %+v instead of %+v", moved, chosen)
	assert.That(t, bytes.Equal(moved.Body, chosen.Body), "moved was %+v instead of %+v", moved, chosen)
	assert.Equal(t, moved.Exchange, "master")
	assert.Equal(t, moved.RoutingKey, worker)
	mark, ok := moved.Headers["dlxtop-replay"].(string)
	assert.That(t, ok, "it is not marked as replayed: %v", moved.Headers)
	assert.That(t, strings.HasPrefix(mark, "count=1;"), "it is not marked as replayed: %v", moved.Headers)
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

	assert.That(t, len(clean.Headers) != len(chosen.Headers), "there was nothing to clean in %v", chosen.Headers)
	assert.Equal(t, written(moved), written(clean), "the message became")
	for _, queue := range s.queues {
		want := before[queue]
		switch queue {
		case failed:
			want = slices.Delete(slices.Clone(want), 2, 3)
		case worker:
			continue
		}

		same := func(a, b amqp.Delivery) bool { return written(a) == written(b) }
		assert.That(t, slices.EqualFunc(after[queue], want, same),
			"%s changed: it has %d messages instead of %d, or others", queue, len(after[queue]), len(want))
	}

	s.bringBack(screen, failed, chosen, len(before[failed]))
	screen.Press("5").WaitFor("1 moved; 1 undone", "undo of 1")
	screen.Press("\x03").WaitForEnd(cli.ExitDone)
}

// bringBack undoes the replay of a message, which returns unchanged to the end of its queue of n messages.
func (s *system) bringBack(screen *built.Terminal, failed string, chosen amqp.Delivery, n int) {
	s.t.Helper()
	screen.Press("u").WaitFor("bring back 1 message", "the replay of "+failed)
	agree(screen, "bring back", "1 of 1 message brought back to "+failed)
	screen.Press("\r")
	var after map[string][]amqp.Delivery
	screen.WaitUntil("the message is back", func() bool {
		after = s.look()
		return len(after[failed]) == n
	})

	back := after[failed][n-1]
	worker := strings.TrimSuffix(failed, "@failed")
	got, want := written(back), written(chosen)
	assert.Equal(s.t, got, want)
	assert.Equal(s.t, len(after[worker]), 0, "the message came back as\n%s\ninstead of\n%s", got, want)
}

func TestEndsOfTheDashboard(t *testing.T) {
	built.Scenario(t)
	for _, test := range []struct {
		name   string
		end    func(*built.Terminal)
		status int
	}{
		{"q", func(s *built.Terminal) { s.Press("q") }, cli.ExitDone},
		{"ctrl-c", func(s *built.Terminal) { s.Press("\x03") }, cli.ExitDone},
		{"SIGINT", func(s *built.Terminal) { s.Signal(syscall.SIGINT) }, cli.ExitInterrupted},
		{"SIGTERM", func(s *built.Terminal) { s.Signal(syscall.SIGTERM) }, cli.ExitInterrupted},
	} {
		t.Run(test.name, func(t *testing.T) {
			screen := built.OpenNode(t, "ucenter@user")
			modes := screen.Modes()
			assert.That(t, modes.Alt, "the dashboard does not have the terminal: %+v", modes)
			assert.That(t, !modes.Cursor, "the dashboard does not have the terminal: %+v", modes)
			if !strings.Contains(screen.Rendered(), "\x1b[38;") {
				t.Error("the dashboard has no colours") // as where CI is set: see internal/unasked
			}
			test.end(screen)
			screen.WaitForEnd(test.status)
		})
	}
}

// TestPlainDashboard: the terminal's cursor is there, and on the chosen row.
func TestPlainDashboard(t *testing.T) {
	built.Scenario(t)
	screen := built.Open(t, built.ToNode("--plain")...)
	screen.WaitForPoll("ucenter@user")
	assert.That(t, screen.Modes().Cursor, "the cursor is hidden")
}

// TestSpareProcessors: the dashboard has more of Go's processors than it started with.
func TestSpareProcessors(t *testing.T) {
	t.Setenv("GODEBUG", "schedtrace=100")
	t.Setenv("GOMAXPROCS", "")
	trace := must.Get(os.Create(filepath.Join(t.TempDir(), "trace")))(t)
	command := exec.Command(built.Program, built.ToNode()...)
	command.Stderr = trace
	built.Start(t, command).WaitForPoll()

	must.Await(t, "the trace has two more", func() bool {
		var atFirst int
		text := string(must.Get(os.ReadFile(trace.Name()))(t))
		must.Get(fmt.Sscanf(text, "SCHED 0ms: gomaxprocs=%d", &atFirst))(t)
		return strings.Contains(text, fmt.Sprintf("gomaxprocs=%d ", atFirst+2))
	})
}

// TestErrorsLeaveTheTerminal: an error before the dashboard opens prints one line and never takes over the terminal.
func TestErrorsLeaveTheTerminal(t *testing.T) {
	unused := dial.Unused(t)
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--url", "amqp://guest:s3cr3t@" + unused, "--api", "http://" + unused}, cli.ExitConnect, unused},
		{[]string{
			"--url", strings.Replace(built.Node.AMQP(), "guest:guest", "guest:s3cr3t", 1), "--api",
			strings.Replace(built.Node.API(), "guest:guest@", "", 1),
		}, cli.ExitConnect, "password"},
		{[]string{"--url", built.Node.AMQP() + "missing", "--api", built.Node.API()}, cli.ExitConnect, "missing"},
		{[]string{"--what"}, cli.ExitUsage, "--what"},
	} {
		screen := built.Open(t, test.args...)
		screen.WaitForEnd(test.status)
		text := strings.Join(strings.Fields(screen.Text()), " ")
		assert.That(t, !screen.Modes().Entered, "%v leaves %s", test.args, text)
		assert.That(t, strings.HasPrefix(text, "dlxtop: "), "%v leaves %s", test.args, text)
		assert.Contains(t, text, test.want, "%v", test.args)
		assert.Lacks(t, text, "s3cr3t", "%v", test.args)
	}
}

// TestKilledTap kills the program in the middle of a tap: nothing of it is left on the broker.
func TestKilledTap(t *testing.T) {
	channel := dial.Channel(t, built.Node.AMQP())
	worker := must.Get(channel.QueueDeclare("", false, false, true, false, nil))(t)
	must.Do(t, channel.QueueBind(worker.Name, "", "amq.fanout", false, nil))
	n := manage.Of(t, built.Node.API())
	taps := func() (queues, bindings, consumers int) {
		columns := url.Values{"columns": {"name,consumers"}}
		for _, q := range must.Get(n.ListQueuesWithParameters(columns))(t) {
			if strings.HasPrefix(q.Name, "dlxtop.tap-") {
				queues++
				consumers += q.Consumers
			}
		}

		for _, b := range must.Get(n.ListBindings())(t) {
			bindings += strings.Count(b.Destination, "dlxtop.tap-")
		}

		return queues, bindings, consumers
	}

	command := built.Command(t, "tap", "amq.fanout")
	out := must.Get(command.StdoutPipe())(t)
	built.Begin(t, command)
	seen := make(chan bool)
	go func() { seen <- bufio.NewScanner(out).Scan() }()

	for waiting := true; waiting; {
		must.Do(t, channel.Publish("amq.fanout", "", false, false, amqp.Publishing{Body: []byte("passes")}))
		select {
		case ok := <-seen:
			if waiting = false; !ok {
				t.Fatal("the tap ended")
			}
		case <-time.After(20 * time.Millisecond):
		}
	}

	must.Await(t, "the broker shows the tap", func() bool {
		queues, bindings, consumers := taps()
		return queues == 2 && bindings > 0 && consumers > 0
	})

	must.Do(t, command.Process.Kill())
	_ = command.Wait()
	must.Await(t, "nothing of it is left", func() bool {
		queues, bindings, consumers := taps()
		return queues+bindings+consumers == 0
	})
}

// TestDemo: the dashboard of the demo shows the flows of every scenario, and nothing is left when it is closed.
func TestDemo(t *testing.T) {
	t.Parallel()
	screen := built.Open(t, "demo")
	screen.WaitFor("RetryQueue", "worker-queue", "retry.worker-queue", "ucenter@user", "ucenter@enterprise",
		"user-monitor", "example.delay.heaven")
	screen.Press("q").WaitForEnd(cli.ExitDone)
}

// TestDemoWithoutDashboard: without a dashboard, the demo prints its URLs, and an interrupt is its normal end. Those of
// several nodes still lead to the broker when one is killed.
func TestDemoWithoutDashboard(t *testing.T) {
	size.Long(t)
	for _, nodes := range []string{"1", "3"} {
		t.Run(nodes, func(t *testing.T) {
			command := exec.Command(built.Program, "demo", "--no-ui", "--scenario", "pubsub", "--nodes", nodes)
			command.Env = built.Environment()
			var said built.Buffer
			command.Stderr = &said
			out := must.Get(command.StdoutPipe())(t)
			built.Begin(t, command)
			lines := bufio.NewScanner(out)

			told := map[string]string{}
			for len(told) < 2 && lines.Scan() {
				name, value, _ := strings.Cut(lines.Text(), " ")
				told[name] = strings.TrimSpace(value)
			}

			flows := func(want int) string {
				status, text, errs := built.Run(t, built.In(t.TempDir(), "flows", "--url", told["AMQP"], "--api", told["API"]))
				assert.Equal(t, status, want, "flows: %s%s", text, errs)
				return text
			}
			assert.That(t, strings.HasPrefix(flows(cli.ExitDone), "FLOW "), "told %v", told)

			named := regexp.MustCompile(`is the process (\d+)`).FindAllStringSubmatch(said.String(), -1)
			if nodes == "3" {
				must.Equal(t, len(named), 3, "%s", said.String())
				must.Do(t, syscall.Kill(must.Get(strconv.Atoi(named[2][1]))(t), syscall.SIGKILL))
				flows(cli.ExitDone)
			}

			must.Do(t, command.Process.Signal(os.Interrupt))
			rest, _ := io.ReadAll(out)
			must.Do(t, command.Wait())
			assert.Equal(t, len(rest), 0, "it ended with %s%s", rest, said.String())
			flows(cli.ExitConnect)
		})
	}
}

// TestCommandsAskTheTerminalNothing: a command that draws nothing sends the terminal no query. A terminal that never
// answers would delay it by 5 s, and a late answer would end up as input of the shell.
func TestCommandsAskTheTerminalNothing(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"version", "--version", "--help", "version -o json", "help flows", "nonsense"} {
		for _, variable := range []string{"DLXTOP=", "NO_COLOR=1", "CI=", "CI=1"} {
			command := exec.Command(built.Program, strings.Fields(args)...)
			command.Env = append(built.Environment(), "TERM=xterm-256color", variable)
			terminal := must.Get(pty.Start(command))(t)
			said, _ := io.ReadAll(terminal) // EIO: the program has ended
			_ = command.Wait()
			_ = terminal.Close()
			assert.That(t, len(said) > 0, "dlxtop %s with %s wrote %q", args, variable, said)
			assert.Lacks(t, string(said), "\x1b", "%v", args)
		}
	}
}

// TestServerNameOfAMQP: the AMQP port has a certificate for a name of its own, the management API one for its address.
func TestServerNameOfAMQP(t *testing.T) {
	size.Long(t)
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, content, 0o600))
		return path
	}

	ofAMQP, keyOfAMQP := dial.Certificate(t, time.Hour, "amqp.example")
	ofAPI, keyOfAPI := dial.Certificate(t, time.Hour, "127.0.0.1")
	amqps := dial.Unused(t)
	https := dial.Unused(t)
	trusted := file("both.pem", slices.Concat(ofAMQP, ofAPI))
	_, apiPort, _ := strings.Cut(https, ":")

	secure := must.Get(demo.Start(t.Context(), demo.Options{Settings: fmt.Sprintf(`listeners.ssl.1 = %s
ssl_options.cacertfile = %s
ssl_options.certfile = %s
ssl_options.keyfile = %s
management.ssl.ip = 127.0.0.1
management.ssl.port = %s
management.ssl.cacertfile = %[2]s
management.ssl.certfile = %[6]s
management.ssl.keyfile = %[7]s
`, amqps, trusted, file("amqp.pem", ofAMQP), file("amqp.key", keyOfAMQP), apiPort, file("api.pem", ofAPI),
		file("api.key", keyOfAPI))}))(t)

	t.Cleanup(func() { assert.Succeeds(t, secure.Stop()) })
	must.Do(t, must.Get(demo.ScenarioNamed("pubsub"))(t).Declare(t.Context(), secure.AMQP()))

	query := "?cacertfile=" + trusted
	for _, c := range []struct {
		name   string
		query  string
		status int
		says   string // on a failure also --url
	}{
		{"the name of the AMQP certificate", query + "&server_name_indication=amqp.example", cli.ExitDone, ""},
		{"no name", query, cli.ExitConnect, "for another name"},
		{
			"a mechanism that it has not", query + "&server_name_indication=amqp.example&auth_mechanism=external",
			cli.ExitConnect, "does not offer the mechanism EXTERNAL",
		},
		{"a name that it has not", query + "&server_name_indication=other.example", cli.ExitConnect, "for another name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out, errs := built.Run(t, built.In(t.TempDir(), "peek", "ucenter@user@failed", "-n", "1",
				"--url", fmt.Sprintf("amqps://guest:guest@%s/%%2f%s", amqps, c.query), "--api", "https://"+https))
			assert.Equal(t, status, c.status, "exit status: %s%s", out, errs)
			assert.Contains(t, errs, c.says)
			assert.That(t, c.status == cli.ExitDone || strings.Contains(errs, "--url") && !strings.Contains(errs, "--api"),
				"it is the AMQP certificate that is meant: %s", errs)
		})
	}
}

// TestFirstStartAsks: without a broker on this machine, the first start asks for one, tries each answer, and saves a
// context. The password appears only there.
func TestFirstStartAsks(t *testing.T) {
	if there, err := net.Dial("tcp", "localhost:5672"); err == nil {
		there.Close()
		t.Skip("this machine has a broker where dlxtop looks for one")
	}

	at := must.Get(url.Parse(built.Node.AMQP()))(t)
	api := must.Get(url.Parse(built.Node.API()))(t)
	password, _ := at.User.Password()
	screen := built.Open(t)
	answer := func(text string, words ...string) {
		t.Helper()
		screen.Press("\x15" + text + "\r") // ctrl-u clears the field
		screen.WaitFor(words...)
		assert.That(t, !strings.Contains(screen.Text(), "s3cret"), "the password is shown:\n%s", screen.Text())
	}

	screen.WaitFor("Which RabbitMQ?", "No broker is configured", "▸ host")
	answer("localhost:1", "✗ host: nothing listens on localhost:1")
	answer(at.Host, "✓ host", "▸ user")
	answer(at.User.Username(), "✓ user", "▸ password")
	answer("s3cret", "✗ password:")
	answer(password, "✓ password", "▸ API")
	answer("http://localhost:1", "✗ API: RabbitMQ answers")
	answer("http://"+api.Host, "✓ API", "▸ save as")
	answer("two words", "✗ save as: the name of a context has letters")
	answer("here", "1 Flows", " here ")
	screen.WaitForPoll("1 Flows")
	screen.Press("q").WaitForEnd(cli.ExitDone)

	home := ""
	for _, entry := range screen.Command.Env {
		if value, ok := strings.CutPrefix(entry, "HOME="); ok {
			home = value
		}
	}

	path := filepath.Join(home, ".config", "dlxtop", "config.toml")
	assert.Contains(t, string(must.Get(os.ReadFile(path))(t)), "[contexts.here]\nurl = \"amqp://", path)
	mode := must.Get(os.Stat(path))(t).Mode().Perm()
	assert.That(t, mode == 0o600, "%s has the mode %o", path, mode)

	for _, leave := range []string{"\x1b", "q"} {
		screen = built.Open(t)
		screen.WaitFor("Which RabbitMQ?")
		screen.Press(leave)
		screen.WaitForEnd(cli.ExitConnect)
		assert.Contains(t, screen.Text(), "no broker is configured", "after leaving")
	}
}
