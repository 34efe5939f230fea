package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// sampleContract is the part of a message before or after a program that a test checks.
type sampleContract struct {
	Position int
	Body     string
}

// UnmarshalJSON takes the checked members: the others are those of peek.
func (s *sampleContract) UnmarshalJSON(text []byte) error {
	type members sampleContract
	return json.Unmarshal(text, (*members)(s))
}

// accountContract is the contract's JSON for replay and drop.
type accountContract struct {
	Operation, From, To, Cause string
	Planned                    *int
	Edit                       *struct {
		Program                    string
		Changed, Unchanged, Failed int
		Reasons                    []struct {
			Why      string
			Messages int
		}
		Samples []struct {
			Position      int
			MessageID     string `json:"message_id"`
			Before, After sampleContract
			Differences   []string
		}
	}
	Resets []struct {
		Does, Name    string
		Was, Most, Is int64
		Messages      int
	}
	Moved, Dropped, Refused, Returned, Unknown *int
	Gone, Held                                 int
	Stopped, Unguarded                         string
	JournalID                                  int64 `json:"journal_id"`
	ElapsedMS                                  *int  `json:"elapsed_ms"`
	Total                                      int   `json:"problems_total"`
	Problems                                   []struct {
		MessageID                    string `json:"message_id"`
		Fingerprint, Outcome, Reason string
	}
	Copies []struct {
		Queue    string
		In       []string
		Messages int
		AtMost   bool `json:"at_most"`
	}
	Strayed []struct {
		Queue, Exchange string
		RoutingKey      string `json:"routing_key"`
		Messages        int
	}
	Recipients []string
	Ways       []struct {
		Exchange      string
		RoutingKey    string `json:"routing_key"`
		Messages      int
		Why, Evidence string
	}
	Strips, Keeps, Adds []string
	Canary              string
	CameBack            *int `json:"came_back"`
	Warnings            []string
	Rescued             int
	LooksLeft           *int64 `json:"looks_left"`
}

// counts is planned, moved, dropped, refused, returned, unknown.
func (a accountContract) counts() string {
	return fmt.Sprint(*a.Planned, *a.Moved, *a.Dropped, *a.Refused, *a.Returned, *a.Unknown)
}

var pubsubQueues = []string{
	"ucenter@user", "ucenter@user@retry", "ucenter@user@failed", "ucenter@enterprise", "ucenter@enterprise@retry",
	"ucenter@enterprise@failed", "user-monitor", "user-monitor@retry", "user-monitor@failed",
}

func TestDryRunChangesNothing(t *testing.T) {
	v := newVHost(t)
	v.declarePubsub()
	before := v.counts(pubsubQueues...)
	const from = "ucenter@user@failed"
	r := v.run("replay", from, "--dry-run").ends(t, cli.ExitDone)
	plan := decode[accountContract](t, r)
	assert.Equal(t, plan.Operation, "replay", "the plan is %s", r.out)
	assert.Equal(t, plan.From, from)
	assert.Equal(t, plan.To, "exchange:master/ucenter@user")
	assert.Equal(t, plan.counts(), fmt.Sprint(before[from], 0, 0, 0, 0, 0))
	assert.Equal(t, strings.Join(plan.Recipients, " "), "ucenter@user")
	assert.Contains(t, strings.Join(plan.Strips, " "), "x-death")
	assert.That(t, plan.Warnings != nil, "the plan strips %v and warns %v", plan.Strips, plan.Warnings)

	for _, args := range [][]string{
		{"drop", from, "--dry-run"},
		{"replay", from, "--dry-run", "--to", "origin"},
		{"replay", from, "--dry-run", "--limit", "1", "-o", "table"},
		{"drop", from, "--dry-run", "--read-only"},
	} {
		v.run(args...).ends(t, cli.ExitDone)
	}

	wide := decode[accountContract](t, v.run("replay", from, "--dry-run", "--to", "exchange:master/user.created"))
	assert.That(t, strings.Join(wide.Recipients, " ") == "ucenter@user user-monitor",
		"as first published it would reach %v", wide.Recipients)
	// The broker requeues what a look held shortly after the channel is closed.
	must.Await(t, fmt.Sprintf("the queues hold %v as before", before),
		func() bool { return maps.Equal(before, v.counts(pubsubQueues...)) })
	for _, m := range v.take(from) {
		assert.That(t, m.Headers["x-death"] != nil, "message %s lost its headers", m.MessageId)
	}
}

func TestReplayOne(t *testing.T) {
	v := newVHost(t)
	v.declarePubsub()
	const from = "ucenter@user@failed"
	third := decode[peekContract](t, v.run("peek", from, "-n", "3")).Messages[2]
	want := v.counts(pubsubQueues...)
	r := v.run("replay", from, "--id", *third.MessageID, "--yes").ends(t, cli.ExitDone)
	account := decode[accountContract](t, r)
	assert.Equal(t, account.counts(), "1 1 0 0 0 0", "the account is %s", r.out)
	assert.Equal(t, account.To, "exchange:master/ucenter@user")
	assert.That(t, account.ElapsedMS != nil, "the account is %s", r.out)
	assert.That(t, account.Problems == nil, "the account is %s", r.out)
	want[from]--
	want["ucenter@user"]++
	got := v.counts(pubsubQueues...)
	assert.That(t, maps.Equal(got, want), "the queues have %v instead of %v", got, want)
	moved := v.take("ucenter@user")[0]
	assert.Equal(t, moved.MessageId, *third.MessageID, "moved was %+v", moved)
	assert.Equal(t, string(moved.Body), *third.Body)
	assert.Equal(t, moved.Exchange, "master")
	assert.Equal(t, moved.RoutingKey, "ucenter@user")

	for key := range moved.Headers {
		assert.That(t, !strings.HasPrefix(key, "x-death"), "the header %s is still there", key)
		assert.That(t, !strings.HasPrefix(key, "x-first-death"), "the header %s is still there", key)
		assert.That(t, !strings.HasPrefix(key, "x-last-death"), "the header %s is still there", key)
	}

	assert.That(t, moved.Headers["x-orig-routing-key"] == third.Headers["x-orig-routing-key"],
		"a header of the application changed: %v", moved.Headers)
}

func TestReplayAndDropMany(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 10)
	for _, test := range must.Cases[struct {
		Args                 []string
		Counts, Failed, Work string
	}](t, "testdata/actions.toml") {
		v.run(append(test.Args, "--yes")...).ends(t, cli.ExitDone).account(t, test.Counts)
		v.holds("failed", len(strings.Fields(test.Failed)))
		assert.Equal(t, decodeIDs(t, v.run("peek failed")), test.Failed, "%v leaves", test.Args)
		assert.Equal(t, ids(v.take("worker")), test.Work, "%v moves", test.Args)
	}
}

func decodeIDs(t *testing.T, r result) string {
	t.Helper()
	var names []string
	for _, m := range decode[peekContract](t, r).Messages {
		names = append(names, *m.MessageID)
	}
	return strings.Join(names, " ")
}

func TestTableOfAnAction(t *testing.T) {
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 3)
	v.run("replay failed --to queue:worker --yes -o table").ends(t, cli.ExitDone,
		"reaches: "+v.name+"/worker").shows(t, "replay "+v.name+"/failed: 3 planned, 3 moved to queue:worker")
}

func TestWhatCannotBeReplayed(t *testing.T) {
	v := newVHost(t, "failed")
	v.declare("full", amqp.Table{"x-max-length": 1, "x-overflow": "reject-publish"})
	v.fill("failed", 3)
	for _, to := range []string{"queue:missing", "exchange:missing/key"} {
		v.run("replay failed --to", to, "--yes").refuses(t, cli.ExitRefused, "missing")
	}

	v.holds("failed", 3)
	r := v.run("replay failed --to queue:full --yes")
	account := decode[accountContract](t, r)
	assert.Equal(t, r.status, cli.ExitRefused, "exit status %d: %s%s", r.status, r.out, r.stderr)
	assert.That(t, *account.Moved != 0, "exit status %d: %s%s", r.status, r.out, r.stderr)
	assert.Equal(t, *account.Moved+*account.Refused, 3)
	must.That(t, len(account.Problems) > 0, "exit status %d: %s%s", r.status, r.out, r.stderr)
	assert.Equal(t, account.Total, *account.Refused)
	assert.Equal(t, account.Problems[0].Outcome, "refused")
	failed := v.count("failed")
	full := v.count("full")
	assert.Equal(t, failed, *account.Refused, "%d are in failed and %d in full, by the account %s", failed, full, r.out)
	assert.Equal(t, full, *account.Moved)
}

// TestInterruptedReplayLosesNoMessage stops a slow replay: its account is printed, and no message is lost.
func TestInterruptedReplayLosesNoMessage(t *testing.T) {
	v := newVHost(t, "failed", "worker")
	v.fill("failed", 60)
	r := v.interrupted("worker", 1, "replay failed --to queue:worker --rate 5/s --yes")
	account := decode[accountContract](t, r.ends(t, cli.ExitInterrupted))
	moved := *account.Moved
	assert.That(t, moved != 0, "the account is %s", r.out)
	assert.That(t, moved < 60, "the account is %s", r.out)
	must.Await(t, "all that was not moved is back", func() bool { return v.count("failed")+v.count("worker") >= 60 })
	failed := v.count("failed")
	worker := v.count("worker")
	assert.That(t, worker >= moved, "%d are in failed and %d in worker, by the account %s", failed, worker, r.out)
	assert.That(t, worker <= moved+*account.Unknown, "%d are in failed and %d in worker, by the account %s", failed,
		worker, r.out)
	assert.That(t, failed+worker <= 60+*account.Unknown, "%d are in failed and %d in worker, by the account %s", failed,
		worker, r.out)
}

// A terminal gets a table, a script JSON.
func TestFormatOnATerminal(t *testing.T) {
	v := newVHost(t, "q")
	v.fill("q", 1)
	terminal(t, nil, "MESSAGE ID", "", v.on("peek q")...).ends(t, cli.ExitDone).shows(t, "m-1")
	r := v.run("peek q")
	assert.That(t, json.Valid([]byte(r.out)), "a script gets %s", r.out)
}

func TestMove(t *testing.T) {
	v := newVHost(t)
	v.declarePubsub()
	v.declare("parking", nil)
	const from = "ucenter@user@failed"
	n := v.count(from)
	dry := v.run("move", from, "--to", "queue:parking", "--dry-run").ends(t, cli.ExitDone)
	plan := decode[accountContract](t, dry)
	assert.Equal(t, plan.Operation, "move", "the plan is %s", dry.out)
	assert.Equal(t, plan.To, "queue:parking")
	assert.Equal(t, strings.Join(plan.Recipients, " "), "parking")
	assert.Contains(t, strings.Join(plan.Keeps, " "), "x-death")
	assert.Equal(t, len(plan.Strips), 0)
	assert.Equal(t, len(plan.Adds), 0)
	must.Equal(t, len(plan.Ways), 1)
	assert.Equal(t, plan.Ways[0].RoutingKey, "parking")
	counted := decode[accountContract](t, v.run("move", from, "--to", "queue:ucenter@user@retry", "--dry-run"))
	assert.Contains(t, strings.Join(counted.Strips, " "), "x-death")
	assert.Equal(t, len(counted.Keeps), 0, "into a buffer it strips %v and keeps %v", counted.Strips, counted.Keeps)

	for _, test := range []struct{ to, want string }{
		{"queue:nope", "there is no queue TestMove/nope"},
		{"queue:" + from, "the queue they are in"},
	} {
		v.run("move", from, "--to", test.to, "--yes").ends(t, cli.ExitRefused, test.want)
		v.holds(from, n)
	}

	r := v.run("move", from, "--to", "queue:parking", "--limit", "2", "--yes").ends(t, cli.ExitDone)
	account := r.account(t, "2 2 0 0 0 0")
	must.That(t, account.JournalID != 0, "no record: %s %s", r.out, r.stderr)
	v.holds("parking", 2)
	v.holds(from, n-2)
	v.run("journal show", fmt.Sprint(account.JournalID), "-o", "table").shows(t, "CHANGED",
		"routing key parking instead of")
	v.run("journal undo", fmt.Sprint(account.JournalID), "--yes").ends(t, cli.ExitDone)
	v.holds("parking", 0)
	v.holds(from, n)

	for _, m := range v.take(from) {
		assert.That(t, m.Headers["x-death"] != nil, "%s lost its history", m.MessageId)
	}
}

// A replay that fails again is reported, with its exit status, and by the journal later.
func TestFollow(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed")
	v.declare("worker", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "failed"})
	v.fill("failed", 2)
	v.consume("worker", func(d amqp.Delivery) { _ = d.Reject(false) })
	r := v.run("replay failed --to queue:worker --follow --yes -o json")

	var account struct {
		Journal int64 `json:"journal_id"`
		After   struct {
			Sent, Taken int64
			Back        int64 `json:"came_back"`
			Over        bool
		}
	}

	must.Do(t, json.Unmarshal([]byte(r.out), &account))
	s := account.After
	assert.Equal(t, r.status, cli.ExitRefused, "exit status %d: %s%s", r.status, r.out, r.stderr)
	assert.Equal(t, s.Sent, 2)
	assert.Equal(t, s.Taken, 2)
	assert.Equal(t, s.Back, 2)
	assert.That(t, s.Over, "exit status %d: %s%s", r.status, r.out, r.stderr)
	v.run("journal show", fmt.Sprint(account.Journal), "-o", "table").says(t, "afterwards: all taken").shows(t,
		"2 moved; 2 came back")
}
