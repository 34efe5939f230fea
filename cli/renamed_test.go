package cli_test

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
)

// A replay goes to the new name of its worker, unless both queues exist, or the new one does not.
func TestRenamedWorker(t *testing.T) {
	v := newVHost(t, "failed", "new")
	v.put("failed", amqp.Table{"x-death": []any{death("old", "rejected", "", "old")}})
	env := configured(t, "[redirect]\nold = \"new\"\n")
	replay := func(how string) result {
		return v.runProgram(func(p *cli.Program) {
			p.Env = func(name string) string { return env[name] }
		}, "replay failed "+how)
	}

	v.queues("old")
	replay("--yes").ends(t, cli.ExitRefused, "old exists again: delete that line, or name a target")
	v.change([]string{"delete", "old"})
	v.change([]string{"delete", "new"})
	replay("--yes").ends(t, cli.ExitRefused, "new, renamed by [redirect] from old, which is gone")
	v.queues("new")
	replay("--to origin --dry-run").ends(t, cli.ExitDone)
	replay("--yes").ends(t, cli.ExitDone, "new, renamed by [redirect] from old").account(t, "1 1 0 0 0 0")
	v.holds("new", 1)
}
