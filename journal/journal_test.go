package journal_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/target"
)

func at(t *testing.T) string { return filepath.Join(t.TempDir(), "state", "dlxtop", "journal.db") }

func open(t *testing.T, o journal.Options) *journal.Journal {
	t.Helper()
	j := journal.New(o)
	t.Cleanup(func() { j.Close() })
	return j
}

func record(operation plan.Operation) plan.Record {
	return plan.Record{
		Operation: operation, From: build.Ref("failed"), User: "guest", Broker: "localhost:5672",
		Planned: 3,
	}
}

func begin(t *testing.T, j *journal.Journal, r plan.Record) int64 {
	t.Helper()
	return must.Get(j.Begin(t.Context(), r))(t)
}

func dropped(positions ...int) []plan.Entry {
	var entries []plan.Entry
	for _, p := range positions {
		m := message.Message{
			Position: p, Exchange: "dlx", RoutingKey: "k", Headers: model.Table{
				"n": int32(p), "x-death": []any{model.Table{"count": int64(3)}},
			},
			Properties: message.Properties{MessageID: fmt.Sprint("m-", p)}, Body: []byte{0xff, byte(p)}, BodyBytes: 2,
		}
		m.Fingerprint = message.FingerprintOf(&m)
		entries = append(entries, plan.NewEntry(&m, nil, false))
	}

	return entries
}

func settled(outcome plan.Outcome, positions ...int) []plan.Settled {
	var all []plan.Settled
	for _, p := range positions {
		all = append(all, plan.Settled{Position: p, Outcome: outcome})
	}
	return all
}

func read(t *testing.T, j *journal.Journal, id int64) (entries []plan.Entry) {
	t.Helper()
	must.Do(t, j.Entries(t.Context(), id, func(e *plan.Entry) error {
		entries = append(entries, *e)
		return nil
	}))

	return entries
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	must.Do(t, errors.Join(errs...))
}

// What ends while another program reads the journal has not ended in the middle: neither as a record, nor where what it
// may have sent is replayed.
func TestEndsWhileItIsRead(t *testing.T) {
	path := at(t)
	j, other := open(t, journal.Options{Path: path}), open(t, journal.Options{Path: path})
	r, m, p := intended()
	begin(t, j, r)

	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 300 {
			id, err := j.Begin(t.Context(), r)
			assert.Equal(t, err, nil)
			assert.Equal(t, j.Write(id, []plan.Entry{sending(m, p)}, nil), nil)
			assert.Equal(t, j.Finish(id, nil, plan.Account{}), nil)
		}
	}()

	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
			assert.Equal(t, len(must.Get(other.Unfinished(t.Context()))(t)), 0, "unfinished")
			sent := must.Get(other.Replayed(t.Context(), r.Broker, ""))(t)
			double, _ := plan.NewDoubling(sent, build.Ref("b")).Against(m, plan.CopySetOf(m, p.Reaches)).(plan.Double)
			assert.Equal(t, double.Record, 0, "it may have been sent by the unfinished record")
		}
	}
}

func TestWhatWasDone(t *testing.T) {
	path := at(t)
	j := open(t, journal.Options{Path: path, Login: "ann"})
	why := record(plan.Drop)
	why.Reason = "INC-4711"
	id := begin(t, j, why)
	check(t, j.Write(id, dropped(1, 2), nil),
		j.Write(id, dropped(5, 9), append(settled(plan.Dropped, 1), settled(plan.Unsure, 2)...)))
	running := must.Get(j.Record(t.Context(), id))(t)
	assert.That(t, running.Running, "while it runs: %+v", running)
	assert.That(t, !running.Unfinished(), "while it runs: %+v", running)
	assert.Equal(t, running.Entries, 4)
	assert.Equal(t, running.Account.Dropped, 1)
	check(t, j.Finish(id, settled(plan.Dropped, 5, 2), plan.Account{Planned: 4, Dropped: 3, Stopped: "you stopped it"}),
		j.Close())

	j = open(t, journal.Options{Path: path})
	entries := read(t, j, id)

	var outcomes []plan.Outcome
	for _, e := range entries {
		outcomes = append(outcomes, e.Outcome)
		assert.That(t, message.FingerprintOf(e.Message) == e.Fingerprint, "%d is another message: %+v", e.Position, e.Message)
	}

	assert.Same(t, []plan.Outcome{plan.Dropped, plan.Dropped, plan.Dropped, ""}, outcomes)
	records := must.Get(j.Records(t.Context(), 10))(t)
	must.Equal(t, len(records), 1, "%+v", records)
	assert.Equal(t, records[0].Who(), "ann as guest@localhost:5672")
	assert.Equal(t, records[0].Reason, "INC-4711")
	assert.That(t, !records[0].Running, "%+v", records)
	assert.That(t, !records[0].Ended.IsZero(), "%+v", records)
	assert.Equal(t, records[0].Told(), "3 dropped, 1 untouched; it ended early")
	assert.That(t, time.Since(records[0].Began) <= time.Minute, "%+v", records)
	assert.Equal(t, records[0].Planned, 4)

	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "journal.db": 0o600} {
		info, err := os.Stat(filepath.Join(filepath.Dir(path), name))
		must.That(t, err == nil, "%s: %v %v", name, info.Mode(), err)
		assert.Equal(t, info.Mode(), want, "%v", name)
	}

	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.lock"))
	assert.That(t, len(left) == 0, "left behind: %v", left)
}

func TestUndoneMessagesAreMarked(t *testing.T) {
	j := open(t, journal.Options{Path: at(t)})
	id := begin(t, j, record(plan.Drop))
	check(t, j.Write(id, dropped(1, 2, 3), settled(plan.Dropped, 1, 2, 3)),
		j.Finish(id, nil, plan.Account{Planned: 3, Dropped: 3}))
	second := begin(t, j, undoOf(id))
	check(t, j.Write(second, restored(1, 2), settled(plan.Moved, 1)))
	got := read(t, j, id)
	assert.That(t, got[0].Undone, "while it runs: %+v", got)
	assert.That(t, !got[1].Undone, "while it runs: %+v", got)
	assert.That(t, !got[2].Undone, "while it runs: %+v", got)
	assert.Equal(t, got[0].Claimed, 0)
	assert.Equal(t, got[1].Claimed, second)
	assert.Equal(t, got[2].Claimed, 0)
	check(t, j.Finish(second, nil, plan.Account{Planned: 2, Moved: 1}))
	got = read(t, j, id)
	assert.That(t, got[0].Undone, "when it has ended: %+v", got)
	assert.That(t, !got[1].Undone, "when it has ended: %+v", got)
	assert.Equal(t, len(got[1].Undoing), 0)
	r, err := j.Record(t.Context(), id)
	must.Do(t, err)
	assert.Equal(t, r.Undone, 1, "%+v %v", r, err)

	check(t, j.Amend(second, settled(plan.Moved, 1)))
	again := must.Get(j.Record(t.Context(), id))(t)
	assert.Equal(t, again.Undone, 1, "the same message, found once more")
}

// Data survives a kill once Write and Settle have returned, and the record is then unfinished; while the program lives
// it is not.
func TestWhatWasWrittenIsThereAfterAKill(t *testing.T) {
	if path := os.Getenv("JOURNAL_VICTIM"); path != "" {
		j := journal.New(journal.Options{Path: path})
		id, err := j.Begin(context.Background(), record(plan.Drop))
		for p := 1; err == nil; p += 2 {
			if err = j.Write(id, dropped(p, p+1), nil); err == nil {
				err = j.Settle(id, settled(plan.Dropped, p))
			}
			if err == nil {
				fmt.Println(p + 1)
			}
		}

		fmt.Println(err)
		return
	}

	path := at(t)
	victim := exec.Command(os.Args[0], "-test.run=^TestWhatWasWrittenIsThereAfterAKill$")
	victim.Env = append(os.Environ(), "JOURNAL_VICTIM="+path)
	out, err := victim.StdoutPipe()
	check(t, err, victim.Start())
	lines := bufio.NewScanner(out)
	j := open(t, journal.Options{Path: path})

	said := 0
	for said < 40 && lines.Scan() {
		_, err := fmt.Sscan(lines.Text(), &said)
		must.That(t, err == nil, "%v", lines.Text())
	}

	unfinished := must.Get(j.Unfinished(t.Context()))(t)
	assert.Equal(t, len(unfinished), 0, "unfinished while it lives")
	check(t, victim.Process.Kill())
	for lines.Scan() {
		fmt.Sscan(lines.Text(), &said)
	}

	_ = victim.Wait()
	unfinished = must.Get(j.Unfinished(t.Context()))(t)
	must.That(t, len(unfinished) == 1, "%+v", unfinished)
	r := unfinished[0]
	n := len(read(t, j, r.ID))
	done := r.Account.Dropped
	assert.That(t, n >= said, "%d entries after %d were said to be durable: %+v", n, said, r)
	assert.That(t, n <= said+2, "%d entries after %d were said to be durable: %+v", n, said, r)
	assert.Equal(t, r.Entries, n)
	assert.That(t, done >= said/2, "%d entries after %d were said to be durable: %+v", n, said, r)
	assert.That(t, done <= n/2, "%d entries after %d were said to be durable: %+v", n, said, r)
	assert.Equal(t, r.Uncertain(), n-done)

	explained := strings.Join(append(r.Certain(), r.Interrupted()), "\n")
	for _, want := range []string{
		"ended during the drop 1 of failed", "certain: " + model.Count(r.Account.Dropped) + " dropped", "not certain",
	} {
		assert.Contains(t, explained, want)
	}
}

// large writes a record of one message of 300,000 bytes.
func large(t *testing.T, j *journal.Journal, r plan.Record) int64 {
	t.Helper()
	id, entries := begin(t, j, r), dropped(1)
	entries[0].Message.Body = make([]byte, 300_000)
	entries[0].Message.BodyBytes = 300_000
	check(t, j.Write(id, entries, nil), j.Finish(id, nil, plan.Account{}))
	return id
}

func TestRetention(t *testing.T) {
	now := time.Now()
	path := at(t)
	j := open(t, journal.Options{Path: path, Age: time.Hour, Bytes: 1 << 20, Now: func() time.Time { return now }})
	fill := func() int64 { return large(t, j, record(plan.Drop)) }

	ids := func() (all []int64) {
		records := must.Get(j.Records(t.Context(), 0))(t)
		for _, r := range records {
			all = append(all, r.ID)
		}
		return all
	}

	fill()
	now = now.Add(2 * time.Hour)
	fill()
	assert.List(t, ids(), []int64{2}, "too old are not forgotten")
	unfinished := begin(t, j, record(plan.Drop))

	for range 6 {
		fill()
	}

	got := ids()
	must.That(t, len(got) <= 6, "too much is not forgotten, or what has not ended is: %v", got)
	assert.Equal(t, got[0], 9)
	assert.Equal(t, got[len(got)-1], unfinished)
	check(t, j.Close())
	info, err := os.Stat(path)
	must.Do(t, err)
	assert.That(t, info.Size() <= 3<<20, "the file has %d bytes: %v", info.Size(), err)
}

// Beginning an undo or a resume does not delete the records that it needs, however full the journal is; a resumed
// record may be deleted later.
func TestFullJournalKeepsWhatIsUndone(t *testing.T) {
	t.Parallel()
	path := at(t)
	j := open(t, journal.Options{Path: path})
	first := large(t, j, record(plan.Drop))
	r := record(plan.Drop)
	r.Resumes = first
	second := large(t, j, r)
	check(t, j.Close())
	j = open(t, journal.Options{Path: path, Bytes: 1 << 10})
	r.Resumes = second
	third, err := j.Resume(t.Context(), r, nil)
	check(t, err, j.Finish(third, nil, plan.Account{}))
	undo, granted, err := j.Claim(t.Context(), undoOf(second), plan.Claim{Positions: []int{1}})
	check(t, err)
	assert.That(t, cmp.Equal(granted, []int{1}), "claimed %v", granted)
	other := begin(t, j, record(plan.Drop)) // by another program, while the undo runs
	check(t, j.Finish(other, nil, plan.Account{}))

	assert.Succeeds(t, j.Entries(t.Context(), second, func(e *plan.Entry) error {
		must.That(t, e.Message != nil, "it keeps %+v", e)
		assert.Equal(t, len(e.Message.Body), 300_000)
		return nil
	}))

	check(t, j.Finish(undo, nil, plan.Account{}))
}

// An undo settles it, and so does a week.
func TestUnfinishedIsNotReportedForEver(t *testing.T) {
	now := time.Now()
	j := open(t, journal.Options{Path: at(t), Now: func() time.Time { return now }})
	id := begin(t, j, record(plan.Drop))
	later := begin(t, j, record(plan.Drop))
	check(t, j.Close()) // like the end of the program

	want := func(ids ...int64) {
		t.Helper()
		unfinished := must.Get(j.Unfinished(t.Context()))(t)
		var got []int64
		for _, r := range unfinished {
			got = append(got, r.ID)
		}
		assert.That(t, cmp.Equal(got, ids), "unfinished are %v instead of %v", got, ids)
	}

	want(later, id)
	second := begin(t, j, undoOf(id))
	want(later, id)
	check(t, j.Finish(second, nil, plan.Account{}))
	want(later)
	now = now.Add(8 * 24 * time.Hour)
	want()
	r, err := j.Record(t.Context(), later)
	must.Do(t, err)
	assert.That(t, r.Unfinished(), "%+v %v", r, err)
}

// Reading only leaves no file behind.
func TestNothingIsMadeByLooking(t *testing.T) {
	path := at(t)
	j := open(t, journal.Options{Path: path})
	records, err := j.Records(t.Context(), 0)
	must.Do(t, err)
	assert.Equal(t, len(records), 0, "%v %v", records, err)
	_, err = j.Record(t.Context(), 7)
	assert.That(t, errors.Is(err, plan.ErrNoRecord), "%v", err)
	_, err = os.Stat(path)
	assert.That(t, os.IsNotExist(err), "there is a file")
}

func TestTwoProcessesAtOnce(t *testing.T) {
	path := at(t)
	const writers, writes = 4, 50
	done := make(chan error, writers)
	for range writers {
		j := open(t, journal.Options{Path: path})
		go func() {
			id, err := j.Begin(t.Context(), record(plan.Drop))
			for i := 0; i < writes && err == nil; i++ {
				err = j.Write(id, dropped(i+1), nil)
			}
			done <- err
		}()
	}

	for range writers {
		check(t, <-done)
	}

	records := must.Get(open(t, journal.Options{Path: path}).Records(t.Context(), 0))(t)
	must.Equal(t, len(records), writers, "%+v", records)
	assert.Equal(t, records[0].Entries, writes)
}

func TestPathOfTheJournalIsAbsolute(t *testing.T) {
	for _, test := range []struct{ state, home, want string }{
		{"/state", "/home/me", "/state/dlxtop/journal.db"},
		{"/state", "", "/state/dlxtop/journal.db"},
		{"", "/home/me", "/home/me/.local/state/dlxtop/journal.db"},
		{"relative", "/home/me", "/home/me/.local/state/dlxtop/journal.db"},
		{"", "", ""},
		{"", "relative", ""},
		{".", ".", ""},
	} {
		env := map[string]string{"XDG_STATE_HOME": test.state, "HOME": test.home}
		assert.Equal(t, journal.Path(func(name string) string { return env[name] }), test.want, "%+v", test)
	}
}

// Programs that create a new journal at the same time wait for each other.
func TestBegunByManyAtOnce(t *testing.T) {
	for range 10 {
		path := at(t)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				j := journal.New(journal.Options{Path: path})
				defer j.Close()
				id, err := j.Begin(t.Context(), record(plan.Drop))
				if err == nil {
					err = errors.Join(j.Write(id, dropped(1), nil), j.Settle(id, settled(plan.Dropped, 1)),
						j.Finish(id, nil, plan.Account{}))
				}

				assert.Succeeds(t, err)
			})
		}

		all.Wait()
		records, err := open(t, journal.Options{Path: path}).Records(t.Context(), 0)
		must.Do(t, err)
		assert.Equal(t, len(records), 4, "%d records: %v", len(records), err)
	}
}

// A record keeps which copies refusals have left, and where.
func TestCopiesOfRefusedMessages(t *testing.T) {
	j := open(t, journal.Options{Path: at(t)})
	r := record(plan.Replay)
	id := begin(t, j, r)
	in := func(name string) model.QueueRef { return model.QueueRef{VHost: r.From.VHost, Name: name} }
	copies := []plan.LeftCopies{
		{By: in("full"), In: []model.QueueRef{in("dead"), in("log")}, Messages: 6},
		{By: in("other"), In: []model.QueueRef{in("dead")}, Messages: 1, AtMost: true},
	}

	check(t, j.Finish(id, nil, plan.Account{Refused: 7, Copies: copies}))
	assert.Same(t, copies, must.Get(j.Record(t.Context(), id))(t).Account.Copies)
}

// intended returns a replay from the queue a, its message, and how that one will be published.
func intended() (plan.Record, *message.Message, *message.Publishing) {
	r := record(plan.Replay)
	r.From, r.Broker, r.Intent = build.Ref("a"), "b:5672", &plan.Intent{Options: plan.Options{Mark: true}}
	m := &message.Message{Position: 1, Body: []byte("{}")}
	m.Properties.MessageID = "m1"
	m.Identify()
	return r, m, &message.Publishing{
		Address: model.Address{RoutingKey: "w"}, Body: m.Body, Reaches: build.Refs("w"),
	}
}

// sending returns a replay's entry.
func sending(m *message.Message, p *message.Publishing) plan.Entry {
	e := plan.NewEntry(m, p, false)
	e.Copies = plan.CopySetOf(m, p.Reaches).List()
	return e
}

// A message whose publishing was intended, with an unknown outcome after a kill, is not sent again.
func TestCopiesOfAKilledReplay(t *testing.T) {
	r, m, p := intended()
	for name, test := range map[string]struct {
		settled []plan.Settled
		ended   bool
		held    bool
	}{
		"nothing is known": {nil, false, true}, "it ended before it": {nil, true, false},
		"a resume found it unsent": {[]plan.Settled{{Position: 1}}, false, false},
		"unknown":                  {[]plan.Settled{{Position: 1, Outcome: plan.Unsure}}, false, true},
		"returned":                 {[]plan.Settled{{Position: 1, Outcome: plan.Returned}}, false, false},
	} {
		path := at(t)
		j := open(t, journal.Options{Path: path})
		id := begin(t, j, r)
		check(t, j.Write(id, []plan.Entry{sending(m, p)}, test.settled))

		if test.ended {
			check(t, j.Finish(id, nil, plan.Account{}))
		}

		check(t, j.Close())
		j = open(t, journal.Options{Path: path}) // another program, after the kill
		sent := must.Get(j.Replayed(t.Context(), "b:5672", ""))(t)
		asFirstVersion(t, path)
		old := must.Get(j.Replayed(t.Context(), "b:5672", ""))(t)
		assert.That(t, reflect.DeepEqual(old, sent), "%s: written by 1.0.0 %+v, now %+v", name, old, sent)
		topology := build.Described("3.10.8", `
			queue w consumers=1
			queue a
			queue b
		`)
		got := plan.New(topology, plan.ActionWant{
			Operation: plan.Replay, From: build.Ref("b"), Sample: message.MessageList{*m}, Planned: 1,
			Options: plan.Options{Mark: true},
			Mode:    target.ToQueue, Fixed: model.Address{RoutingKey: "w"}, User: "guest", Sent: sent,
		})

		words := got.Refusal.Words()
		assert.That(t, got.Refusal.Refused() == test.held, "%s: %q, want held %v", name, words, test.held)
		assert.That(t, !test.held || strings.HasPrefix(words, "dlxtop journal resume 1: "), "%s: %q", name, words)
	}
}

// asFirstVersion has the copies in a journal where dlxtop 1.0.0 wrote them: in the line of their entry.
func asFirstVersion(t *testing.T, path string) {
	t.Helper()
	db := must.Get(sql.Open("sqlite", path))(t)
	defer db.Close()
	must.Get(db.Exec(`UPDATE entries SET content = replace(content, '{"position":1,', '{"position":1,"copies":"' ||
		(SELECT lower(hex(substr(c.content, 3))) FROM copies c WHERE c.record = entries.record) || '",')`))(t)
	must.Get(db.Exec(`DELETE FROM copies`))(t)
	must.Get(db.Exec(`UPDATE records SET version = 7`))(t)
}

// BenchmarkWrite writes replays of messages of 1 KiB, 500 at once, as an execution does.
func BenchmarkWrite(b *testing.B) { benchmarkWrite(b, 500, 1<<10, false) }

// BenchmarkWriteWhole writes messages of 16 KiB with their bodies, 250 at once, as a drop does.
func BenchmarkWriteWhole(b *testing.B) { benchmarkWrite(b, 250, 16<<10, true) }

func benchmarkWrite(b *testing.B, batch, size int, full bool) {
	j := journal.New(journal.Options{Path: filepath.Join(b.TempDir(), "journal.db")})
	defer j.Close()
	id := must.Get(j.Begin(b.Context(), record(plan.Replay)))(b)
	m := message.Message{Exchange: "dlx", RoutingKey: "k", Headers: model.Table{
		"n": int64(7), "x-death": []any{model.Table{"count": int64(3)}},
	}, Body: bytes.Repeat([]byte("x"), size), BodyBytes: size}
	p := message.Publishing{
		Headers: model.Table{"n": int64(7)}, Body: m.Body, Reaches: []model.QueueRef{{VHost: "/", Name: "worker"}},
	}
	for b.Loop() {
		entries := make([]plan.Entry, batch)
		for i := range entries {
			m.Position++
			entries[i] = plan.NewEntry(&m, &p, full)
		}
		must.Do(b, j.Write(id, entries, nil))
	}

	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*batch), "µs/message")
}
