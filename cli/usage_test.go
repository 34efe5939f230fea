package cli_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// checkSentence checks that an error is one line, contains these words, and nothing that must not be shown.
func checkSentence(t *testing.T, stderr string, words ...string) {
	t.Helper()
	assert.That(t, strings.HasPrefix(stderr, "dlxtop: "), "this is not one sentence: %q", stderr)
	assert.Equal(t, strings.Count(stderr, "\n"), 1)
	assert.That(t, strings.HasSuffix(stderr, "\n"), "this is not one sentence: %q", stderr)
	for _, word := range words {
		assert.Contains(t, stderr, word)
	}

	assert.Lacks(t, stderr, "s3cr3t", "the password is in")
	assert.That(t, !strings.ContainsFunc(strings.TrimSuffix(stderr, "\n"), func(r rune) bool { return r < ' ' }),
		"a control character is in %q", stderr)
}

// runAlone runs a command line without a broker.
func runAlone(args ...string) result {
	return runChanged(context.Background(), func(p *cli.Program) {
		p.Source = nil
		p.Broker = nil
		p.Journal = nil
		p.Build = cli.Build{Version: "v9.8.7", Commit: "abc", Date: "2026-01-02T03:04:05Z"}
		p.Scenarios = []cli.Scenario{{Name: "pubsub"}}
	}, args...)
}

func TestUsage(t *testing.T) {
	type usage struct{ Args, Want []string }
	for _, test := range must.Cases[usage](t, "testdata/usage.toml") {
		t.Run(strings.Join(test.Args, " "), func(t *testing.T) {
			runAlone(test.Args...).refuses(t, cli.ExitUsage, test.Want...)
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
		use := c.Use
		if c.HasParent() {
			use = c.Parent().CommandPath() + " " + use
		}

		examples := strings.Split(strings.TrimSpace(c.Example), "\n")
		assert.That(t, len(examples) == 2, "%s has the examples %q", use, examples)
		for _, example := range examples {
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
			assert.That(t, args[0] == "help" || strings.Contains(r.out, "\n  "+use), "%s: %q: %s", use, example, r.out)
		}
	}
}

var shellsOwn = regexp.MustCompile(`\)$| [>|] .*`) // what a shell does with a command

func TestVersionAndCompletion(t *testing.T) {
	const build = "dlxtop v9.8.7\ncommit abc\ndate 2026-01-02T03:04:05Z\ngo"
	for line, want := range map[string]string{
		"version":               build,
		"--version":             build,
		"version -o json":       `"version": "v9.8.7"`,
		"completion bash":       "__start_dlxtop",
		"completion zsh":        "#compdef dlxtop",
		"completion fish":       "fish completion for dlxtop",
		"completion powershell": "Register-ArgumentCompleter",
		"--help":                "Exit status",
		"demo --help":           "pubsub",
		"help peek":             "dlxtop peek QUEUE",
		"explain poller":        "poller\n\nAn application polls the worker",
		"explain":               "\nrejects-lost ",
	} {
		r := runAlone(strings.Fields(line)...).ends(t, cli.ExitDone).shows(t, want)
		assert.Equal(t, r.stderr, "", "%v", line)
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

// completed returns what a shell is offered. That is nothing where the broker does not answer within three seconds, as
// on a busy machine: then it is asked again.
func completed(t *testing.T, complete func() result) (names string) {
	t.Helper()
	must.Await(t, "completion", func() bool {
		names, _, _ = strings.Cut(complete().ends(t, cli.ExitDone).out, ":4\n") // the rest is for the shell
		return names != ""
	})

	return names
}

// A shell gets unchanged names, and none that it could not pass back or that would affect the terminal.
func TestCompletion(t *testing.T) {
	v := newVHost(t)
	flood := strings.Repeat("\u1100", 9)
	v.queues("plain", "Grüße 世界", "gpj.\u202eexe", "two\nlines", "tab\there", "-n", flood, "end ")

	offered := func(args ...string) string {
		return completed(t, func() result {
			return run(t, slices.Concat([]string{"__complete", "--url", v.url(), "--api", node.API()}, args)...)
		})
	}

	assert.Equal(t, offered("peek", ""), "Grüße 世界\nplain\ntwolines\n")
	assert.Contains(t, offered("replay", "plain", "--to", ""), "auto\norigin\nqueue:Grüße 世界\nqueue:plain\n", "--to")
	assert.Contains(t, offered("find", "--queues", ""), "\nplain\n", "--queues")

	v.fill("plain", 1)
	v.run("drop plain --yes").ends(t, cli.ExitDone)
	words := "\tdrop " + v.name + "/plain: 1 dropped\n"
	assert.Contains(t, offered("journal", "undo", ""), words, "records")

	resumable := run(t, "__complete --url", v.url(), "--api", node.API(), "journal", "resume", "").out
	assert.Lacks(t, resumable, words, "a complete record is offered to resume")
}
