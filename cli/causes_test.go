package cli_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/preferences"
)

// The contract of `dlxtop causes`, repeated here.
type (
	causesContract struct {
		Read    int
		Ready   *int
		Causes  []causeContract
		Earlier []struct {
			Queue    string
			Messages int
			At, Why  string
		}
		NotRead []notReadContract `json:"not_read"`
	}
	notReadContract struct {
		Queue    string
		Messages *int
		Why      string
	}
	causeContract struct {
		ID, Cause, Kind, Text, Frame, Evidence, Coarse, State, Note string
		Messages, Different                                         int
		Queues, Workers                                             []string
		First, Last, Sample                                         string
	}
)

// failing publishes failed messages with the ids PREFIX-1, PREFIX-2, … A % in the error stands for their number.
func (v *vhost) failing(queue, prefix, text string, n int) {
	v.t.Helper()
	for i := range n {
		v.publish("", queue, amqp.Publishing{
			MessageId: fmt.Sprintf("%s-%d", prefix, i+1),
			Headers:   amqp.Table{"x-error": strings.ReplaceAll(text, "%", fmt.Sprint(i+1))},
			Body:      []byte("{}"),
		})
	}
}

// causes returns the causes once they are as wanted: statistics lag.
func (v *vhost) causes(want func(causesContract) bool, args ...string) (found causesContract) {
	v.t.Helper()
	must.Await(v.t, "the statistics have them", func() bool {
		found = decode[causesContract](v.t, v.run(append([]string{"causes"}, args...)...).ends(v.t, cli.ExitDone))
		return want(found)
	})

	return found
}

func causeOf(t *testing.T, found causesContract, text string) causeContract {
	t.Helper()
	at := slices.IndexFunc(found.Causes, func(c causeContract) bool { return c.Text == text })
	must.That(t, at >= 0, "there is no cause %q in %+v", text, found.Causes)
	return found.Causes[at]
}

// More messages than an AMQP page holds are ahead of those of a cause, and they are a frozen set.
func TestCauseBehindMany(t *testing.T) {
	t.Parallel()
	const before = 65_600
	v := newVHost(t, "many.failed")
	dial.Publish(t, v.channel, "many.failed", make([]amqp.Publishing, before)...)
	v.failing("many.failed", "late", "ValueError: no order %", 3)
	late := message.Message{Headers: model.Table{"x-error": "ValueError: no order 1"}, Body: []byte("{}"), BodyBytes: 2}
	id := cause.Of(model.QueueRef{}, &late).ID()
	k := startTalk(t, v.on("drop many.failed --cause", string(id), "-o", "json")...)
	k.asked("drop 3 messages of", 1)
	k.asked("3 messages as of", 1)
	k.answer("y")
	k.ends(cli.ExitDone)
	v.holds("many.failed", before)
}

// The statistics still say that the queue is empty, and are not believed even where a look has a cost.
func TestCausesOfWhatJustFailed(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("mail.failed", amqp.Table{"x-queue-type": "quorum"})
	v.causes(func(c causesContract) bool { return known(c.Ready, 0) }, "--read-costly")
	v.failing("mail.failed", "order", "ValueError: no order %", 3)

	found := decode[causesContract](t, v.run("causes"))
	if len(found.NotRead) == 1 { // a look has a cost before 4.3
		n := found.NotRead[0].Messages
		must.That(t, n != nil, "not read: %+v", found.NotRead)
		assert.Equal(t, *n, 3)
		assert.Equal(t, *found.Ready, 3)
	} else if found.Read != 3 {
		t.Errorf("it says %+v", found)
	}

	found = decode[causesContract](t, v.run("causes --read-costly"))
	assert.Equal(t, found.Read, 3, "it read %+v", found)
	assert.Equal(t, *found.Ready, 3)
}

func TestCauses(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "mail.failed", "stock.failed", "others")
	v.declare("lots.failed", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 30})
	v.failing("mail.failed", "order", "ValueError: no order %", 3)
	v.failing("stock.failed", "stock", "ValueError: no order %", 4)
	v.failing("stock.failed", "smtp", "550 5.1.1 <a%@example.com>: unknown", 2)
	v.failing("others", "other", "ValueError: not a failed queue", 1)
	v.failing("lots.failed", "lot", "ValueError: no lot %", 2)
	v.publish("", "mail.failed", amqp.Publishing{MessageId: "plain"})
	// --read-costly would use up the delivery limit
	found := v.causes(func(c causesContract) bool { return known(c.Ready, 12) })

	counts := behaviour().ReturnCountsAsDelivery

	read := 12

	if counts {
		read = 10
		must.Equal(t, len(found.NotRead), 1, "not read is %+v", found.NotRead)
		assert.That(t, strings.HasSuffix(found.NotRead[0].Queue, "/lots.failed"), "not read is %+v", found.NotRead)
		assert.Equal(t, *found.NotRead[0].Messages, 2)
		assert.Contains(t, found.NotRead[0].Why, "delivery limit")
	}

	must.Equal(t, found.Read, read)
	orders := causeOf(t, found, "no order #")
	assert.Equal(t, found.Causes[0].ID, orders.ID, "the first cause is %+v", orders)
	assert.Equal(t, orders.Messages, 7)
	assert.Equal(t, orders.Kind, "ValueError")
	must.Equal(t, len(orders.Queues), 2)
	assert.Equal(t, orders.Queues[0], v.name+"/stock.failed")
	assert.Equal(t, orders.Evidence, "error")
	assert.That(t, orders.Sample != "", "the first cause is %+v", orders)
	smtp := causeOf(t, found, "550 5.1.1 <<email>>: unknown")
	assert.That(t, smtp.Messages == 2, "%+v", smtp)
	none := causeOf(t, found, "")
	assert.Equal(t, none.Evidence, "nothing", "%+v", none)
	assert.Equal(t, none.Messages, 1)
	all := decode[causesContract](t, v.run("causes --read-costly"))
	assert.Equal(t, all.Read, 12, "with what costs %+v", all)
	assert.Equal(t, len(all.NotRead), 0)
	one := v.causes(func(c causesContract) bool { return known(c.Ready, 4) }, "--queues", "mail.*")
	assert.Equal(t, one.Read, 4, "of mail %+v", one)
	few := v.causes(func(c causesContract) bool { return known(c.Ready, 6) }, "--queues", "stock?failed", "--limit", "2")
	assert.Equal(t, few.Read, 2, "two of each queue are %+v", few)
	must.Equal(t, len(few.NotRead), 1)

	assert.Equal(t, *few.NotRead[0].Messages, 4)
	v.run("causes -o table --queues stock.failed").ends(t, cli.ExitDone,
		"6 of 6 messages in 1 failed queue read").shows(t, orders.ID, "no order #", "550 5.1.1", "CAUSE")

	for _, refused := range [][]string{
		{"causes", "--queues", "nothing.*"}, {"causes", "--limit", "0"}, {"causes", "mail.failed"},
	} {
		assert.Equal(t, v.run(refused...).ends(t, cli.ExitUsage).out, "", "%v", refused)
	}
}

// Peek, replay, move, drop and export take the messages of one cause, and leave the others as they were.
func TestByCause(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "mail.failed", "mail")
	for i := range 3 {
		v.failing("mail.failed", fmt.Sprint("order", i), "ValueError: no order %", 1)
		v.failing("mail.failed", fmt.Sprint("smtp", i), "550 5.1.1 <a%@example.com>: unknown", 1)
		v.failing("mail.failed", fmt.Sprint("late", i), "timed out after %0 ms", 1)
		v.failing("mail.failed", fmt.Sprint("gone", i), "KeyError: 'customer_id'", 1)
	}

	found := v.causes(func(c causesContract) bool { return c.Read == 12 && len(c.Causes) == 4 })
	orders := causeOf(t, found, "no order #").ID
	smtp := causeOf(t, found, "550 5.1.1 <<email>>: unknown").ID
	late := causeOf(t, found, "timed out after #").ID
	gone := causeOf(t, found, "'customer_id'").ID

	r := v.run("peek mail.failed --cause", strings.ToUpper(orders))
	assert.Equal(t, decodeIDs(t, r), "order0-1 order1-1 order2-1", "peeked")
	r.says(t, "3 of the first 12 messages failed for the cause "+orders)
	file := filepath.Join(t.TempDir(), "smtp.json")
	v.run("export mail.failed", file, "--cause", smtp).ends(t, cli.ExitDone, "3 messages exported")
	lines, err := os.ReadFile(file)
	must.Do(t, err)
	assert.Equal(t, strings.Count(string(lines), "\n"), 3, "%v: %s", err, lines)
	assert.That(t, strings.Count(string(lines), `"smtp`) >= 3, "%v: %s", err, lines)
	v.run("drop mail.failed --cause", smtp, "--dry-run", "-o", "table").says(t, "cause "+smtp+": 550 5.1.1").shows(t,
		"would drop 3 messages of "+v.name+"/mail.failed, cause "+smtp)
	v.holds("mail.failed", 12)

	for _, c := range []struct {
		args []string
		id   string
		sent int // to mail, including what was sent before
		left int
	}{
		{[]string{"replay", "--to", "queue:mail"}, orders, 3, 9},
		{[]string{"move", "--to", "queue:mail"}, late, 6, 6},
		{[]string{"drop"}, smtp, 6, 3},
		{[]string{"drop", "--limit", "2"}, gone, 6, 1},
		{[]string{"drop"}, orders, 6, 1}, // none are left
	} {
		args := append([]string{c.args[0], "mail.failed", "--cause", c.id, "--yes"}, c.args[1:]...)
		a := decode[accountContract](t, v.run(args...).ends(t, cli.ExitDone))
		assert.Equal(t, a.Cause, c.id, "%v", args)
		v.holds("mail", c.sent)
		v.holds("mail.failed", c.left)
	}

	assert.Equal(t, ids(v.take("mail.failed")), "gone2-1", "left")
	for _, command := range [][]string{
		{"peek", "mail.failed"}, {"drop", "mail.failed", "--yes"}, {"export", "mail.failed", "-"},
	} {
		for _, id := range []string{"", "12345", "no such one"} {
			r := v.run(append(command, "--cause", id)...)
			assert.Equal(t, r.status, cli.ExitUsage, "%v --cause %q: exit status", command, id)
			checkSentence(t, r.stderr, "--cause", "12 hexadecimal digits")
		}
	}
}

// The user agrees to the messages that were read, by their cause or by a filter. Messages that arrive before the answer
// stay, and are counted in the account.
func TestCauseIsFrozen(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	for name, arguments := range map[string]amqp.Table{
		"classic.failed": nil, "quorum.failed": {"x-queue-type": "quorum"}, "filtered.failed": nil,
	} {
		v.declare(name, arguments)
		v.failing(name, "before", "ValueError: no order %", 3)
		v.failing(name, "other", "KeyError: 'customer_id'", 2)
		found := v.causes(func(c causesContract) bool { return c.Read == 5 }, "--read-costly", "--queues", name)
		chosen := []string{"--cause", causeOf(t, found, "no order #").ID}
		if name == "filtered.failed" {
			chosen = []string{"--filter", `failure contains "no order"`}
		}

		k := startTalk(t, v.on(append([]string{"drop", name, "-o", "json"}, chosen...)...)...)
		k.asked("3 messages as of", 1)
		k.asked("drop 3 messages of", 1)
		v.failing(name, "later", "ValueError: no order %", 2)
		k.answer("y")
		k.ends(cli.ExitDone)
		k.asked("later: 2 came later and stay (after ", 1)
		k.asked(`"came_later": 2`, 1)
		v.holds(name, 4)
		assert.Equal(t, ids(v.take(name)), "other-1 other-2 later-1 later-2", "%s: left", name)
	}
}

// A failed queue bound beside the retry buffer belongs to the worker, as on the screen.
func TestCausesNameWorkers(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.exchange("mail.dlx", "fanout")
	v.declare("mail", amqp.Table{"x-dead-letter-exchange": "mail.dlx"})
	v.declare("mail.retry", amqp.Table{
		"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "mail", "x-message-ttl": 3_600_000,
	})
	v.declare("mail.kept", nil)

	for _, name := range []string{"mail.retry", "mail.kept"} {
		v.bind(name, "", "mail.dlx")
	}

	v.failing("mail.kept", "order", "ValueError: no order %", 2)
	v.causes(func(c causesContract) bool {
		return len(c.Causes) == 1 && slices.Equal(c.Causes[0].Workers, []string{"mail"})
	})
}

// Causes that were read once, where a look has a cost, are shown without another look, with their time: until messages
// leave.
func TestCausesOfEarlierReadings(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "mail.failed")
	v.declare("lots.failed", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 30})
	v.failing("mail.failed", "order", "ValueError: no order %", 3)
	v.failing("lots.failed", "lot", "KeyError: lot %", 4)
	dir := filepath.Join(t.TempDir(), "causes")
	index := func(p *cli.Program) {
		p.Index = func(config.Connection) cause.Index { return preferences.CauseIndex{Dir: dir} }
	}
	causes := func(args ...string) (causesContract, result) {
		t.Helper()
		r := v.runProgram(index, append([]string{"causes"}, args...)...).ends(t, cli.ExitDone)
		return decode[causesContract](t, r), r
	}

	counts := behaviour().ReturnCountsAsDelivery
	v.causes(func(c causesContract) bool { return known(c.Ready, 7) })
	found, _ := causes("--read-costly")
	must.Equal(t, found.Read, 7, "at first %+v", found)
	must.Equal(t, len(found.Earlier), 0)
	must.Equal(t, len(found.NotRead), 0)
	assert.Equal(t, len(must.Get(os.ReadDir(dir))(t)), 2, "kept queues")

	offered := func(args ...string) string {
		on := []string{"--url", v.url(), "--api", node.API(), "--cause", ""}
		return completed(t, func() result {
			return runChanged(t.Context(), index, slices.Concat([]string{"__complete"}, args, on)...)
		})
	}

	order := causeOf(t, found, "no order #").ID + "\t3 messages, "
	lot := causeOf(t, found, "lot #").ID + "\t4 messages, "
	all := offered("export")
	assert.That(t, strings.HasPrefix(all, lot), "the larger is not the first of %q", all)
	assert.Contains(t, all, order)
	of := offered("replay", "mail.failed")
	assert.That(t, strings.HasPrefix(of, order), "that of one queue with %q", of)
	assert.Lacks(t, of, lot)
	v.holds("lots.failed", 4)
	found, _ = causes()
	lots := causeOf(t, found, "lot #")
	assert.Equal(t, found.Read, 7, "then %+v", found)
	assert.Equal(t, len(found.NotRead), 0)
	assert.Equal(t, lots.Messages, 4)

	if !counts {
		return // a look has no cost: it is read again
	}
	must.Equal(t, len(found.Earlier), 1, "of earlier is %+v", found.Earlier)
	assert.Equal(t, found.Earlier[0].Queue, v.name+"/lots.failed")
	assert.Equal(t, found.Earlier[0].Messages, 4)
	assert.That(t, found.Earlier[0].At != "", "of earlier is %+v", found.Earlier)
	assert.Contains(t, found.Earlier[0].Why, "a look has a cost")
	v.failing("lots.failed", "late", "KeyError: lot %", 1)
	must.Await(t, "what came later is not read", func() bool {
		found, _ = causes()
		return len(found.NotRead) == 1 && *found.NotRead[0].Messages == 1 && len(found.Earlier) == 1 && found.Read == 7
	})

	for range 2 {
		_, ok, err := v.channel.Get("lots.failed", true)
		must.Do(t, err)
		must.That(t, ok, "nothing to take: %v", err)
	}

	must.Await(t, "nothing is known of it any more", func() bool {
		found, _ = causes()
		return len(found.NotRead) == 1 && *found.NotRead[0].Messages == 3 && len(found.Earlier) == 0 && found.Read == 3
	})

	assert.Equal(t, len(must.Get(os.ReadDir(dir))(t)), 1, "kept queues")
}

// Where each look uses up a delivery limit, all commands share one, until messages are taken out.
func TestOneLookForAllCommands(t *testing.T) {
	t.Parallel()
	if !behaviour().ReturnCountsAsDelivery {
		return // looks have no cost, and nothing is kept
	}
	v := newVHost(t)
	v.declare("orders.failed", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 20})
	const n = 30
	v.failing("orders.failed", "order", "ValueError: no order %", n)
	dir := filepath.Join(t.TempDir(), spool.StoreDir)
	shared := func(p *cli.Program) {
		p.Store = func(config.Connection) cli.PeekStore { return spool.Store{Dir: dir} }
	}
	run := func(args ...string) result { return v.runProgram(shared, args...) }
	causes := func(args ...string) causesContract {
		return decode[causesContract](t, run(append([]string{"causes"}, args...)...).ends(t, cli.ExitDone))
	}
	v.causes(func(c causesContract) bool { return known(c.Ready, n) })

	found := causes("--read-costly")
	must.Equal(t, found.Read, n, "the first look: %+v", found)
	must.Equal(t, len(found.Earlier), 0)

	for _, args := range [][]string{nil, {"--read-costly"}} {
		found = causes(args...)
		assert.Equal(t, found.Read, n, "%q: %+v", args, found)
		assert.Equal(t, len(found.Earlier), 1, "%v", args)
		assert.Equal(t, len(found.NotRead), 0, "%v", args)
	}

	run("peek orders.failed -n 1").ends(t, cli.ExitDone, "this look used 1") // it keeps nothing
	v.holds("orders.failed", n)
	run("find order-17").ends(t, cli.ExitDone, "30 messages of "+v.name+"/orders.failed, without another look")
	path := filepath.Join(t.TempDir(), "orders.jsonl")
	run("export orders.failed", path).ends(t, cli.ExitDone, "without another look", "30 messages exported")
	assert.Equal(t, strings.Count(string(must.Get(os.ReadFile(path))(t)), "\n"), n, "lines")

	v.holds("orders.failed", n)
	d, ok, err := v.channel.Get("orders.failed", false)
	must.Do(t, err)
	must.That(t, ok, "nothing to take: %v", err)
	count, _ := d.Headers["x-delivery-count"].(int64)
	assert.That(t, count <= 2, "it was looked at %d times, by two looks", count)
	must.Do(t, d.Nack(false, true))

	v.failing("orders.failed", "late", "ValueError: no order %", 1)

	must.Await(t, "what came later is not read", func() bool {
		found = causes()
		return len(found.NotRead) == 1 && *found.NotRead[0].Messages == 1 && found.Read == n
	})

	run("drop orders.failed --limit 1 --yes").ends(t, cli.ExitDone)

	must.Await(t, "what was read is not there any more", func() bool {
		found = causes()
		return found.Read == 0 && len(found.NotRead) == 1
	})
}

// Marks made in the dashboard are in the list, updated by the cause's messages. An unreadable file is reported, and
// hides nothing.
func TestStatesOfCauses(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "mail.failed")
	v.failing("mail.failed", "order", "ValueError: no order %", 3)
	v.causes(func(c causesContract) bool { return c.Read == 3 })
	connection := config.Connection{API: node.API(), User: "guest", Password: "guest"}
	source := must.Get(program(nil, nil, nil).Source(connection))(t)
	defer source.Close()
	overview := must.Get(source.Check(t.Context()))(t)

	states := func(messages int) []byte {
		text := must.Get(cause.WithStates(nil, overview.ClusterName, func(s cause.States) {
			g := &cause.Group{Messages: messages}
			g.Cause = cause.Cause{Evidence: cause.ByError, Kind: "ValueError", Text: cause.Fold("no order 1")}
			g.ID = g.Cause.ID()
			s.Mark(g, cause.Resolved, time.Now())
			s.Note(g, "ticket 12")
		}))(t)

		return text
	}

	for _, c := range []struct {
		name        string
		text        []byte
		err         error
		state, note string
		says        string
	}{
		{"none", nil, nil, "new", "", ""},
		{"resolved", states(3), nil, "resolved", "ticket 12", ""},
		{"back: they are more than they were", states(2), nil, "back", "ticket 12", ""},
		{"damaged", []byte("{"), nil, "new", "", "the states of causes cannot be read"},
		{"not readable", nil, errors.New("no permission"), "new", "", "cannot be read: no permission"},
	} {
		r := v.runProgram(func(p *cli.Program) {
			p.States = func(string) ([]byte, error) { return c.text, c.err }
		}, "causes")
		found := decode[causesContract](t, r)
		must.Equal(t, len(found.Causes), 1, "%s: %+v %s", c.name, found.Causes, r.stderr)
		assert.Equal(t, found.Causes[0].State, c.state, "%v", c.name)
		assert.Equal(t, found.Causes[0].Note, c.note, "%v", c.name)
		assert.Contains(t, r.stderr, c.says, "%v", c.name)
	}
}

// Through a buffer of the flow, messages come to the worker when they expire there.
func TestReplayLater(t *testing.T) {
	t.Parallel()
	v := newVHost(t)
	v.declare("orders", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.failed"})
	v.declare("orders.retry", amqp.Table{
		"x-message-ttl": 300, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders",
	})
	v.declare("orders.failed", nil)
	v.fill("orders.failed", 3)
	args := []string{"replay", "orders.failed", "--to", "queue:orders.retry", "--over", "1s"}
	v.run(append(args, "--dry-run", "-o", "table")...).says(t, "pace: at most 3/s: 3 messages take 1s or more",
		"orders gets them after 300ms in the buffer")
	v.run(append(args, "--yes")...).ends(t, cli.ExitDone).account(t, "3 3 0 0 0 0")
	v.holds("orders", 3)

	for _, d := range v.take("orders") {
		death, ok := d.Headers["x-first-death-queue"]
		must.That(t, ok, "%s died in %v", d.MessageId, death)
		assert.That(t, death == "orders.retry", "%s died in %v", d.MessageId, death)
	}
}

// With --yes a replay to one queue first reads 100 messages, and a dry run 1,000. Both act on all of them.
func TestSmallSample(t *testing.T) {
	t.Parallel()
	v := newVHost(t, "failed", "worker")
	const n = 150
	messages := make([]amqp.Publishing, n)
	for i := range messages {
		messages[i].MessageId = fmt.Sprint(i + 1)
	}
	for _, i := range []int{0, 120} {
		messages[i].Headers = amqp.Table{"CC": []any{"elsewhere"}}
	}

	dial.Publish(t, v.channel, "failed", messages...)
	replay := func(flag string) string {
		t.Helper()
		r := v.run("replay failed --to queue:worker", flag).ends(t, cli.ExitDone)
		return r.stderr
	}

	assert.Contains(t, replay("--dry-run"), "2 messages were copied to further queues by CC", "the dry run")
	assert.Contains(t, replay("--yes"), "1 message was copied to further queues by CC", "the replay")
	v.holds("worker", n)
}
