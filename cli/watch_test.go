package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/observe"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/dial"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/seed"
	"github.com/dlxtop/dlxtop/internal/size"
	"github.com/dlxtop/dlxtop/model/alarm"
	"github.com/dlxtop/dlxtop/preferences"
)

// remembering keeps alarms in a file of the test.
func remembering(t *testing.T) func(*cli.Program) {
	return keptIn(filepath.Join(t.TempDir(), "alarms.json"))
}

func keptIn(path string) func(*cli.Program) {
	return func(p *cli.Program) {
		p.Alarms = func(string) observe.Memory { return preferences.File{Path: path} }
	}
}

// awaitPoll waits until a watch has polled once more, and has told everything: what is ended while it tells may tell
// that again, and what has not polled yet ends without a broker.
func awaitPoll(t *testing.T, path string) {
	t.Helper()
	since := time.Now()
	must.Await(t, "the watch has polled, and told all", func() bool {
		text, err := preferences.File{Path: path}.Load()
		var kept struct {
			Rules map[string]*alarm.State
		}
		if err != nil || json.Unmarshal(text, &kept) != nil {
			return false
		}

		for _, state := range kept.Rules {
			if state.At.Before(since) || len(state.Undelivered) > 0 {
				return false
			}
		}

		return len(kept.Rules) > 0
	})
}

// alarmed is a watch that can be restarted, and what its webhook received.
type alarmed struct {
	sync.Mutex
	events map[string]string // by what they are about
	refuse bool
	end    func()
}

// ServeHTTP receives an event; refuse makes it fail, so that it comes again.
func (w *alarmed) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	w.Lock()
	defer w.Unlock()
	body, _ := io.ReadAll(r.Body)
	var e struct{ Event, Subject string }
	if w.refuse = !w.refuse; w.refuse || json.Unmarshal(body, &e) != nil {
		answer.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.events[e.Subject] += e.Event + " "
}

func (w *alarmed) about(subject string) string {
	w.Lock()
	defer w.Unlock()
	return w.events[subject]
}

func (w *alarmed) start(t *testing.T, change func(*cli.Program), args ...string) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- runWords(ctx, change, args) }()
	w.end = func() {
		cancel()
		(<-ended).ends(t, cli.ExitInterrupted)
	}
}

// Failures come and go at random, while watch and broker are restarted and every delivery is refused once: each begin
// and each end is told once, and nothing else.
func TestWatchTellsOnce(t *testing.T) {
	t.Parallel()
	own := must.Get(demo.Start(t.Context(), demo.Options{}))(t)
	defer own.Stop()
	channel := dial.Channel(t, own.AMQP())
	dial.Queue(t, channel, "w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
	dial.Queue(t, channel, "w.failed", nil)

	w := &alarmed{events: map[string]string{}}
	hook := httptest.NewServer(w)
	defer hook.Close()
	path := filepath.Join(t.TempDir(), "alarms.json")
	memory := keptIn(path)
	start := func() {
		w.start(t, memory, "watch", "--url", own.AMQP(), "--api", own.API(), "--interval", "1s", "--webhook", hook.URL,
			"--when", "failed > 0", "--when", "new_cause")
	}

	random, want, failing := seed.Rand(t), "", false
	turn := func() {
		what := "begins "
		if failing = !failing; failing {
			dial.Publish(t, channel, "w.failed", amqp.Publishing{
				DeliveryMode: amqp.Persistent, Headers: amqp.Table{"x-exception-type": "E", "x-exception-message": "boom"},
			})
		} else {
			what = "ends "
			must.Get(channel.QueuePurge("w.failed", false))(t)
		}
		want += what
	}

	start()
	for range size.Rounds(1) { // three events each, and two restarts
		for _, step := range random.Perm(4) {
			awaitPoll(t, path)
			switch step {
			case 0: // while nothing watches
				w.end()
				turn()
				start()
			case 1: // the broker goes away and comes back
				must.Do(t, own.Halt())
				must.Do(t, own.Resume(t.Context()))
				channel = dial.Channel(t, own.AMQP())
				turn()
			case 2: // the watch is restarted, and nothing changes
				w.end()
				start()
			default:
				turn()
			}
			for _, subject := range []string{"w", "E: boom"} {
				must.Await(t, want+"of "+subject, func() bool { return len(w.about(subject)) >= len(want) })
			}
		}
	}

	awaitPoll(t, path)
	w.end()
	assert.Equal(t, w.about("w"), want)
	assert.Equal(t, w.about("E: boom"), want)
}

func TestWatchOnce(t *testing.T) {
	v := newVHost(t, "w.failed")
	v.declare("w", amqp.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "w.failed"})
	once := func(args ...string) result {
		return runChanged(t.Context(), remembering(t), v.on(append([]string{"watch", "--once"}, args...)...)...)
	}

	once("--when", "failed > 0").ends(t, cli.ExitDone)
	v.fill("w.failed", 2)
	once("--when", "failed > 0").ends(t, cli.ExitRefused).shows(t, "begins", "/w: failed > 0 (failed 2)")
	once("--when", "failed > 0", "-o", "json").shows(t, `"facts":{`, `"failed":2`, `"next_due_ms":0`)
	once("--when", "oldest_failed > 1h").ends(t, cli.ExitRefused, "is not decided for", "oldest_failed: unknown")

	told := filepath.Join(t.TempDir(), "told")
	once("--when", "failed == 2", "--run", `cat > "`+told+`"; echo "$DLXTOP_EVENT $DLXTOP_FAILED" >> "`+told+`"`).
		ends(t, cli.ExitRefused)
	text := string(must.Get(preferences.File{Path: told}.Load())(t))
	assert.Contains(t, text, `{"event":"begins","alarm":"`)
	assert.Contains(t, text, "begins 2\n")
}
