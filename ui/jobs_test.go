package ui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/depth"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
)

// failsIn makes a worker and its failed queue, and publishes failures for a reason there.
func failsIn(t *testing.T, channel *amqp.Channel, worker, reason string, n int) {
	t.Helper()
	dial.Queue(t, channel, worker, deadTo(worker+".failed"))
	dial.Queue(t, channel, worker+".failed", nil)
	dial.Publish(t, channel, worker+".failed", many(n, func(int) amqp.Publishing {
		return amqp.Publishing{Headers: amqp.Table{"x-exception-type": reason}}
	})...)
}

// A replay goes on in the background: it is counted, listed, opened and stopped there. Nothing else acts on its queue,
// quitting asks, and its account stays.
func TestJobs(t *testing.T) {
	node, vhost, at := ownVHost(t)
	o, channel := optionsOn(t, node, vhost, at)
	failsIn(t, channel, "w", "Timeout", 60)
	failsIn(t, channel, "other", "Timeout", 1)
	term := o.open(t).await("60")
	term.press(":queue w.failed", keyEnter).await("60 messages").press("R").await("o spread over 1m")
	term.press("o").await("spread over 5m").agree("replay", "Replaying 60 messages")
	term.play("b", "1 job  ", ":jobs", "what runs in the background", keyEnter, "2 of 60", "u",
		"w.failed already: :jobs shows it", keyEsc, " runs", keyEnter, "Replaying 60 messages", "b", " runs",
		keyCtrlC, "1 job (:jobs) would be stopped", keyEsc, "1 job  ")
	term.press(":queue other.failed", keyEnter).await("1 message").press("D").await("Drop 1 message").
		agree("drop", "1 message dropped").press(keyEnter, ":jobs", keyEnter).await("w.failed  ")
	term.play(":jobs", "what runs", keyEnter, "w.failed  ").lacks("jobs › jobs", "it is open already")
	term.play("x", "! job ended", "j", "untouched").awaitGone("! job ended").lacks("1 job  ", "it has ended")
	term.play(keyEnter, "What happened", keyEnter, "messages", ":jobs", "what runs", keyEnter, "on request")
	term.awaitThat("none is lost", func(string) bool {
		return depth.Of(t, channel, "w")+depth.Of(t, channel, "w.failed") == 60
	})
}

// A job that runs, and one that has ended, with news.
func TestJobsGolden(t *testing.T) {
	atSizes(t, func(t *testing.T, width, height int) {
		o := failed(3)
		run := func(number shell.Request, state shell.Run, a plan.Account) *shell.Job {
			state.Began, state.Account = o.Now().Add(-20*time.Second), a
			return &shell.Job{Page: shell.Page{Number: number}, Run: state}
		}
		o.openWith(t, []int{width, height}, func(a *app) {
			a.Jobs = []*shell.Job{
				run(2, shell.Run{What: "drop mail.failed", State: shell.DialogEnded},
					plan.Account{Planned: 9, Dropped: 7, Unknown: 2}),
				run(1, shell.Run{What: "replay orders.failed", State: shell.DialogRunning},
					plan.Account{Planned: 6000, Moved: 900}),
			}
			a.Tell("new cause", ref("orders.failed"), "in orders.failed: Timeout")
			a.Tell("job ended", model.QueueRef{}, "drop mail.failed: 7 dropped, 2 unknown")
		}).play(":jobs", "what runs", keyEnter, "replay orders.failed").golden()
	})
}

// bells keeps what rang.
type bells struct {
	lock
	rung []string
}

func (b *bells) Write(text []byte) (int, error) {
	b.change(func() { b.rung = append(b.rung, string(text)) })
	return len(text), nil
}

func (b *bells) all() []string { return under(b, func() []string { return slices.Clone(b.rung) }) }

// The first failed message, a new cause and one that is back ring once, also while other screens are shown. What was
// there at the start does not, and neither does what an undo is bringing back.
func TestBell(t *testing.T) {
	node, vhost, at := ownVHost(t)
	o, channel := optionsOn(t, node, vhost, at)
	o.Bell = true
	failsIn(t, channel, "full", "Timeout", 2)
	rung := &bells{}
	term := o.openWith(t, nil, func(a *app) {
		a.Clipboard = rung
		a.SetActing(model.QueueRef{VHost: vhost, Name: "mine.failed"}, true)
	})
	term.await("full").press("3").await("Timeout").press("o").await("marked as resolved").press("2").await("full.failed")
	failsIn(t, channel, "mine", "Mine", 1)
	term.await("mine.failed")
	failsIn(t, channel, "w", "Broken", 1)
	term.await("! first failed message", "w.failed").play("3", "Broken", "2", "full.failed") // it was read
	failsIn(t, channel, "w", "Gone", 1)
	term.await("! new cause", "Gone").play("3", "Broken").awaitGone("! new cause").press("2")
	failsIn(t, channel, "full", "Timeout", 1)
	term.await("! cause back").awaitThat("it rang", func(string) bool { return len(rung.all()) >= 3 })
	assert.Equal(t, len(rung.all()), 3, "%q", rung.all())
}

// What somebody holds is still in its queue: there is no first failed message when it comes back, however long it took.
// Nor is there one after a single count of 0, which may be late: polls of a busy broker are far apart.
func TestWhatIsHeldIsNoNews(t *testing.T) {
	failed := func(n, held int64) *model.Snapshot {
		return recording(
			queue("w", dlx(""), deadKey("w.failed")),
			queue("w.failed", ready(n), func(q *model.Queue) { q.Unacked = model.Some(held) }),
		)
	}
	clock, source := newClock(), &recorded{snapshot: failed(1, 0)}
	term := lively(source, clock).open(t).await("1 failed")

	empty := func(held int64, polls int) {
		source.tell(failed(0, held))
		term.awaitGone("1 failed")
		source.fail(errors.New("busy"))
		term.await("busy")
		clock.advance(2 * model.StatisticsLag)
		for range polls {
			source.tell(failed(0, held))
			term.awaitGone("busy")
		}
		source.tell(failed(1, 0))
		term.await("1 failed")
	}
	empty(1, 1)
	term.lacks("first failed message", "it was held")
	empty(0, 0)
	term.lacks("first failed message", "it was counted once")
	empty(0, 1)
	term.await("! first failed message")
}

// Statistics of a queue that was declared for its first message may come later than the queue.
func TestNewsOfAQueueThatIsCountedLater(t *testing.T) {
	source := &recorded{snapshot: recording(queue("w", dlx(""), deadKey("w.failed")))}
	term := lively(source, newClock()).open(t).press("2").await("w")
	for want, n := range []model.Opt[int64]{model.Unknown[int64](), model.Some[int64](1)} {
		source.tell(recording(
			queue("w", dlx(""), deadKey("w.failed")),
			queue("w.failed", func(q *model.Queue) { q.Ready = n }),
		))
		term.await("w.failed  ", strings.Repeat("! first failed message", want))
	}
}

func TestNotification(t *testing.T) {
	for env, want := range map[string]string{
		"xterm-kitty": "\a\x1b]9;dlxtop: x\a", "rxvt-unicode-256color": "\a\x1b]777;notify;dlxtop;x\a", "tmux-256color": "\a",
	} {
		got := shell.Bell(func(name string) string { return map[string]string{"TERM": env}[name] }, "x")
		assert.Equal(t, got, want, "%s", env)
	}

	var m shell.Memory
	m.Tell("new cause", ref("q"), "\x1b]0;x\a\u009c")
	assert.That(t, !strings.ContainsAny(m.News[0].Words, "\x1b\a\u009c"), "%q", m.News[0].Words)
}
