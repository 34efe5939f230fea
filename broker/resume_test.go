package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/resume"
)

// resumeWant is what the program gives to plan a resume.
func resumeWant(ctx context.Context, c *broker.Client, j *journal.Journal, chain []plan.Record) resume.Want {
	return resume.Want{
		Chain: chain, User: c.User(), Broker: c.Address(), Insist: true,
		Record:  func(id int64) (plan.Record, error) { return j.Record(ctx, id) },
		Entries: func(id int64, each func(*plan.Entry) error) error { return j.Entries(ctx, id, each) },
		Look: func(made peek.Plan, each func(*message.Message) error) (string, error) {
			read, err := c.Read(ctx, made, each)
			return read.Stopped, err
		},
	}
}

// resume goes on with a record as the program does, on a topology of these queues.
func resumed(
	ctx context.Context,
	c *broker.Client,
	j *journal.Journal,
	id int64,
	api, version string,
	queues ...*model.Queue,
) (resume.Plan, plan.Account, error) {
	chain, err := j.Chain(ctx, id)
	if err != nil {
		return resume.Plan{}, plan.Account{}, err
	}
	source, err := mgmt.New(mgmt.Options{URL: api})
	if err != nil {
		return resume.Plan{}, plan.Account{}, err
	}
	defer source.Close()
	var refs []model.QueueRef
	for _, q := range queues {
		refs = append(refs, q.QueueRef)
	}
	if err := c.AwaitGone(ctx, &chain[len(chain)-1], source.Connections, refs...); err != nil {
		return resume.Plan{}, plan.Account{}, err
	}
	want := resumeWant(ctx, c, j, chain)
	topology := topologyOf(version, queues)
	p, err := resume.Of(topology, want)
	if err != nil || p.Refusal.Refused() {
		return p, plan.Account{}, err
	}
	read, err := build.ThroughJSON(p)
	if err != nil {
		return p, plan.Account{}, err
	}
	account, err := c.Resume(ctx, read.On(topology, want), nil)
	return p, account, err
}

// resumer goes on with the last record of a journal. The victim's variable says of what.
func resumer(kind, url, from, to, path string) int {
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
	records, err := j.Records(context.Background(), 1)
	if err != nil || len(records) == 0 {
		fmt.Println("no record", err)
		return 1
	}
	fmt.Println("begins")
	made, account, err := resumed(
		context.Background(),
		c,
		j,
		records[0].ID,
		os.Getenv(victimVariable+"_API"),
		os.Getenv(victimVariable+"_VERSION"),
		queues...)
	why := ""
	if len(made.Undecided) > 0 {
		why = made.Undecided[0].Why
	}
	fmt.Printf(
		"ends %d done, %d arrived, %d unsent, %d undecided %q; moved %d; %v %q %q\n",
		made.Done,
		made.Acks(),
		made.Unsent,
		len(made.Undecided),
		why,
		account.Moved+account.Dropped,
		err,
		made.Refusal.Words(),
		account.Stopped,
	)
	return 0
}

// killedRun is an action that is killed, and gone on with until it comes to its end.
type killedRun struct {
	*app
	operation plan.Operation
	kind      model.QueueType
	n         int
	from, to  *model.Queue
	path      string
}

func newKilledRun(t *testing.T, operation plan.Operation, kind model.QueueType, n int) *killedRun {
	a := newApp(t)
	k := &killedRun{
		app: a, operation: operation, kind: kind, n: n, path: filepath.Join(t.TempDir(), "journal.db"),
		from: described(a.queue("failed", kind), kind), to: described(a.queue("worker", kind), kind),
	}
	k.publish(k.from.QueueRef, k.messages()...)
	return k
}

// twinEvery is the distance of twins: message 8 repeats message 7, 16 repeats 15.
const twinEvery = 8

func (k *killedRun) messages() []amqp.Publishing {
	messages := numbered(k.n)
	for i := twinEvery; i < len(messages); i += twinEvery {
		messages[i] = messages[i-1]
	}
	return messages
}

// run runs one process, and kills it so long after it began.
func (k *killedRun) run(
	t *testing.T,
	operation plan.Operation,
	moment time.Duration,
) (ran time.Duration, said string) {
	command := victimOf(operation, k.kind, node.AMQP(), k.from.Name, k.to.Name, k.path)
	command.Env = append(command.Env, victimVariable+"_API="+node.API())
	return runVictim(t, moment, command)
}

// whole checks that each message is where it belongs, once.
func (k *killedRun) whole(t *testing.T) (twice, lost int) {
	t.Helper()
	where := k.to.QueueRef
	if k.operation == plan.Drop { // and comes back when all of it is undone
		j := journal.New(journal.Options{Path: k.path})
		defer j.Close()
		c := journaledBy(t, j, false)
		records := must.Get(j.Records(t.Context(), 0))(t)
		k.await(k.from.QueueRef, 0)
		for _, r := range slices.Backward(records) {
			if made := planUndo(t, c, j, r.ID, k.from); !made.Refusal.Refused() {
				undo(t, c, j, r.ID, k.from)
			}
		}
		where = k.from.QueueRef
	} else if k.operation == sparing {
		k.await(k.from.QueueRef, (k.n-1)/twinEvery)
	} else {
		k.await(k.from.QueueRef, 0)
	}
	want, got := map[string]int{}, map[string]int{}
	for _, m := range k.messages() {
		if want[m.MessageId]++; k.operation == sparing {
			want[m.MessageId] = 1
		}
	}
	for _, d := range k.drain(where, k.ready(where)) {
		got[d.MessageId]++
	}
	for id, n := range want {
		twice += max(got[id]-n, 0)
		lost += max(n-got[id], 0)
	}
	assert.That(t, twice+lost == 0, "%d messages too many, %d are missing", twice, lost)
	return twice, lost
}

// TestResumed kills replays, moves and drops at random moments, and what goes on with them, too: at the end each
// message is where it belongs once, twins as often as they were there.
func TestResumed(t *testing.T) {
	t.Parallel()
	rounds := (size.Rounds(1) + 2) / 3
	n := size.Of(1000, 5000)
	r := seed.Rand(t)
	for _, operation := range []plan.Operation{plan.Replay, sparing, plan.Move, plan.Drop} {
		forEachKind(t, func(t *testing.T, kind model.QueueType) {
			t.Run(string(operation), func(t *testing.T) {
				calibrated := newKilledRun(t, operation, kind, n)
				took, said := calibrated.run(t, operation, time.Minute)
				must.That(t, strings.HasPrefix(said, "ends"), "%v", said)
				calibrated.whole(t)
				var killed, twice, lost int
				round := 0
				for ; round < rounds || killed < rounds && round < 10*rounds; round++ { // some end before they are killed
					t.Run(fmt.Sprint(round), func(t *testing.T) {
						k := newKilledRun(t, operation, kind, n)
						kills, more, less := k.killAndResume(t, r, &took)
						killed, twice, lost = killed+kills, twice+more, lost+less
					})
				}
				assert.That(t, killed >= rounds, "%d kills in %d rounds", killed, round)
				t.Logf("%s, %s: %d rounds, %d kills; %d messages, doubled %d, lost %d", operation, kind, round, killed,
					round*n, twice, lost)
			})
		})
	}
}

// killAndResume kills an action, half of the time also the first resume, and goes on until it ends. took is how long an
// action takes: one that ends before it is killed tells better.
func (k *killedRun) killAndResume(t *testing.T, r *rand.Rand, took *time.Duration) (kills, twice, lost int) {
	moments := []time.Duration{seed.Within(r, *took)}
	if r.IntN(2) == 0 {
		moments = append(moments, seed.Within(r, *took))
	}
	operation := k.operation
	for tries := 0; tries < 6; tries++ {
		moment := time.Minute
		if len(moments) > 0 {
			moment, moments = moments[0], moments[1:]
		}
		ran, said := k.run(t, operation, moment)
		switch {
		case said == "":
			kills++
		case operation != "resume" && strings.HasPrefix(said, "ends"):
			t.Logf("it ended before it was killed")
			*took = min(*took, ran)
		default:
			t.Logf("%s", said)
		}
		if said != "" {
			break
		}
		if records, err := k.records(); err != nil || len(records) == 0 {
			continue // it was killed before it began
		}
		operation = "resume"
	}
	if records, _ := k.records(); len(records) > 0 && records[0].Unfinished() {
		t.Errorf("it was not resumed: %+v", records[0])
	}
	twice, lost = k.whole(t)
	return kills, twice, lost
}

func (k *killedRun) records() ([]plan.Record, error) {
	j := journal.New(journal.Options{Path: k.path})
	defer j.Close()
	records, err := j.Records(context.Background(), 0)
	return records, errors.Join(err)
}
