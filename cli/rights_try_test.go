package cli_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/internal/assert"
)

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

	permission            string
	connections, channels int
	users                 int // that were made anew
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
	assert.That(t, (test.told != "" || r.status == cli.ExitDone) && strings.Contains(r.stderr, test.told),
		"with all of it: status %d: %s%s", r.status, r.out, r.stderr)
	wantRequests(t, try.requests.taken(), row.requests, r)
}

func (try *tryOfRights) permit(configure, write, read string) {
	try.permission = fmt.Sprintf(`{"configure":%q,"write":%q,"read":%q}`, configure, write, read)
	try.grant()
}

func (try *tryOfRights) allow(connections, channels int) {
	try.connections, try.channels = connections, channels
	try.grant()
}

// grant gives the user what it may have now.
func (try *tryOfRights) grant() {
	limits := "user-limits/" + try.user
	configure(try.t, http.MethodPut, limits+"/max-connections", fmt.Sprintf(`{"value":%d}`, try.connections))
	configure(try.t, http.MethodPut, limits+"/max-channels", fmt.Sprintf(`{"value":%d}`, try.channels))
	if try.permission != "" {
		configure(try.t, http.MethodPut, "permissions/"+try.v.name+"/"+try.user, try.permission)
	}
}

// become makes a user, as which the command runs.
func (try *tryOfRights) become(user string) {
	try.user = newUser(try.t, user, try.row.tag)
	try.as = strings.Replace(try.v.url(), "guest:guest", try.user+":s3cr3t", 1)
}

// renew goes on as another user: RabbitMQ may count a connection that ended as soon as it was open for as long as there
// is a user of that name (mgmt/README.md).
func (try *tryOfRights) renew() {
	try.users++
	try.become(fmt.Sprint(try.v.name, "-", try.users))
	try.grant()
}

func (try *tryOfRights) prepare() {
	if try.test.prepare(try.v); try.test.args != nil {
		try.args = append(withJSON(try.test.args(try.v)), "--url", try.as, "--api", try.api)
	}
}

// lacks reports whether a run was refused a connection or a channel that is allowed: those of the run before are
// counted until the broker has taken them down, or longer.
func (try *tryOfRights) lacks(r result) bool {
	return try.connections >= try.row.connections && strings.Contains(r.stderr, "max-connections") ||
		try.channels >= try.row.channels && strings.Contains(r.stderr, "max-channels")
}

// run runs the command, again as long as it lacks a connection or a channel that is allowed. It is also run again when
// a busy broker has not answered the check of the cluster in time.
func (try *tryOfRights) run() (r result) {
	try.t.Helper()
	defer func() {
		if try.t.Failed() {
			try.t.Logf("what it said last, as %s: status %d: %s%s", try.user, r.status, r.out, r.stderr)
		}
	}()
	await(try.t, "there are connections and channels enough", func() bool {
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
		assert.That(t, strings.Contains(told, word), "%s: %q is not told, status %d: %s", what, word, r.status, told)
	}
	assert.That(t, !strings.Contains(told, "s3cr3t"), "%s: the password is told: %s", what, told)
	assert.That(t, row.connections == 0 || row.channels <= 0 || r.status != cli.ExitDone,
		"%s: it was done nevertheless: %s", what, told)
}

// wantRequests checks how many requests a command sent to the API. A queue that has statistics by then needs no second
// list; on a machine with too much to do the check of the cluster is given up after three seconds, and a replay looks
// once more what it reaches.
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
	if n := len(requests); n < least || n > want+again {
		t.Errorf("%d requests to the API, the docs say %d: %s\n%s", n, want, strings.Join(requests, " "), r.stderr)
	}
}
