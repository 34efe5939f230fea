package broker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// undoerVariable makes the test's program a process that undoes a record: "type url from to journal record".
const undoerVariable = "DLXTOP_TEST_UNDOER"

// undoer plans an undo, says so, and runs it when it is told to: as a prompt does.
func undoer() int {
	var kind, url, from, to, path string
	var id int64
	fmt.Sscan(os.Getenv(undoerVariable), &kind, &url, &from, &to, &path, &id)
	j := journal.New(journal.Options{Path: path})
	c, err := broker.New(broker.Options{URL: url, Journal: j})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var queues []*model.Queue
	for _, name := range []string{from, to} {
		queues = append(queues, described(model.QueueRef{VHost: "/", Name: name}, model.QueueType(kind)))
	}
	made, err := undoPlan(context.Background(), c, j, id, os.Getenv(undoerVariable+"_VERSION"), queues)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("planned")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	account, err := c.Undo(context.Background(), made, nil)
	fmt.Println("ends", account.Moved, account.Planned, err)
	return 0
}

// TestUndoAtOnce lets two to four undos of one record run at the same time, planned before any of them runs:
// everything comes back once.
func TestUndoAtOnce(t *testing.T) {
	t.Parallel()
	rounds := max(2, 5*size.Rounds(0))
	r := seed.Rand(t)
	for _, operation := range both {
		forEachKind(t, func(t *testing.T, kind model.QueueType) {
			t.Run(string(operation), func(t *testing.T) {
				s := newUndoRace(t, operation, kind)
				refused := 0
				for round := range rounds {
					refused += s.run(r, round%10 == 0)
					if t.Failed() {
						break
					}
				}
				t.Logf("%d races, %d undos were refused", rounds, refused)
			})
		})
	}
}

// undoRace is the queues of some races, and their journal.
type undoRace struct {
	*app
	operation plan.Operation
	kind      model.QueueType
	from, to  *model.Queue
	path      string
}

func newUndoRace(t *testing.T, operation plan.Operation, kind model.QueueType) *undoRace {
	a := newApp(t)
	return &undoRace{
		app: a, operation: operation, kind: kind, path: filepath.Join(t.TempDir(), "journal.db"),
		from: described(a.queue("failed", kind), kind), to: described(a.queue("worker", kind), kind),
	}
}

// client is a client with a view of its own on the journal, as another program has it.
func (s *undoRace) client() (*broker.Client, *journal.Journal) {
	j := journal.New(journal.Options{Path: s.path})
	s.Cleanup(func() { j.Close() })
	return newClient(s, broker.Options{URL: node.AMQP(), Journal: j}), j
}

// run is one race: of clients, or of processes. It returns how many undos were refused.
func (s *undoRace) run(r *rand.Rand, processes bool) (refused int) {
	s.Helper()
	n := 1 + r.IntN(100)
	s.publish(s.from.QueueRef, numbered(n)...)
	c, j := s.client()
	defer c.Close()
	defer j.Close()
	p := dropPlan(s, s.from, plan.Selection{}, n)
	if s.operation == plan.Replay {
		p = replayTo(s, s.from, s.to, plan.Selection{})
	}
	account, err := c.Execute(context.Background(), p, nil)
	if err != nil || account.Moved+account.Dropped != n {
		s.Fatal(err, account)
	}
	undos := make([]func() (plan.Account, error), 2+r.IntN(3))
	for i := range undos {
		if undos[i] = s.planned(account.JournalID); processes {
			undos[i] = s.process(account.JournalID)
		}
	}
	var all sync.WaitGroup
	back := make([]int, len(undos))
	for i := range undos {
		all.Go(func() {
			a, err := undos[i]()
			if back[i] = a.Moved; err != nil && !strings.Contains(err.Error(), "undo ") {
				s.Error(err)
			}
			if err != nil {
				back[i] = -1
			}
		})
	}
	all.Wait()
	total := 0
	for _, b := range back {
		if total += max(b, 0); b < 0 {
			refused++
		}
	}
	s.await(s.to.QueueRef, 0)
	got := map[string]int{}
	for _, d := range s.drain(s.from.QueueRef, s.ready(s.from.QueueRef)) {
		got[d.MessageId]++
	}
	for _, id := range count(n) {
		if got[id] != 1 {
			s.Errorf("%s came back %d times", id, got[id])
			break
		}
	}
	if len(got) != n || total != n {
		s.Errorf("%d different messages of %d came back; the undos tell of %d: %v", len(got), n, total, back)
	}
	return refused
}

// planned plans an undo by a client of its own, and returns what runs it.
func (s *undoRace) planned(id int64) func() (plan.Account, error) {
	c, j := s.client()
	p := planUndo(s, c, j, id, s.from, s.to)
	return func() (plan.Account, error) {
		defer j.Close()
		defer c.Close()
		return c.Undo(context.Background(), p, nil)
	}
}

// process plans an undo in a process of its own, and returns what runs it.
func (s *undoRace) process(id int64) func() (plan.Account, error) {
	command := exec.Command(os.Args[0])
	command.Env = append(
		os.Environ(),
		fmt.Sprintf("%s=%s %s %s %s %s %d", undoerVariable, s.kind, node.AMQP(), s.from.Name, s.to.Name, s.path, id),
		undoerVariable+"_VERSION="+node.Version(),
	)
	command.Stderr = os.Stderr
	in := must.Get(command.StdinPipe())(s)
	out := must.Get(command.StdoutPipe())(s)
	must.Do(s, command.Start())
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "planned" {
		s.Fatal(lines.Text())
	}
	return func() (a plan.Account, err error) {
		if _, err := in.Write([]byte("go\n")); err != nil {
			return a, err
		}
		lines.Scan()
		var refusal string
		if n, e := fmt.Sscanf(lines.Text(), "ends %d %d %s", &a.Moved, &a.Planned, &refusal); n < 3 {
			return a, fmt.Errorf("%q: %w", lines.Text(), e)
		}
		if refusal != "<nil>" {
			err = errors.New(lines.Text())
		}
		return a, errors.Join(err, command.Wait())
	}
}
