package cli_test

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// probeContract is what `dlxtop probe -o json` prints, as scripts rely on it.
type probeContract struct {
	ID       string `json:"id"`
	Flow     string `json:"flow"`
	Exchange string `json:"exchange"`
	Key      string `json:"routing_key"`
	Buffer   string `json:"buffer"`
	Steps    []struct {
		Stage string `json:"stage"`
		Where string `json:"where"`
		After int64  `json:"after_ms"`
		Note  string `json:"note"`
	} `json:"steps"`
	Waited  *int64 `json:"waited_ms"`
	Should  *int64 `json:"should_ms"`
	Arrived bool   `json:"arrived"`
	Verdict string `json:"verdict"`
	Left    string `json:"left_in"`
}

func TestProbe(t *testing.T) {
	v := newVHost(t)
	v.delaying()
	r := v.run("probe", "worker", "--yes", "-o", "json")
	must.That(t, r.status == cli.ExitDone, "exit status %d: %s", r.status, r.stderr)
	got := decode[probeContract](t, r)
	var stages []string
	waited := *got.Waited
	for _, s := range got.Steps {
		stages = append(stages, s.Stage+" "+s.Where)
		if s.Stage == "entered" {
			waited += s.After // it is in the buffer before that is told
		}
	}
	assert.That(t, strings.Join(stages, ", ") == "entered buffer, expired dlx, reached worker, removed worker" &&
		got.Arrived && got.Exchange == "front" && got.Key == "in" && *got.Should == 100 && waited >= 99, "%s", r.out)
	for _, words := range []string{
		"it enters buffer by front, key in, and should leave after 100ms",
		"it reaches worker, where it is taken out again",
	} {
		assert.That(t, strings.Contains(r.stderr, words), "%q is not in %s", words, r.stderr)
	}
	assert.Equal(t, v.count("worker")+v.count("buffer"), 0, "messages are left")
	v.noTap()
	if r = v.run("probe", "worker", "--yes", "--direct", "-o", "table"); r.status != cli.ExitDone ||
		!strings.HasPrefix(r.out, "entered buffer ") || !strings.Contains(r.out, "expired after ") ||
		!strings.Contains(r.stderr, "by (default), key buffer") {
		t.Errorf("exit status %d: %s%s", r.status, r.out, r.stderr)
	}
}

func TestProbeRefused(t *testing.T) {
	v := newVHost(t)
	v.delaying()
	must.Get(v.channel.Consume("worker", "", true, false, false, false, nil))(t)
	await(t, "the consumer is known", func() bool {
		return strings.Contains(v.run("flows", "-o", "json").out,
			`"consumers": 1`)
	})
	for _, test := range []struct {
		args   []string
		status int
		words  []string
	}{
		{[]string{"probe", "worker", "--yes"}, cli.ExitRefused, []string{"worker (1 consumer)", "--to-consumers"}},
		{[]string{"probe", "buffer", "--yes"}, cli.ExitUsage, []string{"not the worker of a flow"}},
		{
			[]string{"probe", "worker", "--yes", "--buffer", "worker"},
			cli.ExitRefused,
			[]string{"worker is not a buffer of this flow"},
		},
		{[]string{"probe", "worker", "--yes", "--read-only"}, cli.ExitConnect, []string{"read-only"}},
	} {
		r := v.run(test.args...)
		assert.That(t, r.status == test.status && r.out == "", "%v: exit status %d, output %q", test.args, r.status, r.out)
		checkSentence(t, r.stderr, test.words...)
	}
	if r := v.run("probe", "worker", "--yes", "--to-consumers", "-o", "json"); r.status != cli.ExitDone ||
		!decode[probeContract](t, r).Arrived || !strings.Contains(r.stderr, "and its 1 consumer will get it") {
		t.Errorf("exit status %d: %s%s", r.status, r.out, r.stderr)
	}
}
