package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/must"
)

// ticksPerSecond is USER_HZ, in which /proc counts: 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// spent is the processor time that a process has used.
func spent(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before may hold spaces
	var ticks int
	for _, field := range fields[11:13] { // utime, stime
		n := must.Get(strconv.Atoi(field))(t)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// watch is what a process uses over a while, of one core.
func watch(t testing.TB, pid int, d time.Duration) float64 {
	t.Helper()
	return watchTwo(t, pid, pid, d)[0]
}

// watchTwo does so with two processes.
func watchTwo(t testing.TB, a, b int, d time.Duration) [2]float64 {
	t.Helper()
	began, ofA, ofB := time.Now(), spent(t, a), spent(t, b)
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
	took := time.Since(began).Seconds()
	return [2]float64{(spent(t, a) - ofA).Seconds() / took, (spent(t, b) - ofB).Seconds() / took}
}

// memory is what a process has in memory, in bytes.
func memory(t testing.TB, pid int) int64 {
	t.Helper()
	statm := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)))(t)
	pages := must.Get(strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64))(t)
	return pages * int64(os.Getpagesize())
}

// brokerProcess is the process of a node.
func brokerProcess(t testing.TB, node *demo.Node) int {
	t.Helper()
	_, port, _ := strings.Cut(strings.TrimSuffix(node.AMQP(), "/"), "@127.0.0.1:")
	want := []byte("RABBITMQ_NODE_PORT=" + port + "\x00")
	paths := must.Get(filepath.Glob("/proc/[0-9]*/environ"))(t)
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environ, want) {
			continue
		}
		name, err := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		if err != nil || strings.TrimSpace(string(name)) != "beam.smp" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		must.Do(t, err)
		return pid
	}
	t.Fatal("the broker's process is not found: this needs a RabbitMQ that is installed")
	return 0
}
