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
	"path/filepath"
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
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
)

// lookerVariable makes the test binary a process that looks at queues again and again: "url version dir seed looks
// insist queue:limit …". At its end it prints how many looks there were, and how many were refused.
const lookerVariable = "DLXTOP_TEST_LOOKER"

// looker is such a process.
type looker struct {
	url, version, dir string
	seed              uint64
	looks             int
	insist            int // percentage of looks that insist
	queues            []limitedQueue
}

type limitedQueue struct {
	name  string
	limit int64
}

func (l *looker) String() string {
	words := fmt.Sprint(l.url, " ", l.version, " ", l.dir, " ", l.seed, " ", l.looks, " ", l.insist)
	for _, q := range l.queues {
		words += fmt.Sprintf(" %s:%d", q.name, q.limit)
	}
	return words
}

func runLooker() int {
	var l looker
	words := strings.Fields(os.Getenv(lookerVariable))
	_, err := fmt.Sscan(strings.Join(words[:6], " "), &l.url, &l.version, &l.dir, &l.seed, &l.looks, &l.insist)
	for _, word := range words[6:] {
		name, limit, _ := strings.Cut(word, ":")
		q := limitedQueue{name: name}
		_, e := fmt.Sscan(limit, &q.limit)
		err = errors.Join(err, e)
		l.queues = append(l.queues, q)
	}
	refused := 0
	fmt.Println("begins")
	for r := rand.New(rand.NewPCG(l.seed, 0)); l.looks > 0 && err == nil; {
		var n int
		if n, err = l.session(r); err == nil {
			refused += n
		}
	}
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("refused", refused)
	return 0
}

// session looks several times with one client, like one run of dlxtop.
func (l *looker) session(r *rand.Rand) (refused int, err error) {
	path := filepath.Join(l.dir, "journal.db")
	j := journal.New(journal.Options{Path: path})
	defer j.Close()
	c, err := broker.New(broker.Options{URL: l.url, Journal: j, Looks: journal.NewLooks(path)})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for range min(1+r.IntN(5), l.looks) {
		l.looks--
		q := l.queues[r.IntN(len(l.queues))]
		var why peek.RefusedLook
		var busy *model.ConnectError // a broker that does not answer in time
		switch err := l.look(c, q, r); {
		case errors.As(err, &busy), errors.Is(err, model.ErrBeingRead):
			l.looks++
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
	described := described(model.QueueRef{VHost: "/", Name: q.name}, model.Quorum)
	want := peek.Want{Insist: r.IntN(100) < l.insist, Limit: 1 + r.IntN(60)}
	kind := r.IntN(3)
	if kind > 0 {
		want.ForAction = true
	}
	p := peek.OfQueue(described, limitOf(q.limit), model.BehaviourOf(model.ParseVersion(l.version)), want)
	if !p.Allowed() {
		return &peek.LimitReached{Queue: p.Queue, Limit: p.Budget}
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
	command := process(lookerVariable, l)
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
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for stopped := false; ; stopped = !stopped {
			signal, length := syscall.SIGSTOP, 300*time.Millisecond
			if stopped {
				signal, length = syscall.SIGCONT, 150*time.Millisecond
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
	l := looker{url: url, version: on.Version(), dir: t.TempDir(), looks: looks, insist: 40}
	for i, limit := range []int{1, 3, 5, deliveryLimit} {
		q, _ := a.limited(fmt.Sprint("q", i), limit)
		a.publish(q.QueueRef, numbered(n)...)
		a.deliver(q.QueueRef, n, r.IntN(limit+1))
		l.queues = append(l.queues, limitedQueue{q.Name, int64(limit)})
	}
	t.Logf("seed %d", from)
	var running []*exec.Cmd
	var outs []*bufio.Scanner
	for i := range processes {
		l.seed = from + uint64(i)
		command, out := l.start(t)
		running, outs = append(running, command), append(outs, out)
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
	kept := keptOnly(t, filepath.Join(l.dir, "journal.db"))
	for _, q := range l.queues {
		ref := model.QueueRef{VHost: "/", Name: q.name}
		seen := map[string]int{}
		a.until(func() error { // a busy broker returns what a look held some time after the connection is gone
			for _, d := range a.empty(ref) {
				seen[d.MessageId]++
			}
			var missing []string
			for _, id := range count(n) {
				if seen[id] == 0 && !kept[q.name+" "+id] {
					missing = append(missing, id)
				}
			}
			if missing != nil {
				return fmt.Errorf("%s: the messages %v are neither there nor in the journal, which says of them:%s", q.name,
					missing, journalSays(t, filepath.Join(l.dir, "journal.db"), q.name, missing))
			}
			return nil
		})
		for _, id := range count(n) {
			assert.That(t, seen[id] <= 1, "%s: message %s is there %d times", q.name, id, seen[id])
		}
	}
}

// eachKept iterates over everything that a journal has of messages.
func eachKept(t *testing.T, path string, each func(*plan.Record, *plan.Entry)) {
	t.Helper()
	j := journal.New(journal.Options{Path: path})
	defer j.Close()
	records := must.Get(j.Records(t.Context(), 0))(t)
	for _, r := range records {
		must.Do(t, j.Entries(t.Context(), r.ID, func(e *plan.Entry) error { each(&r, e); return nil }))
	}
}

// keptOnly are rescued messages in the journal, as "queue id", without a confirmed copy: a busy broker may not answer.
func keptOnly(t *testing.T, path string) map[string]bool {
	t.Helper()
	kept := map[string]bool{}
	eachKept(t, path, func(r *plan.Record, e *plan.Entry) {
		if e.Outcome != plan.Moved && e.Message != nil {
			kept[r.From.Name+" "+e.MessageID] = true
		}
	})
	if len(kept) > 0 {
		t.Logf("%d messages may be in the journal only", len(kept))
	}
	return kept
}

// journalSays is what the journal has about messages of a queue.
func journalSays(t *testing.T, path, queue string, ids []string) (said string) {
	t.Helper()
	eachKept(t, path, func(r *plan.Record, e *plan.Entry) {
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
		a.publish(q.QueueRef, numbered(n)...)
		person, url := person(t)
		l := looker{url: url, version: node.Version(), dir: t.TempDir(), looks: 1000}
		l.queues = []limitedQueue{{q.Name, deliveryLimit}}
		for range tries {
			l.seed = r.Uint64()
			command, out := l.start(t)
			killer := time.AfterFunc(seed.Within(r, 400*time.Millisecond), func() { _ = command.Process.Kill() })
			for out.Scan() {
				assert.That(t, !strings.HasPrefix(out.Text(), "error"), "seed %d: %s", l.seed, out.Text())
			}
			_ = command.Wait()
			killer.Stop()
			assert.That(t, !command.ProcessState.Exited(), "seed %d: it ended before it was killed", l.seed)
			a.until(func() error { return allGone(t, node, person) })
			a.await(q.QueueRef, n)
		}
		wantAll(t, a, q.QueueRef, n)
		a.deleteQueue(q.Name)
	}
}
