package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"dlxtop/cli"
	"dlxtop/model"
)

// TestLooksOfManyRuns: each look at a quorum queue uses up its delivery limit, which is 20 by default from 4.0. However
// many runs there are, and each knows of the others only what is on the disk: no message is lost, and a run that would
// use the limit up is refused with the number.
func TestLooksOfManyRuns(t *testing.T) {
	t.Parallel()
	const n, runs, limit = 25, 24, 20
	counts := model.BehaviourOf(model.ParseVersion(node.Version())).ReturnCountsAsDelivery
	export := func(v *vhost, run int) []string {
		return []string{"export", "q", filepath.Join(v.t.TempDir(), fmt.Sprint(run))}
	}
	args := func(args ...string) func(*vhost, int) []string { return func(*vhost, int) []string { return args } }
	for _, test := range []struct {
		name string
		args func(*vhost, int) []string
		free bool // it needs no look
		says string
	}{
		{"peek", args("peek", "q"), false, "this look used 1: "},
		{"export", export, false, "exported"},
		{
			"replay --dry-run", args("replay", "q", "--to", "exchange:amq.direct/k", "--dry-run"),
			false, "this dry run used 1 look: ",
		},
		{"drop --filter", args("drop", "q", "--filter", `body == "no such body"`, "--yes"), false, "no message matches"},
		{"move --dry-run", args("move", "q", "--to", "queue:other", "--dry-run"), true, "this dry run used no look"},
		{"drop --dry-run", args("drop", "q", "--dry-run"), true, "this dry run used no look"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := newVHost(t)
			v.declare("q", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(limit)})
			v.declare("other", nil)
			if err := v.channel.QueueBind("other", "k", "amq.direct", false, nil); err != nil {
				t.Fatal(err)
			}
			v.fill("q", n)
			refused := 0
			for run := range runs {
				r := v.run(test.args(v, run)...)
				switch {
				case r.status == cli.ExitRefused:
					refused++
					if !strings.Contains(r.stderr, "2 looks left of 20") {
						t.Errorf("run %d: %s", run+1, r.stderr)
					}
				case counts && r.status != cli.ExitDone, counts && !strings.Contains(r.stderr, test.says):
					t.Errorf("run %d: exit status %d: %s", run+1, r.status, r.stderr)
				}
			}
			want := 0
			if counts && !test.free {
				want = runs - limit + 2
			}
			// On a busy machine a look can cost two: a consumer that is cancelled while a message is on its way.
			if refused < want || want == 0 && refused > 0 || refused > want+3 {
				t.Errorf("%d runs were refused, want the last %d", refused, want)
			}
			if got := v.count("q"); got != n {
				t.Errorf("%d of %d messages are left", got, n)
			}
			if d, ok, err := v.channel.Get("q", true); err != nil || !ok || counts && test.free && d.Redelivered {
				t.Errorf("the first message: %v %v", err, d.Redelivered)
			}
		})
	}
}

// TestReadOnlyLooks: on a read-only connection nobody can agree to rescues, and what is at its limit is not lost
// either.
func TestReadOnlyLooks(t *testing.T) {
	t.Parallel()
	if !model.BehaviourOf(model.ParseVersion(node.Version())).ReturnCountsAsDelivery {
		return // nothing is refused: TestLooksOfManyRuns
	}
	v := newVHost(t)
	v.declare("q", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(3)})
	v.fill("q", 2)
	for look := range 5 {
		r := v.run("peek", "q", "--read-only", "--insist")
		if want := cli.ExitRefused; look > 0 && r.status != want || strings.Contains(r.stderr, "--insist") {
			t.Errorf("look %d: exit status %d: %s", look+1, r.status, r.stderr)
		}
	}
	if got := v.count("q"); got != 2 {
		t.Errorf("%d of 2 messages are left", got)
	}
}
