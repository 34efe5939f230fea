//go:build soak && linux

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

// The parts of the whole time: the broker without clients, before and after, and the two screens in between.
const (
	shareAlone  = 0.08
	shareScreen = 0.42
)

// TestSoak lets the dashboard watch all scenarios for DLXTOP_SOAK (an hour by `make soak`), and reports the cost. The
// cost is not asserted, because machines differ; what must not grow with time is asserted.
func TestSoak(t *testing.T) {
	whole, err := time.ParseDuration(os.Getenv("DLXTOP_SOAK"))
	must.That(t, err == nil, "DLXTOP_SOAK has to be a duration, for example 1h: %v", err)
	playing, stop := context.WithCancel(t.Context())
	played := make(chan error, 1)
	go func() { played <- demo.RunAll(playing, built.Node, nil) }()
	defer func() {
		stop()
		assert.Succeeds(t, <-played)
	}()

	broker := brokerProcess(t, built.Node)
	part := func(share float64) time.Duration { return time.Duration(share * float64(whole)) }

	early := goroutines(t, openSoaked(t)) // also gives the scenarios time to begin
	alone := watch(t, broker, part(shareAlone))

	screen := openSoaked(t)
	dashboard := screen.Command.Process.Pid
	atFirst := memoryOf(t, dashboard, "VmRSS")
	var rows []string
	tell := func(what string, cost, brokers float64) {
		rows = append(rows, fmt.Sprintf("%-28s %9.2f %% %9.2f %%", what, 100*cost, 100*brokers))
	}
	onFlows := watchTwo(t, dashboard, broker, part(shareScreen))
	between := memoryOf(t, dashboard, "VmRSS")
	screen.Press("/ucenter@user\r\r").WaitFor("ucenter@user@retry", "master.retry")
	onFlow := watchTwo(t, dashboard, broker, part(shareScreen))
	atLast := memoryOf(t, dashboard, "VmRSS")
	late := goroutines(t, screen)
	after := watch(t, broker, part(shareAlone))

	none := (alone + after) / 2
	tell("no client is connected", 0, none)
	tell("Flows", onFlows[0], onFlows[1])
	tell("one flow", onFlow[0], onFlow[1])

	t.Logf("%s on RabbitMQ %s, all scenarios; of one core\n%-28s %11s %11s\n%s\nthe broker more than alone: Flows "+
		"%+.2f %%, one flow %+.2f %% (alone before and after: %.2f %%, %.2f %%)\nresident memory: at first %.0f MB, "+
		"after Flows %.0f MB, after the flow %.0f MB\ngoroutines: %d after the start, %d at the end", whole,
		built.Node.Version(), "", "dlxtop", "broker", strings.Join(rows, "\n"), 100*(onFlows[1]-none),
		100*(onFlow[1]-none), 100*alone, 100*after, atFirst, between, atLast, early, late)

	assert.That(t, late <= early+10, "%d goroutines after the start, and %d at the end", early, late)
	assert.That(t, atLast <= 2*max(atFirst, between), "memory grew from %.0f and %.0f MB to %.0f", atFirst, between,
		atLast)
}

// openSoaked opens the dashboard on all scenarios and waits for the flows.
func openSoaked(t *testing.T) *built.Terminal {
	t.Helper()
	command := exec.Command(built.Program, built.ToNode("--no-journal")...)
	said := must.Get(os.Create(filepath.Join(t.TempDir(), "said")))(t)
	t.Cleanup(func() { _ = said.Close() })
	command.Stderr = said
	screen := built.Start(t, command)
	screen.WaitFor("ucenter@user", "worker-queue")

	return screen
}

var oneGoroutine = regexp.MustCompile(`(?m)^goroutine \d+ `)

// goroutines ends the program with a dump of its goroutines and counts them.
func goroutines(t *testing.T, screen *built.Terminal) int {
	t.Helper()
	screen.Signal(syscall.SIGQUIT)
	<-screen.Ended
	said := must.Get(os.ReadFile(screen.Command.Stderr.(*os.File).Name()))(t)
	n := len(oneGoroutine.FindAll(said, -1))
	must.That(t, n != 0, "the program reported no goroutines")
	return n
}
