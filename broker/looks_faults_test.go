package broker_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/trouble"
)

// looker looks at queues again and again. At its end it prints how many looks were refused.
type looker struct {
	job    job
	Seed   uint64
	Times  int
	Insist int // percentage of looks that insist
	Queues []limitedQueue
}

type limitedQueue struct {
	Name  string
	Limit int64
}

func lookAgainAndAgain(o job) error {
	l, refused := o.Looks, 0
	l.job = o
	fmt.Println("begins")
	for r := rand.New(rand.NewPCG(l.Seed, 0)); l.Times > 0; {
		n, err := l.session(r)
		if err != nil {
			return err
		}
		refused += n
	}

	fmt.Println("refused", refused)
	return nil
}

// session looks several times with one client, like one run of dlxtop.
func (l *looker) session(r *rand.Rand) (refused int, err error) {
	j := journal.New(journal.Options{Path: l.job.Journal})
	defer j.Close()

	c, err := broker.New(broker.Options{
		URL: l.job.URL, Journal: j, Looks: journal.NewPeekLedger(l.job.Journal),
		Turns: journal.NewTurns("dlxtop test"),
	})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for range min(1+r.IntN(5), l.Times) {
		l.Times--
		q := l.Queues[r.IntN(len(l.Queues))]
		var why peek.RefusedLook
		var busy *trouble.Error // a broker that does not answer in time

		var used *model.InUse
		switch err := l.look(c, q, r); {
		case errors.As(err, &busy), errors.As(err, &used):
			l.Times++
		case errors.As(err, &why):
			refused++
		case err != nil:
			return refused, err
		}
	}

	return refused, nil
}

func (l *looker) look(c *broker.Client, q limitedQueue, r *rand.Rand) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	described := described(build.Ref(q.Name), model.Quorum)
	kind := r.IntN(3)
	want := peek.Want{Insist: r.IntN(100) < l.Insist, Limit: 1 + r.IntN(60), ForAction: kind > 0}
	p := peek.OfQueue(described, limitOf(q.Limit), model.BehaviourOf(model.ParseVersion(l.job.Version)), want)
	if !p.Allowed() {
		return &peek.LimitReached{Limit: p.Budget}
	}
	var rescued peek.Rescued
	var err error

	switch kind {
	case 0:
		var peeked peek.Peeked
		if peeked, err = c.Peek(ctx, p); err == nil {
			err = peeked.Messages.Close()
		}
		rescued = peeked.Rescued
	case 1:
		var read peek.Read
		read, err = c.Read(ctx, p, func(*message.Message) error { return nil })
		rescued = read.Rescued
	default:
		var account plan.Account
		none := plan.Selection{MessageID: "none"}
		drop := plan.Plan{Operation: plan.Drop, From: p.Queue, Acquire: p, Selection: none}
		account, err = c.Execute(ctx, drop.On(nil), nil)
		rescued = account.Rescued
	}

	if rescued.Lost > 0 {
		return fmt.Errorf("%s", rescued.Words())
	}

	return err
}

// start starts a looker, and returns its output.
func (l *looker) start(t *testing.T) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	l.job.Do, l.job.Looks = "look", l
	command := process(t, l.job)
	return command, started(t, command, "begins")
}

// TestLooksAtOnce runs three processes that look at quorum queues with delivery limits, at random: peeks, exports, and
// drops that match nothing; some insist. Afterwards each message is in its queue, once.
func TestLooksAtOnce(t *testing.T) {
	t.Parallel()
	name, url := person(t)
	looksAtOnce(t, node, name, url, max(20, 67*size.Rounds(0)))
}

// TestLooksAtOnceOnAStalledBroker does so while the broker keeps stopping for a moment. Then returned messages take
// long to be back: the next look must not be a consumer that is cancelled at that moment, because RabbitMQ then returns
// what is on its way to it, and drops what is at its limit.
func TestLooksAtOnceOnAStalledBroker(t *testing.T) {
	size.Long(t)
	t.Parallel()
	n := roughNode(t)
	const name, password = "stalled", "secret"
	for _, command := range [][]string{
		{"add_user", name, password}, {"set_permissions", name, ".*", ".*", ".*"}, {"set_user_tags", name, "monitoring"},
	} {
		said, err := n.Control(t.Context(), command...)
		must.That(t, err == nil, "%v\n%s", err, said)
	}

	t.Cleanup(func() { _, _ = n.Control(context.Background(), "delete_user", name) })
	_, address, _ := strings.Cut(n.AMQP(), "@")
	defer stalling(t, n)()
	looksAtOnce(t, n, name, "amqp://"+name+":"+password+"@"+address, max(40, 67*size.Rounds(0)))
}

// stalling stops a node for three tenths of a second again and again, until end is called.
func stalling(t *testing.T, n *demo.Node) (end func()) {
	t.Helper()
	said, err := n.Control(t.Context(), "eval", "os:getpid().")
	pid, e := strconv.Atoi(strings.Trim(strings.TrimSpace(said), `"`))
	err = cmp.Or(err, e)
	must.That(t, err == nil, "%v: %q", err, said)
	process := must.Get(os.FindProcess(pid))(t)
	over := make(chan struct{})
	done := make(chan struct{})

	go func() {
		defer close(done)
		for stopped := false; ; stopped = !stopped {
			signal := syscall.SIGSTOP
			length := 300 * time.Millisecond
			if stopped {
				signal = syscall.SIGCONT
				length = 150 * time.Millisecond
			}

			_ = process.Signal(signal)
			select {
			case <-time.After(length):
			case <-over:
				_ = process.Signal(syscall.SIGCONT)
				return
			}
		}
	}()

	return func() { close(over); <-done }
}

func looksAtOnce(t *testing.T, on *demo.Node, person, url string, looks int) {
	t.Helper()
	const processes, n = 3, 30
	a := newAppOn(t, on)
	from := rand.Uint64()
	r := rand.New(rand.NewPCG(from, 1))

	l := looker{job: job{URL: url, Version: on.Version(), Journal: journalPath(t)}, Times: looks, Insist: 40}
	for i, limit := range []int{1, 3, 5, deliveryLimit} {
		q, _ := a.limited(fmt.Sprint("q", i), limit)
		a.publish(q, numbered(n)...)
		a.deliver(q, n, r.IntN(limit+1))
		l.Queues = append(l.Queues, limitedQueue{q.Name, int64(limit)})
	}

	t.Logf("seed %d", from)
	var running []*exec.Cmd
	var outs []*bufio.Scanner
	for i := range processes {
		l.Seed = from + uint64(i)
		command, out := l.start(t)
		running = append(running, command)
		outs = append(outs, out)
	}

	refused := 0
	for i, out := range outs {
		said, some := "", 0
		for out.Scan() {
			said = out.Text()
		}
		_ = running[i].Wait()
		_, err := fmt.Sscanf(said, "refused %d", &some)
		assert.That(t, err == nil, "process %d said %q", i+1, said)
		refused += some
	}

	t.Logf("%d looks by %d processes, %d of them refused", looks*processes, processes, refused)
	a.until(func() error { return allGone(t, on, person) })
	j := openJournal(t, l.job.Journal)
	kept := keptOnly(t, j)
	for _, q := range l.Queues {
		described := described(build.Ref(q.Name), model.Quorum)
		seen := map[string]int{}
		a.until(func() error { // a busy broker returns what a look held some time after the connection is gone
			for _, d := range a.empty(described) {
				seen[d.MessageId]++
			}

			var missing []string
			for _, id := range count(n) {
				if seen[id] == 0 && !kept[q.Name+" "+id] {
					missing = append(missing, id)
				}
			}

			if missing != nil {
				return fmt.Errorf("%s: the messages %v are neither there nor in the journal, which says of them:%s", q.Name,
					missing, journalSays(t, j, q.Name, missing))
			}
			return nil
		})

		for _, id := range count(n) {
			assert.That(t, seen[id] <= 1, "%s: message %s is there %d times", q.Name, id, seen[id])
		}
	}
}

// keptOnly are rescued messages in the journal, as "queue id", without a confirmed copy: a busy broker may not answer.
func keptOnly(t *testing.T, j *journal.Journal) map[string]bool {
	t.Helper()
	kept := map[string]bool{}
	eachEntry(t, j, func(r *plan.Record, e *plan.Entry) {
		if e.Outcome != plan.Moved && e.Message != nil {
			kept[r.From.Name+" "+e.MessageID] = true
		}
	})

	if len(kept) > 0 {
		t.Logf("%d messages may be in the journal only", len(kept))
	}

	return kept
}

// journalSays returns what the journal has about messages of a queue.
func journalSays(t *testing.T, j *journal.Journal, queue string, ids []string) (said string) {
	t.Helper()
	eachEntry(t, j, func(r *plan.Record, e *plan.Entry) {
		if r.From.Name == queue && slices.Contains(ids, e.MessageID) {
			said += fmt.Sprintf("\n%s %d: %s %s %s", r.Operation, r.ID, e.MessageID, e.Outcome, e.Reason)
		}
	})

	return said
}

// TestKilledLooks kills processes that look at a queue until its limit allows no more. Each kill counts as a return,
// and no message is lost.
func TestKilledLooks(t *testing.T) {
	t.Parallel()
	const n, tries = 30, 8
	r := seed.Rand(t)
	for range size.Rounds(1) {
		a := newApp(t)
		q, _ := a.limited(fmt.Sprint(r.Uint32()), deliveryLimit)
		a.publish(q, numbered(n)...)
		person, url := person(t)
		l := looker{job: job{URL: url, Journal: journalPath(t)}, Times: 1000}
		l.Queues = []limitedQueue{{q.Name, deliveryLimit}}
		for range tries {
			l.Seed = r.Uint64()
			command, out := l.start(t)
			killer := time.AfterFunc(seed.Within(r, 400*time.Millisecond), func() { _ = command.Process.Kill() })
			for out.Scan() {
				assert.That(t, !strings.HasPrefix(out.Text(), "error"), "seed %d: %s", l.Seed, out.Text())
			}
			_ = command.Wait()
			killer.Stop()
			assert.That(t, !command.ProcessState.Exited(), "seed %d: it ended before it was killed", l.Seed)
			a.until(func() error { return allGone(t, node, person) })
			a.await(q, n)
		}

		wantAll(t, a, q, n)
		a.deleteQueue(q.Name)
	}
}
