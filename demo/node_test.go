package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

var shared *Node

// parentVariable makes the test binary act as the parent of a node, to be killed.
const parentVariable = "DLXTOP_DEMO_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		beParent()
		return
	}

	var err error
	if shared, err = Start(context.Background(), Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}

	os.Exit(code)
}

// remains is where a node could leave something.
type remains struct {
	Directory string
	Group     int
}

func remainsOf(n *Node) remains {
	r := remains{Directory: n.layout.dir}
	if backend, ok := n.backend.(*installed); ok {
		r.Group = backend.process.group
	}
	return r
}

// beParent starts a node, prints what it could leave, and waits to be killed.
func beParent() {
	node, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(remainsOf(node))
	select {}
}

// check names the first thing that is left.
func (r remains) check(ctx context.Context) error {
	if _, err := os.Stat(r.Directory); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the directory %s is left (%v)", r.Directory, err)
	}
	// With their environment: an epmd that the node started as a daemon has the directory only there. A port says nothing,
	// because another node may have got it since.
	out, err := exec.CommandContext(ctx, "ps", "axeww", "-o", "pgid=,stat=,args=").Output()
	if err != nil {
		return giveUp{fmt.Errorf("ps: %w", err)}
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		// Zombies that the first process of a container does not reap count as gone.
		if len(fields) > 1 && fields[0] == strconv.Itoa(r.Group) && !strings.HasPrefix(fields[1], "Z") {
			return fmt.Errorf("a process of the group is left: %s", fields[:min(3, len(fields))])
		}
		if strings.Contains(line, r.Directory) {
			return fmt.Errorf("a process of the node is left: %s", fields[:min(3, len(fields))])
		}
	}

	return nil
}

// await tries until there is no error, and fails the test when that takes longer than limit. patience bounds every wait
// of a test.
const patience = 2 * time.Minute

func await(t *testing.T, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must.Do(t, until(ctx, 50*time.Millisecond, try))
}

func TestNodeAnswers(t *testing.T) {
	version := must.Get(overview(t.Context(), shared.API()))(t)
	assert.That(t, version != "", "the API says version %q, the node says %q", version, shared.Version())
	assert.Equal(t, version, shared.Version())
	conn := must.Get(amqp.Dial(shared.AMQP()))(t)
	defer conn.Close()
	assert.Equal[any](t, conn.Properties["version"], shared.Version(), "the broker's version")
}

// A halted broker keeps its ports and its durable messages, and a stopped one leaves nothing.
func TestHaltResumeStop(t *testing.T) {
	size.Long(t)
	t.Parallel()
	var log bytes.Buffer
	node := must.Get(Start(t.Context(), Options{Log: &log}))(t)
	t.Cleanup(func() { _ = node.Stop() })
	assert.Contains(t, log.String(), node.AMQP())
	url := node.AMQP()
	fill := topology{queues: []queue{{name: "kept"}}}
	conn := must.Get(dial(t.Context(), url, "test"))(t)
	must.Do(t, fill.declare(conn))

	p := must.Get(newPublisher(conn))(t)
	for range 3 {
		must.Do(t, p.publish(t.Context(), "", "kept", message("test", "test", userBody())))
	}

	lost := conn.NotifyClose(make(chan *amqp.Error, 1))

	assert.That(t, node.Resume(t.Context()) != nil, "a running node was resumed")
	begin := time.Now()
	must.Do(t, node.Halt())
	t.Logf("halted in %s", time.Since(begin))
	assert.That(t, <-lost != nil, "the connection was not lost")
	assert.That(t, handshake(t.Context(), url) != nil, "a halted node accepts connections")
	assert.That(t, node.Halt() != nil, "a halted node was halted")
	begin = time.Now()
	must.Do(t, node.Resume(t.Context()))
	t.Logf("resumed in %s", time.Since(begin))
	assert.Equal(t, node.AMQP(), url, "the URL changed from")
	conn = must.Get(dial(t.Context(), url, "test"))(t)
	assert.Equal(t, must.Get(depth(conn, "kept"))(t), 3, "messages of the durable queue after a halt")

	left := remainsOf(node)
	must.Do(t, node.Stop())
	_, err := os.Stat(left.Directory)
	assert.That(t, errors.Is(err, os.ErrNotExist), "after Stop the directory %s is there: %v", left.Directory, err)
	await(t, left.check)
	assert.Succeeds(t, node.Stop())
	assert.That(t, node.Resume(t.Context()) != nil, "a stopped node was resumed")
}

// Nothing is left of a node whose parent is killed without a chance to clean up.
func TestParentKilled(t *testing.T) {
	t.Parallel()
	self := must.Get(os.Executable())(t)
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), parentVariable+"=1")
	parent.Stderr = os.Stderr
	out := must.Get(parent.StdoutPipe())(t)
	must.Do(t, parent.Start())
	t.Cleanup(func() { _ = parent.Process.Kill(); _ = parent.Wait() })
	var left remains
	must.Do(t, json.NewDecoder(bufio.NewReader(out)).Decode(&left))
	must.That(t, left.check(t.Context()) != nil, "the node does not run")
	must.Do(t, parent.Process.Kill())
	begin := time.Now()
	await(t, left.check)
	t.Logf("nothing left after %s", time.Since(begin))
}

func TestServerThatEnds(t *testing.T) {
	t.Parallel()
	server := filepath.Join(t.TempDir(), "rabbitmq-server")
	must.Do(t, os.WriteFile(server, []byte("#!/bin/sh\necho 'no such cookie' >&2\nexit 3\n"), 0o700))
	begin := time.Now()
	_, err := Start(t.Context(), Options{Server: server})
	assert.Fails(t, err, "no such cookie")
	assert.That(t, time.Since(begin) <= 30*time.Second, "it took %s to notice", time.Since(begin))
}

func TestServerThatIsNone(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Options{Server: filepath.Join(t.TempDir(), "none")})
	assert.Fails(t, err, serverVariable)
}

func TestNoServerSaysWhatToInstall(t *testing.T) {
	for _, advice := range []string{"apt-get install rabbitmq-server", "brew install rabbitmq", "Docker"} {
		assert.Contains(t, errNoServer.Error(), advice)
	}
}

// A cancelled start leaves nothing.
func TestStartGivenUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := filepath.Join(dir, "rabbitmq-server")
	script := "#!/bin/sh\necho \"$HOME\" >" + filepath.Join(dir, "home") + "\nexec sleep 1000\n"
	must.Do(t, os.WriteFile(server, []byte(script), 0o700))
	cause := errors.New("the user went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1) // room for the one result
	go func() {
		_, err := Start(ctx, Options{Server: server})
		done <- err
	}()

	var home string

	await(t, func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(dir, "home"))
		if home = strings.TrimSpace(string(text)); home == "" && err == nil {
			err = errors.New("no home yet")
		}
		return err
	})

	cancel(cause)
	err := <-done
	assert.That(t, errors.Is(err, cause), "the error is %v, want %v", err, cause)
	_, err = os.Stat(home)
	assert.That(t, errors.Is(err, os.ErrNotExist), "the directory %s is left: %v", home, err)
}

func TestEnvironmentOfOthersStaysOut(t *testing.T) {
	l := layout{name: "dlxtop-1-1", dir: "/nowhere", amqp: 1, api: 2, dist: 3, epmdP: 4}
	env := l.environment([]string{
		"PATH=/bin", "HOME=/root", "RABBITMQ_NODENAME=prod@db1", "RABBITMQ_USE_LONGNAME=true",
		"ERL_FLAGS=-x", "NOTIFY_SOCKET=/run/x",
	})

	text := strings.Join(env, "\n")
	for _, foreign := range []string{"prod", "LONGNAME", "ERL_FLAGS", "NOTIFY_SOCKET", "HOME=/root"} {
		assert.That(t, !strings.Contains(text, foreign), "%s got through:\n%s", foreign, text)
	}

	for _, wanted := range []string{
		"PATH=/bin", "HOME=/nowhere", "RABBITMQ_NODENAME=dlxtop-1-1@localhost",
		"ERL_EPMD_PORT=4",
	} {
		assert.Contains(t, text, wanted)
	}
}

func TestDockerCommands(t *testing.T) {
	l := layout{name: "dlxtop-1-1", amqp: 20001, api: 20002}
	run := strings.Join(dockerRun(l), " ")
	for _, wanted := range []string{
		"docker run --rm --detach --name dlxtop-1-1 ", " --publish 127.0.0.1:20001:5672 ",
		" --publish 127.0.0.1:20002:15672 ",
	} {
		assert.Contains(t, run, wanted)
	}

	assert.That(t, strings.HasSuffix(run, " rabbitmq:4-management"), "it ends with another image: %s", run)
	got := strings.Join(dockerControl(l, "stop_app"), " ")
	want := "docker exec dlxtop-1-1 rabbitmqctl stop_app"
	assert.Equal(t, got, want)
}

func TestControl(t *testing.T) {
	assert.Equal(t, must.Get(shared.Control(t.Context(), "eval", "1 + 1."))(t), "2")
	_, err := shared.Control(t.Context(), "no_such_command")
	assert.Fails(t, err, "no_such_command")
}
