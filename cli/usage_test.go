package cli_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
)

// checkSentence checks that an error is one line, contains these words, and nothing that must not be shown.
func checkSentence(t *testing.T, stderr string, words ...string) {
	t.Helper()
	assert.That(t, strings.HasPrefix(stderr, "dlxtop: ") && strings.Count(stderr, "\n") == 1 &&
		strings.HasSuffix(stderr, "\n"), "this is not one sentence: %q", stderr)
	for _, word := range words {
		assert.That(t, strings.Contains(stderr, word), "%q is not in %q", word, stderr)
	}
	assert.That(t, !strings.Contains(stderr, "s3cr3t"), "the password is in %q", stderr)
	assert.That(t, !strings.ContainsFunc(strings.TrimSuffix(stderr, "\n"), func(r rune) bool { return r < ' ' }),
		"a control character is in %q", stderr)
}

// runAlone runs a command line without a broker.
func runAlone(args ...string) result {
	return runChanged(context.Background(), func(p *cli.Program) {
		p.Source, p.Broker, p.Journal = nil, nil, nil
		p.Build = cli.Build{Version: "v9.8.7", Commit: "abc", Date: "2026-01-02T03:04:05Z"}
		p.Scenarios = []cli.Scenario{{Name: "pubsub"}}
	}, args...)
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"flow"}, []string{"no command flow", "did you mean flows?"}},
		{[]string{"amqp://u:s3cr3t@h/"}, []string{"no command amqp://u:***@h/"}},
		{[]string{"x\x1b[2J"}, []string{"no command x"}},
		{[]string{"--size", "120x36"}, []string{"add it", "--snapshot FILE"}},
		{[]string{"--snapshot", "f", "--size", "120"}, []string{"--size 120", "COLUMNSxROWS", "80x24"}},
		{[]string{"--snapshot", "f", "--size", "120x36x2"}, []string{"--size 120x36x2"}},
		{[]string{"--snapshot", "f", "--size", "79x24"}, []string{"from 80x24 to 500x500"}},
		{[]string{"journal", "forget"}, []string{"no command forget"}},
		{[]string{"journal", "-n", "0"}, []string{"-n 0"}},
		{[]string{"journal", "show"}, []string{"needs the ID"}},
		{[]string{"journal", "show", "last"}, []string{"last is not the number", "dlxtop journal"}},
		{[]string{"journal", "undo", "0", "--yes"}, []string{"0 is not the number"}},
		{[]string{"journal", "undo", "1"}, []string{"--yes", "--dry-run"}},
		{[]string{"export", "q"}, []string{"needs a file"}},
		{[]string{"import", "f", "--yes"}, []string{"--to", "queue:NAME"}},
		{[]string{"import", "f", "--to", "queue:q"}, []string{"--yes", "--dry-run"}},
		{
			[]string{"import", "/there/is/no/file", "--to", "queue:q", "--yes"},
			[]string{"the file /there/is/no/file is not there"},
		},
		{[]string{"flows", "--what"}, []string{"--what", "dlxtop flows --help"}},
		{[]string{"flows", "x"}, []string{"does not take x"}},
		{[]string{"flows", "-o", "yaml"}, []string{"table and json"}},
		{[]string{"peek"}, []string{"needs a queue"}},
		{[]string{"peek", "q", "r"}, []string{"does not take r"}},
		{[]string{"peek", "q", "-n", "0"}, []string{"-n 0"}},
		{[]string{"peek", "q", "-n", "1000001"}, []string{"1000000"}},
		{[]string{"peek", "q", "-n", "x"}, []string{"-n"}},
		{[]string{"replay", "q", "--yes", "--to", "nowhere"}, []string{"--to", "nowhere", "queue:NAME"}},
		{[]string{"replay", "q", "--yes", "--rate", "fast"}, []string{"--rate fast", "20/s"}},
		{[]string{"replay", "q", "--yes", "--rate", "0/s"}, []string{"--rate"}},
		{[]string{"replay", "q", "--yes", "--rate", "-1"}, []string{"--rate"}},
		{[]string{"replay", "q", "--yes", "--rate", "1/s", "--over", "1m"}, []string{"--over", "leave out --rate"}},
		{[]string{"move", "q", "--to", "queue:w", "--yes", "--over", "30m"}, []string{"--over 30m0s", "between 1s and 25m"}},
		{[]string{"replay", "q", "--yes", "--over", "0s"}, []string{"--over 0s"}},
		{[]string{"replay", "q", "--yes", "--rate", "NaN"}, []string{"--rate"}},
		{[]string{"replay", "q", "--yes", "--limit", "0"}, []string{"--limit 0"}},
		{[]string{"replay", "q", "--yes", "--filter", "body contains ("}, []string{"--filter"}},
		{[]string{"drop", "q", "--yes", "--filter", ""}, []string{"--filter", "empty"}},
		{[]string{"drop", "q", "--yes", "--id", ""}, []string{"--id is empty"}},
		{[]string{"tap"}, []string{"needs an exchange"}},
		{[]string{"probe"}, []string{"needs a flow"}},
		{[]string{"probe", "q"}, []string{"--yes"}},
		{[]string{"probe", "q", "--yes", "--timeout", "0s"}, []string{"--timeout"}},
		{[]string{"help", "nope"}, []string{"no command nope"}},
		{[]string{"replay", "q"}, []string{"--yes", "--dry-run"}},
		{[]string{"drop", "q"}, []string{"--yes", "--dry-run"}},
		{[]string{"drop", "q", "--to", "auto"}, []string{"--to"}},
		{[]string{"move", "q", "--yes"}, []string{"--to queue:NAME"}},
		{[]string{"replay", "q", "--yes", "--canary-wait", "20s"}, []string{"--canary-wait", "--canary"}},
		{[]string{"replay", "q", "--yes", "--canary", "--canary-wait", "0s"}, []string{"--canary-wait 0s", "1h"}},
		{[]string{"drop", "q", "--yes", "--canary"}, []string{"--canary"}},
		{[]string{"move", "q", "--yes", "--to", "exchange:x/k"}, []string{"--to queue:NAME"}},
		{[]string{"replay", "q", "--yes", "--key", "k"}, []string{"--to exchange:NAME --key KEY"}},
		{[]string{"move", "q", "--to", "queue:p"}, []string{"--yes", "--dry-run"}},
		{[]string{"move", "q", "--to", "queue:p", "--no-mark"}, []string{"--no-mark"}},
		{[]string{"demo", "--scenario", "nothing"}, []string{"no scenario nothing", "pubsub"}},
		{[]string{"demo", "--no-ui", "--url", "amqp://u:s3cr3t@h"}, []string{"of its own"}},
		{[]string{"demo"}, []string{"terminal"}},
		{nil, []string{"terminal", "flows"}},
		{[]string{"completion"}, []string{"shell"}},
		{[]string{"completion", "csh"}, []string{"csh", "bash"}},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			runAlone(test.args...).refuses(t, cli.ExitUsage, test.want...)
		})
	}
}

func TestReadOnlyRefuses(t *testing.T) {
	for _, operation := range []string{"replay", "drop", "move --to queue:p"} {
		runAlone(append(strings.Fields(operation), "q", "--yes", "--read-only")...).refuses(t, cli.ExitConnect,
			"read-only", "--dry-run")
	}
}

// Every command has two examples, with existing commands and flags.
func TestExamplesAreCommands(t *testing.T) {
	for _, c := range new(cli.Program).Commands() {
		assert.That(t, len(c.Examples) == 2, "%s has the examples %q", c.Use, c.Examples)
		for _, example := range c.Examples {
			_, line, _ := strings.Cut(example, "dlxtop ")
			var args []string
			for i, part := range strings.Split(shellsOwn.ReplaceAllString(line, ""), "'") {
				if i%2 == 0 {
					args = append(args, strings.Fields(part)...)
				} else {
					args = append(args, part)
				}
			}
			r := runAlone(append(args, "--help")...).ends(t, cli.ExitDone)
			assert.That(t, args[0] == "help" || strings.Contains(r.out, "\n  "+c.Use), "%s: %q: %s", c.Use, example, r.out)
		}
	}
}

var shellsOwn = regexp.MustCompile(`\)$| [>|] .*`) // what a shell does with a command

func TestVersionAndCompletion(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, "dlxtop v9.8.7\ncommit abc\ndate 2026-01-02T03:04:05Z\ngo"},
		{[]string{"--version"}, "dlxtop v9.8.7\ncommit abc\ndate 2026-01-02T03:04:05Z\ngo"},
		{[]string{"version", "-o", "json"}, `"version": "v9.8.7"`},
		{[]string{"completion", "bash"}, "__start_dlxtop"},
		{[]string{"completion", "zsh"}, "#compdef dlxtop"},
		{[]string{"completion", "fish"}, "fish completion for dlxtop"},
		{[]string{"completion", "powershell"}, "Register-ArgumentCompleter"},
		{[]string{"--help"}, "Exit status"},
		{[]string{"demo", "--help"}, "pubsub"},
		{[]string{"help", "peek"}, "dlxtop peek QUEUE"},
		{[]string{"explain", "poller"}, "poller\n\nAn application polls the worker"},
		{[]string{"explain"}, "\nrejects-lost "},
	} {
		r := runAlone(test.args...).ends(t, cli.ExitDone).shows(t, test.want)
		assert.Equal(t, r.stderr, "", "%v", test.args)
	}
}

// onTerminal runs a command line on a terminal, and returns its whole output there.
func onTerminal(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	k := talkIn(ctx, t, env, args...)
	<-k.done
	return k.shown.String()
}

// A terminal without escape sequences gets none, from any command.
func TestDumbTerminal(t *testing.T) {
	v := newVHost(t)
	v.declarePubsub()
	dumb := map[string]string{"TERM": "dumb", "DLXTOP_URL": v.url(), "DLXTOP_API": node.API()}
	const queue = "ucenter@user@failed"
	for _, args := range [][]string{
		{"flows"},
		{"peek", queue},
		{"findings"},
		{"drop", queue, "--limit", "1", "--yes"},
		{"replay", queue, "--limit", "1", "--yes"},
		{"export", queue, "-"},
		{"journal"},
		{"--help"},
		{},
	} {
		screen := onTerminal(t, dumb, args...)
		assert.That(t, !strings.Contains(screen, "\x1b"), "%v wrote %q", args, screen)
		assert.That(t, len(args) > 0 || strings.Contains(screen, "TERM=dumb"), "the dashboard said %q", screen)
	}
	smart := map[string]string{"TERM": "xterm", "DLXTOP_URL": v.url(), "DLXTOP_API": node.API()}
	assert.Contains(t, onTerminal(t, smart, "drop", queue, "--limit", "1", "--yes"), "\x1b[K",
		"no progress is shown on a terminal")
}

// A shell gets unchanged names, and none that it could not pass back or that would affect the terminal.
func TestCompletion(t *testing.T) {
	v := newVHost(t)
	flood := strings.Repeat("\u1100", 9)
	v.queues("plain", "Grüße 世界", "gpj.\u202eexe", "two\nlines", "tab\there", "-n", flood, "end ")
	r := run(t, "__complete", "peek", "--url", v.url(), "--api", node.API(), "").ends(t, cli.ExitDone)
	names, _, _ := strings.Cut(r.out, ":") // the rest is for the shell
	assert.Equal(t, names, "Grüße 世界\nplain\ntwolines\n")
}
