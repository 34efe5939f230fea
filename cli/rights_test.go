package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	rabbithole "github.com/michaelklishin/rabbit-hole/v2"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/manage"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
)

// right is a row of the table in docs/rights.md.
type right struct {
	command                string
	tag                    string
	configure, write, read string
	connections, channels  int
	requests               int
}

// rightsInDocs parses the table, which the tests hold dlxtop to.
func rightsInDocs(t *testing.T) map[string]right {
	t.Helper()
	text := must.Get(os.ReadFile("../docs/rights.md"))(t)
	rights := map[string]right{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 7 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}

		number := func(cell string) int {
			n, err := strconv.Atoi(cell)
			assert.That(t, err == nil, "%s: %v", line, err)
			return n
		}

		pattern := func(cell string) string {
			if cell == "-" {
				return "^$"
			}
			return strings.ReplaceAll(cell, `\|`, "|")
		}

		rights[cells[0]] = right{
			cells[0], "management", pattern(cells[1]), pattern(cells[2]), pattern(cells[3]),
			number(cells[4]), number(cells[5]), number(cells[6]),
		}
	}

	return rights
}

// rightTest tries one row: a command, as the user, in a vhost that prepare has filled.
type rightTest struct {
	prepare func(v *vhost)          // nil: failed
	line    string                  // the command; "": args
	args    func(v *vhost) []string // nil: the dashboard
	told    string                  // its output when it works; "": it exits with 0
}

// failed fills the queue that everything is taken from.
func failed(v *vhost) {
	v.queues("failed", "worker")
	for _, queue := range []string{"failed", "worker"} { // what an earlier try left would have the ids of this one
		must.Get(v.channel.QueuePurge(queue, false))(v.t)
	}
	v.exchange("work", "direct")
	v.bind("worker", "work", "work")
	v.fill("failed", 3)
}

// limitedFailed fills a quorum queue whose looks count, before 4.3.
func limitedFailed(v *vhost) {
	v.declare("failed", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 50})
	v.fill("failed", 3)
}

// atTheLimit fills a queue with a message that is dropped at its next return, before 4.3. What an earlier try left in
// the queue would be returned in its place, and have used up more of the limit.
func atTheLimit(v *vhost) {
	must.Get(v.channel.QueueDelete("failed", false, false, false))(v.t)
	v.declare("failed", amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": 3})
	v.fill("failed", 1)
	for range 3 {
		must.Await(v.t, "it is back", func() bool {
			d, ok, err := v.channel.Get("failed", false)
			must.Do(v.t, err)
			return ok && d.Nack(false, true) == nil
		})
	}

	v.holds("failed", 1)
}

// half runs a command with all rights, interrupts it halfway, and is then followed by another one on its record.
func half(line, then string) func(*vhost) []string {
	return func(v *vhost) []string {
		v.t.Helper()
		v.fill("failed", 120)
		r := v.interrupted("worker", 2, line)
		return append(words([]string{then}), fmt.Sprint(decode[accountContract](v.t, r).JournalID), "--yes")
	}
}

// after runs a command with all rights, and is then followed by another one on its record.
func after(line, then string) func(*vhost) []string {
	return func(v *vhost) []string {
		v.t.Helper()
		r := v.run(line).ends(v.t, cli.ExitDone)
		id := decode[accountContract](v.t, r).JournalID
		return append(words([]string{then}), fmt.Sprint(id), "--yes")
	}
}

var rightTests = map[string]rightTest{
	"findings --upgrade-to 4.3": {line: "findings --upgrade-to 4.3", told: "needs the tag monitoring"},

	"flows":    {line: "flows"},
	"findings": {line: "findings"},
	"peek":     {line: "peek failed"},
	"causes":   {line: "causes"},
	"find":     {line: "find m-1 --queues failed"},
	"export": {
		args: func(v *vhost) []string { return []string{"export", "failed", v.t.TempDir() + "/f"} },
	},
	"replay --dry-run":       {line: "replay failed --to exchange:work/work --dry-run"},
	"replay":                 {line: "replay failed --to exchange:work/work --yes"},
	"replay --to queue:NAME": {line: "replay failed --to queue:worker --yes"},
	"replay, where the target has a limit": {prepare: func(v *vhost) {
		v.declare("failed", nil)
		v.declare("worker", amqp.Table{"x-max-length": 1000})
		v.fill("failed", 3)
	}, line: "replay failed --to queue:worker --yes"},
	"tap, that does not count": {line: "tap work --for 100ms"},
	"move":                     {line: "move failed --to queue:worker --yes"},
	"drop":                     {line: "drop failed --yes"},
	"journal undo, of a drop":  {args: after("drop failed --yes", "journal undo")},
	"journal undo, of a replay": {
		args: after("replay failed --to queue:worker --yes", "journal undo"),
	},
	"journal resume, of a replay": {
		args: half("replay failed --to queue:worker --rate 20/s --yes", "journal resume"),
	},
	"import": {args: func(v *vhost) []string {
		file := v.t.TempDir() + "/f"
		v.run("export failed", file).ends(v.t, cli.ExitDone)
		return []string{"import", file, "--to", "queue:worker", "--yes"}
	}},
	"tap":                     {line: "tap work --for 100ms"},
	"peek, where looks count": {prepare: limitedFailed, line: "peek failed"},
	"peek, that rescues": {
		prepare: atTheLimit, line: "peek failed",
		told: "1 message at the delivery limit rescued",
	},
	"dlxtop": {},
}

// With exactly the rights and limits in the docs each command works, and with fewer it says what it lacks.
func TestRights(t *testing.T) {
	docs := rightsInDocs(t)
	if model.ParseVersion(node.Version()).AtLeast(4, 3) {
		for _, counts := range []string{"peek, where looks count", "peek, that rescues"} { // they do before 4.3
			docs[counts], rightTests[counts] = docs["peek"], rightTests["peek"]
		}
	} else {
		dashboard := docs["dlxtop"]
		dashboard.read = "^$" // a passive declare needs no right before 4.3
		docs["dlxtop"] = dashboard
	}

	for name, test := range rightTests {
		row, ok := docs[name]
		if !ok {
			t.Errorf("docs/rights.md has no row %q", name)
			continue
		}

		if test.line != "" {
			test.args = func(*vhost) []string { return strings.Fields(test.line) }
		}
		row.command = name // also for a row in another one's place: it names the vhost
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tryRight(t, row, test)
		})
	}

	for name := range docs {
		_, ok := rightTests[name]
		assert.That(t, ok, "docs/rights.md has a row %q that nothing tries", name)
	}
}

// dashboardRights does what the dashboard does repeatedly: it reads the topology, and counts queues.
func dashboardRights(t *testing.T, as, api string) result {
	t.Helper()
	at := must.Get(url.Parse(as))(t)
	password, _ := at.User.Password()
	vhost := strings.TrimPrefix(at.Path, "/")
	c := config.Connection{AMQP: as, API: api, User: at.User.Username(), Password: password, VHost: vhost}
	p := program(strings.NewReader(""), io.Discard, io.Discard)
	source := must.Get(p.Source(c))(t)
	defer source.Close()
	broker := must.Get(p.Broker(c, nil, cli.Rereads{}))(t)
	defer broker.Close()
	_, err := source.Snapshot(t.Context())
	assert.Succeeds(t, err)
	queues := []model.QueueRef{{VHost: vhost, Name: "failed"}, {VHost: vhost, Name: "worker"}}
	counts, err := broker.Count(t.Context(), queues)
	if err != nil {
		return result{status: cli.ExitConnect, stderr: err.Error()}
	}
	assert.Equal(t, len(counts), len(queues), "queues were counted")
	return result{}
}

// asked are the requests sent to the API.
type asked struct {
	sync.Mutex
	paths []string
}

func (a *asked) add(path string) {
	a.Lock()
	defer a.Unlock()
	a.paths = append(a.paths, path)
}

// taken returns those since the last call.
func (a *asked) taken() []string {
	a.Lock()
	defer a.Unlock()
	paths := a.paths
	a.paths = nil
	return paths
}

// counted returns the address of the management API behind a counter of requests.
func counted(t *testing.T, requests *asked) string {
	t.Helper()
	return behindProxy(t, func(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.RawQuery, "consumer_details") { // only while statistics still have a recent look
			requests.add(r.URL.Path)
		}
		proxy.ServeHTTP(w, r)
	})
}

// tryOfRights runs the command of a row as a user with some rights and limits.
type tryOfRights struct {
	t        *testing.T
	row      right
	test     rightTest
	v        *vhost
	user     string
	as, api  string // the user's addresses of the broker
	requests *asked
	args     []string

	permission            *rabbithole.Permissions
	connections, channels int
	users                 int // how many were created
}

func tryRight(t *testing.T, row right, test rightTest) {
	v := newNamedVHost(t, "rights-"+strings.NewReplacer(" ", "-", ",", "", ":", "").Replace(row.command))
	try := tryOfRights{t: t, row: row, test: test, v: v, requests: new(asked)}
	try.api = counted(t, try.requests)
	try.become(v.name)
	try.prepare()
	if row.connections > 0 {
		try.permit(row.configure, row.write, row.read)
		try.allow(row.connections-1, row.channels)
		try.refused("one connection less", "max-connections")
	}

	if row.channels > 0 {
		try.allow(row.connections, row.channels-1)
		try.refused("one channel less", "max-channels")
	}

	try.allow(row.connections, row.channels)
	for _, less := range []struct{ name, configure, write, read, has string }{
		{"configure", "^$", row.write, row.read, row.configure},
		{"write", row.configure, "^$", row.read, row.write},
		{"read", row.configure, row.write, "^$", row.read},
	} {
		if less.has != "^$" {
			try.permit(less.configure, less.write, less.read)
			try.refused("without "+less.name, less.name)
		}
	}

	try.permit(row.configure, row.write, row.read)
	r := try.run()
	assert.That(t, test.told != "" || r.status == cli.ExitDone, "with all of it: status %d: %s%s", r.status, r.out,
		r.stderr)
	assert.Contains(t, r.stderr, test.told)
	wantRequests(t, try.requests.taken(), row.requests, r)
}

func (try *tryOfRights) permit(configure, write, read string) {
	try.permission = &rabbithole.Permissions{Configure: configure, Write: write, Read: read}
	try.grant()
}

func (try *tryOfRights) allow(connections, channels int) {
	try.connections = connections
	try.channels = channels
	try.grant()
}

// grant gives the user its current rights and limits.
func (try *tryOfRights) grant() {
	n := manage.Of(try.t, node.API())
	n.Done(n.PutUserLimits(try.user, rabbithole.UserLimitsValues{
		"max-connections": try.connections, "max-channels": try.channels,
	}))

	if try.permission != nil {
		n.Done(n.UpdatePermissionsIn(try.v.name, try.user, *try.permission))
	}
}

// become creates a user, as which the command runs.
func (try *tryOfRights) become(user string) {
	try.user = manage.User(try.t, node.API(), user, try.row.tag)
	try.as = strings.Replace(try.v.url(), "guest:guest", try.user+":s3cr3t", 1)
}

// renew continues as another user: RabbitMQ may count a connection that ended as soon as it was open for as long as its
// user exists (mgmt/README.md).
func (try *tryOfRights) renew() {
	try.users++
	try.become(fmt.Sprint(try.v.name, "-", try.users))
	try.grant()
}

func (try *tryOfRights) prepare() {
	prepare := try.test.prepare
	if prepare == nil {
		prepare = failed
	}

	if prepare(try.v); try.test.args != nil {
		try.args = append(withJSON(try.test.args(try.v)), "--url", try.as, "--api", try.api)
	}
}

// lacks reports whether a run was refused a connection or a channel that is allowed: those of the previous run count
// until the broker has closed them, or longer.
func (try *tryOfRights) lacks(r result) bool {
	return try.connections >= try.row.connections && strings.Contains(r.stderr, "max-connections") ||
		try.channels >= try.row.channels && strings.Contains(r.stderr, "max-channels")
}

// run runs the command, again as long as it lacks a connection or a channel that is allowed, or when a busy broker has
// not answered the check of the cluster in time.
func (try *tryOfRights) run() (r result) {
	try.t.Helper()
	defer func() {
		if try.t.Failed() {
			try.t.Logf("what it said last, as %s: status %d: %s%s", try.user, r.status, r.out, r.stderr)
		}
	}()

	must.Await(try.t, "there are connections and channels enough", func() bool {
		if try.requests.taken(); try.test.args == nil {
			r = dashboardRights(try.t, try.as, try.api)
		} else {
			r = run(try.t, try.args...)
		}

		lacks := try.lacks(r)
		if !lacks && !strings.Contains(r.stderr, "did not answer within") {
			return true
		}
		if lacks {
			try.renew()
		}

		try.prepare()
		return false
	})

	return r
}

// refused wants the command to name what it lacks.
func (try *tryOfRights) refused(what string, words ...string) {
	t, row := try.t, try.row
	t.Helper()
	r := try.run()
	for range 5 {
		if r.status != cli.ExitDone || row.channels == 0 {
			break
		}
		try.prepare() // a busy broker may count a channel after the next one was opened (4.3.6)
		r = try.run()
	}

	told := r.stderr + r.out
	for _, word := range words {
		assert.That(t, strings.Contains(told, word), "%s: %q is not said, status %d: %s", what, word, r.status, told)
	}

	assert.That(t, !strings.Contains(told, "s3cr3t"), "%s: the password is shown: %s", what, told)
	assert.That(t, row.connections == 0 || row.channels <= 0 || r.status != cli.ExitDone,
		"%s: it was done nevertheless: %s", what, told)
}

// wantRequests checks how many requests a command sent to the API. A queue that has statistics by then needs no second
// list; on an overloaded machine the check of the cluster is given up after three seconds, and a replay checks once
// more what it reaches.
func wantRequests(t *testing.T, requests []string, want int, r result) {
	t.Helper()
	const again = 8
	least := want

	// A resume reads the list of connections until it is new enough.
	requests = slices.CompactFunc(slices.Clone(requests), func(one, next string) bool {
		return one == "/api/connections" && next == one
	})
	if lists := slices.DeleteFunc(slices.Clone(requests), func(path string) bool {
		return !strings.HasPrefix(path, "/api/queues/")
	}); len(lists) == 1 {
		least--
	}

	if strings.Contains(r.stderr, "not checked that AMQP leads to the same cluster") {
		least--
	}

	n := len(requests)
	assert.That(t, n >= least && n <= want+again,
		"%d requests to the API, the docs say %d: %s\n%s", n, want, strings.Join(requests, " "), r.stderr)
}

// A dry run says before that RabbitMQ will refuse what the user may not publish, and changes nothing.
func TestADryRunForeseesMissingRights(t *testing.T) {
	v := newNamedVHost(t, "foreseen-rights")
	failed(v)
	user := manage.User(t, node.API(), "operator-without-default", "management")
	n := manage.Of(t, node.API())
	n.Done(n.UpdatePermissionsIn(v.name, user, rabbithole.Permissions{Write: "^work$", Read: "^failed$"}))
	as := strings.Replace(v.url(), "guest:guest", user+":s3cr3t", 1)

	for to, lacks := range map[string]bool{"exchange:work/work": false, "queue:worker": true} {
		r := run(t, "replay failed --to", to, "--dry-run", "--url", as, "--api", node.API())
		r.ends(t, cli.ExitDone)
		warns := strings.Contains(r.out+r.stderr, user+" may not write to (default): RabbitMQ refuses what goes there")
		assert.Equal(t, warns, lacks, "%s: it warns", to)
	}
}

// A user who may write to an exchange, but not with this key: the messages stay, and the key's right is named (d08).
func TestReplayWithAKeyThatTheUserMayNotUse(t *testing.T) {
	v := newNamedVHost(t, "topic-rights")
	failed(v)
	v.exchange("events", "topic")
	v.bind("worker", "order.*", "events")
	user := manage.User(t, node.API(), "operator-of-audits", "management", v.name)
	n := manage.Of(t, node.API())
	n.Done(n.UpdateTopicPermissionsIn(v.name, user, rabbithole.TopicPermissions{Exchange: "events", Write: "^audit"}))
	as := strings.Replace(v.url(), "guest:guest", user+":s3cr3t", 1)
	r := run(t, "replay failed --to exchange:events/order.paid --yes --url", as, "--api", node.API())
	r.ends(t, cli.ExitRefused, "grant write on the key (rabbitmqctl set_topic_permissions)")
	v.holds("failed", 3).holds("worker", 0)
}
