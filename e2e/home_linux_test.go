package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/size"
)

// machine is a file system of its own with dlxtop in it, built without cgo as releases are, and a database of users:
// what dlxtop writes into a home directory must not be that of the person who runs this test.
type machine struct {
	t    *testing.T
	root string
}

func newMachine(t *testing.T, program, users string) machine {
	t.Helper()
	m := machine{t, t.TempDir()}
	for _, dir := range []string{"etc", "tmp", "root", "one", "two"} {
		must.Do(t, os.Mkdir(filepath.Join(m.root, dir), 0o700))
	}
	must.Do(t, os.WriteFile(filepath.Join(m.root, "etc", "passwd"), []byte(users), 0o600))
	must.Do(t, os.Link(program, filepath.Join(m.root, "dlxtop")))
	return m
}

// released builds the program without cgo.
func released(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "dlxtop")
	t.Setenv("CGO_ENABLED", "0")
	must.Do(t, built.Build(program))
	return program
}

// run runs dlxtop in a directory, with this environment and nothing else.
func (m machine) run(dir string, env []string, args ...string) (text string, status int) {
	m.t.Helper()
	command := exec.Command("/dlxtop", args...)
	command.Dir, command.Env = dir, append([]string{"PATH="}, env...) // an empty one would be this process's
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: m.root}
	if os.Geteuid() != 0 { // a user may change the root in a namespace of its own
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := command.CombinedOutput()
	must.That(m.t, command.ProcessState != nil,
		"a root directory of its own needs root, or a system that lets users have namespaces: %v", err)
	return string(out), command.ProcessState.ExitCode()
}

// written are the files that dlxtop left behind.
func (m machine) written() (files []string) {
	m.t.Helper()
	must.Do(m.t, filepath.WalkDir(m.root, func(path string, entry os.DirEntry, err error) error {
		name := strings.TrimPrefix(path, m.root)
		if err == nil && !entry.IsDir() && name != "/dlxtop" && name != "/etc/passwd" {
			files = append(files, name)
		}
		return err
	}))
	return files
}

// TestWithoutHome: what is dropped in one directory is brought back from another, whatever HOME and XDG_STATE_HOME do
// not say.
func TestWithoutHome(t *testing.T) {
	size.Long(t) // it compiles all of the program a second time, without cgo
	channel := dial.Channel(t, built.Node.AMQP())
	queue := must.Get(channel.QueueDeclare("without-home", false, true, false, false, nil))(t)
	defer func() { _, _ = channel.QueueDelete(queue.Name, false, false, false) }()
	count := func() int {
		q := must.Get(channel.QueueDeclarePassive(queue.Name, false, true, false, false, nil))(t)
		return q.Messages
	}
	broker := built.ToNode()
	program := released(t)
	m := newMachine(t, program, "root:x:0:0::/root:/bin/sh\n")
	relative := []string{"HOME=one", "XDG_STATE_HOME=two", "XDG_CONFIG_HOME=three"}
	for i, env := range [][]string{nil, {"HOME="}, {"HOME=."}, relative} {
		must.Do(t, channel.Publish("", queue.Name, false, false, amqp.Publishing{Body: []byte("dropped")}))
		must.Await(t, "the message is there", func() bool { return count() == 1 })
		text, status := m.run("/one", env, append(broker, "drop", queue.Name, "--yes")...)
		must.That(t, status == cli.ExitDone && count() == 0, "%v: exit status %d: %s", env, status, text)
		for _, file := range m.written() {
			assert.That(t, strings.HasPrefix(file, "/root/.local/state/dlxtop/"), "%v: %s was written", env, file)
		}
		text, status = m.run("/two", env, append(broker, "journal", "undo", fmt.Sprint(2*i+1), "--yes")...)
		must.That(t, status == cli.ExitDone && count() == 1, "%v: exit status %d: %s", env, status, text)
		must.Get(channel.QueuePurge(queue.Name, false))(t)
	}
	// Nobody knows of a home: one sentence, and nothing is done or written.
	m = newMachine(t, program, "")
	must.Do(t, channel.Publish("", queue.Name, false, false, amqp.Publishing{Body: []byte("stays")}))
	must.Await(t, "the message is there", func() bool { return count() == 1 })
	for _, args := range [][]string{append(broker, "drop", queue.Name, "--yes"), {"journal"}} {
		text, status := m.run("/one", nil, args...)
		sentence := strings.Contains(text, "XDG_STATE_HOME") && strings.Count(text, "\n") == 1
		assert.That(t, status == cli.ExitRefused && sentence && count() == 1, "exit status %d: %s", status, text)
	}
	text, status := m.run("/one", nil, "--context", "prod", "flows")
	assert.That(t, status == cli.ExitUsage && strings.Contains(text, "XDG_CONFIG_HOME"),
		"exit status %d: %s", status, text)
	files := m.written()
	assert.That(t, len(files) == 0, "%v were written", files)
}
