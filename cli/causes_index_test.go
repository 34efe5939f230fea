package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/kept"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/ports"
)

// What was read once, where a look has a cost, is shown without another look, as of its time: until messages leave.
func TestCausesOfEarlierReadings(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("mail.failed", nil)
	v.declare("lots.failed", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 30})
	v.failing("mail.failed", "order", "ValueError: no order %", 3)
	v.failing("lots.failed", "lot", "KeyError: lot %", 4)
	dir := filepath.Join(t.TempDir(), "causes")
	causes := func(args ...string) (causesContract, result) {
		t.Helper()
		var out, errs bytes.Buffer
		p := program(strings.NewReader(""), &out, &errs)
		p.Index = func(config.Connection) ports.Index { return kept.Index{Dir: dir} }
		status := p.Run(t.Context(), v.asJSON(append([]string{"causes"}, args...)))
		r := result{status, out.String(), errs.String()}
		must.That(t, status == cli.ExitDone, "exit status %d: %s", status, r.stderr)
		return decode[causesContract](t, result{status, strings.TrimSpace(r.out), r.stderr}), r
	}
	counts := model.BehaviourOf(model.ParseVersion(node.Version())).ReturnCountsAsDelivery
	await(t, "the statistics have them", func() bool {
		found := decode[causesContract](t, v.run("causes"))
		return found.Ready != nil && *found.Ready == 7
	})
	if found, _ := causes("--read-costly"); found.Read != 7 || len(found.Earlier) != 0 || len(found.NotRead) != 0 {
		t.Fatalf("at first %+v", found)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%d queues are kept: %v", len(files), err)
	}
	await(t, "all are back", func() bool { return v.count("lots.failed") == 4 })
	found, _ := causes()
	if lots := causeOf(t, found, "lot #"); found.Read != 7 || len(found.NotRead) != 0 || lots.Messages != 4 {
		t.Errorf("then %+v", found)
	}
	if !counts {
		return // a look has no cost: it is read again
	}
	if len(found.Earlier) != 1 || found.Earlier[0].Queue != v.name+"/lots.failed" || found.Earlier[0].Messages != 4 ||
		found.Earlier[0].At == "" || !strings.Contains(found.Earlier[0].Why, "a look has a cost") {
		t.Errorf("of earlier is %+v", found.Earlier)
	}
	v.failing("lots.failed", "late", "KeyError: lot %", 1)
	await(t, "what came later is not read", func() bool {
		found, _ = causes()
		return len(found.NotRead) == 1 && *found.NotRead[0].Messages == 1 && len(found.Earlier) == 1 && found.Read == 7
	})
	for range 2 {
		_, ok, err := v.channel.Get("lots.failed", true)
		must.That(t, err == nil && ok, "nothing to take: %v", err)
	}
	await(t, "nothing is known of it any more", func() bool {
		found, _ = causes()
		return len(found.NotRead) == 1 && *found.NotRead[0].Messages == 3 && len(found.Earlier) == 0 && found.Read == 3
	})
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d queues are kept: %v", len(files), err)
	}
}
