package ui

import (
	"cmp"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/mend"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// mono are styles without colours.
var mono = term.NewStyles(term.Mono, termenv.Ascii)

// terminal is the real program in a terminal emulator.
type terminal struct {
	Options
	t       *testing.T
	marks   int // marks that were sent
	glass   *glass
	voice   *voice // nil: the screen is not plain
	program *tea.Program
	keys    io.WriteCloser
	key     string // the last one, and when it was pressed
	pressed time.Time
	ended   chan struct{}
	err     error // of the program, once it has ended
	last    app   // as the program left it, once it has ended

	broker *recordedBroker // what it shows; nil: it has a real one
	source *recorded
	clock  *clock
}

// newTerminal runs the program in a terminal of this size, without colours unless adjust changes that.
func newTerminal(t *testing.T, o Options, width, height int, adjust ...func(*app)) *terminal {
	t.Helper()
	o.JQ = cmp.Or[mend.Runner](o.JQ, mend.InProcess{})
	a := newApp(t.Context(), o)
	if !o.Plain {
		a.Styles = mono
	}
	for _, f := range adjust {
		f(&a)
	}

	var keyboard io.ReadCloser
	var keys io.WriteCloser
	if keyboard, keys = io.Pipe(); o.Editor != "" {
		var err error
		// a file: the program can stop reading it while an editor has the terminal
		keyboard, keys, err = os.Pipe()
		must.Do(t, err)
	}

	term := &terminal{Options: o, t: t, glass: newGlass(width, height), keys: keys, ended: make(chan struct{})}
	term.source, _ = o.Source.(*recorded)
	if broker, ok := o.Broker.(*recordedBroker); ok {
		term.broker, term.clock = broker, broker.clock
	}

	var output io.Writer = term.glass
	if o.Plain {
		term.voice = &voice{to: output}
		output = term.voice
	}

	term.program = tea.NewProgram(marked{Model: a}, tea.WithInput(keyboard), tea.WithOutput(output),
		tea.WithAltScreen(), tea.WithoutSignals(), tea.WithFPS(120))
	go func() {
		defer close(term.ended)
		last, err := term.program.Run()
		if m, ok := last.(marked); ok {
			term.last, _ = m.Model.(app)
		}
		term.err = err
		a.Work.End()
	}()

	drained := make(chan struct{})
	go func() { // the emulator's answers to questions must be read, but are not used
		defer close(drained)
		_, _ = io.Copy(io.Discard, term.glass.emulator)
	}()

	term.program.Send(tea.WindowSizeMsg{Width: width, Height: height})

	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last screen:\n%s", term.screen())
		}

		term.program.Quit()
		select {
		case <-term.ended:
		case <-time.After(must.Patience):
			t.Error("the program did not end")
		}

		keys.Close()
		keyboard.Close()
		// Not emulator.Close, which races with its own Read.
		_ = term.glass.emulator.InputPipe().(io.Closer).Close()
		<-drained
	})

	return term
}

// open runs the program at 120 x 36, or another size; the other openers open a screen of it.
func (o Options) open(t *testing.T, size ...int) *terminal { return o.openWith(t, size) }

func (o Options) openWith(t *testing.T, size []int, adjust ...func(*app)) *terminal {
	t.Helper()
	if size == nil {
		size = []int{120, 36}
	}
	return newTerminal(t, o, size[0], size[1], adjust...)
}

// with opens a screen above the first one.
func with(open func(a *app) shell.Screen) func(*app) {
	return func(a *app) { a.tabs[0].stack = append(a.tabs[0].stack, a.NewPage(open(a))) }
}

// press types keys: text, or the escape sequences of key* below. It returns the terminal, for chaining.
func (term *terminal) press(keys ...string) *terminal {
	for _, k := range keys {
		if k == "" {
			continue
		}
		_, err := io.WriteString(term.keys, k)
		must.That(term.t, err == nil, "press %q: %v", k, err)
		if k != keyMark {
			term.key, term.pressed = k, time.Now()
		}
	}

	return term
}

const (
	keyEnter   = "\r"
	keyEsc     = "\x1b"
	keyDown    = "\x1b[B"
	keyUp      = "\x1b[A"
	keyTab     = "\t"
	keyCtrlC   = "\x03"
	keyCtrlR   = "\x12"
	keyCtrlD   = "\x04"
	keyBackTab = "\x1b[Z"
)

// screen returns the text on the screen, without blanks at the ends of lines.
func (term *terminal) screen() string { return term.glass.text() }

// await waits until all texts are on the screen. A key that came too early, for example while a queue was being read
// again, is pressed once more when the program asks for it, as a person would.
func (term *terminal) await(texts ...string) *terminal {
	term.t.Helper()
	return term.awaitThat("there is "+strings.Join(texts, ", "), func(screen string) bool {
		for _, text := range texts {
			if strings.Contains(screen, text) {
				continue
			}
			if strings.Contains(screen, "try again in a moment") && time.Since(term.pressed) > time.Second {
				term.press(term.key).settle()
			}
			return false
		}
		return true
	})
}

// awaitGone waits until a text is not on the screen.
func (term *terminal) awaitGone(text string) *terminal {
	term.t.Helper()
	return term.awaitThat("there is no "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}

// awaitRow waits until a text is in the row under the cursor.
func (term *terminal) awaitRow(text string) *terminal {
	term.t.Helper()
	return term.awaitThat("the cursor is on "+text, func(string) bool { return strings.Contains(term.cursorRow(), text) })
}

// lacks checks that a text is not on the screen now.
func (term *terminal) lacks(text, why string) *terminal {
	term.t.Helper()
	screen := term.screen()
	assert.That(term.t, !strings.Contains(screen, text), "%s: there is %s in\n%s", why, text, screen)
	return term
}

// awaitThat waits until the screen is as wanted.
func (term *terminal) awaitThat(what string, wanted func(screen string) bool) *terminal {
	term.t.Helper()
	deadline := time.Now().Add(must.Patience)
	for {
		screen := term.screen()
		if wanted(screen) {
			return term
		}
		must.That(term.t, !time.Now().After(deadline), "not on the screen within %v: %s\n%s", must.Patience, what, screen)
		select {
		case <-term.ended:
			term.t.Fatalf("the program ended (%v) while waiting until %s\n%s", term.err, what, screen)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// cursorRow returns the line with the cursor's mark.
func (terms *terminal) cursorRow() string {
	for _, line := range strings.Split(terms.screen(), "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " "+term.MarkChosen), term.MarkCursor) {
			return line
		}
	}

	return ""
}

func (term *terminal) resize(width, height int) *terminal {
	term.glass.resize(width, height)
	term.program.Send(tea.WindowSizeMsg{Width: width, Height: height})
	return term
}

// golden compares the screen with the recorded one; go test ./ui -update records it again. A slow poll on a busy
// machine shows in the first line, until the next one.
func (term *terminal) golden() *terminal {
	term.t.Helper()
	term.settle().awaitThat("the last poll was quick", func(screen string) bool {
		header, _, _ := strings.Cut(screen, "\n")
		return !strings.Contains(header, "old, every ") && !strings.Contains(header, "slow, ")
	})

	golden.RequireEqual(term.t, term.screen())
	return term
}

// awaitEnd waits until the program has ended by itself.
func (term *terminal) awaitEnd() {
	term.t.Helper()
	receive(term.t, term.ended, "the program did not end")
}

// receive waits for a value, or for the end of a channel.
func receive[T any](t *testing.T, from <-chan T, late string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(must.Patience):
		t.Fatal(late)
		panic("not reached")
	}
}

// lock guards what a test and its program share.
type lock struct{ sync.Mutex }

func (l *lock) change(do func()) {
	l.Lock()
	defer l.Unlock()
	do()
}

// under returns what is read under a lock.
func under[T any](l sync.Locker, value func() T) T {
	l.Lock()
	defer l.Unlock()
	return value()
}

// clock is a time that only tests advance.
type clock struct {
	lock
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 1, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time          { return under(c, func() time.Time { return c.at }) }
func (c *clock) advance(d time.Duration) { c.change(func() { c.at = c.at.Add(d) }) }

// recorded is a source that returns what it was given: a value of the domain, or an error.
type recorded struct {
	lock
	snapshot *model.Snapshot
	err      error
	asked    int
	counted  int
}

func (r *recorded) Current(ctx context.Context) (*model.Snapshot, error) { return r.Snapshot(ctx) }

func (r *recorded) Snapshot(context.Context) (*model.Snapshot, error) {
	outsideView("the API")
	r.Lock()
	defer r.Unlock()
	r.asked++
	if r.snapshot == nil {
		return nil, r.err
	}
	fresh := *r.snapshot // as with each poll
	return &fresh, r.err
}

func (r *recorded) Connections(context.Context) ([]string, error) {
	outsideView("the API")
	return nil, nil
}

// Counts returns those of the snapshot.
func (r *recorded) Counts(context.Context) (model.CountsByQueue, error) {
	outsideView("the API")
	r.Lock()
	defer r.Unlock()
	r.counted++
	counts := model.CountsByQueue{}
	if r.snapshot != nil {
		for _, q := range r.snapshot.Queues {
			counts[q.QueueRef] = model.QueueCounts{Ready: q.Ready, Unacked: q.Unacked}
		}
	}

	return counts, r.err
}

func (r *recorded) tell(s *model.Snapshot) { r.change(func() { r.snapshot, r.err = s, nil }) }
func (r *recorded) fail(err error)         { r.change(func() { r.err = err }) }
func (r *recorded) times() int             { return under(r, func() int { return r.asked }) }

func ref(name string) model.QueueRef { return build.Ref(name) }

// play presses keys, and awaits a text after each: its steps are pairs of them.
func (term *terminal) play(steps ...string) *terminal {
	term.t.Helper()
	for i := 0; i < len(steps); i += 2 {
		term.press(steps[i]).await(steps[i+1])
	}
	return term
}

// opened is the program with a screen open.
type opened func(t *testing.T, width, height int) *terminal

// ofFailed has n failed messages open.
func ofFailed(n int, change ...func(t *testing.T, o *Options)) opened {
	return func(t *testing.T, width, height int) *terminal {
		t.Helper()
		o := failed(n)
		for _, f := range change {
			f(t, &o)
		}
		return o.onFailed(t, width, height)
	}
}

// scene is a screen that keys lead to.
type scene struct {
	Name, Open string
	Sizes      int
	Steps      steps
}

// steps are keys, and the text that is awaited after each. In a file, <enter> and <down> are keys.
type steps []string

func (s *steps) UnmarshalTOML(list any) error {
	keys := strings.NewReplacer("<enter>", keyEnter, "<down>", keyDown)
	for _, step := range list.([]any) {
		*s = append(*s, keys.Replace(step.(string)))
	}
	return nil
}

// Screens and dialogs are as recorded, at 120 x 36 and 80 x 24, and many at 200 x 50.
func TestGolden(t *testing.T) {
	editing := func(t *testing.T, o *Options) {
		o.Editor, _ = scripted(t, `sed -i 's/"app_id": "ucenter"/"app_id": "by-hand"/; s/guan yu/zhang fei/; s/"headers": {/"headers": {"fixed": true,/' "$f"`)
	}
	exporting := func(_ *testing.T, o *Options) { o.Files = export.Files{} }
	journal := func(t *testing.T, width, height int) *terminal {
		return journaled(t, 5, 3).open(t, width, height).await("ucenter@user")
	}
	replay := func(t *testing.T, width, height int) *terminal {
		return interrupted(t).open(t, width, height).await("ended during the replay 1", "r resumes it")
	}

	smtp := func(t *testing.T, width, height int) *terminal {
		o := failedQueues()
		exporting(t, &o)
		return o.onSMTP(t, width, height).await("88 of 90 read", "not read: 2 of lots.failed")
	}

	find := func(t *testing.T, width, height int) *terminal {
		return orders().open(t, width, height).await("ucenter@user")
	}

	flow := func(worker string) opened {
		return func(t *testing.T, width, height int) *terminal {
			return failed(47).onFlow(t, worker, width, height).await("MOVED  ").awaitGone("reading the failed")
		}
	}

	home := func(t *testing.T, width, height int) *terminal {
		return busy().open(t, width, height).
			await("example.delay.life  ").awaitThat("what moves is counted", regexp.MustCompile(`heaven .* 0\.0 `).MatchString)
	}

	moved := func(t *testing.T, width, height int) *terminal {
		source := &recorded{snapshot: busyBroker()}
		term := frozen(source).open(t, width, height).await("1,204")
		source.tell(later(busyBroker(), 2*time.Second, map[string]int64{"ucenter@user@retry": 1199, "test-delay": 2}))
		return term.press(keyCtrlR).await("1,199")
	}

	opens := map[string]opened{
		"failed": ofFailed(47), "exporting": ofFailed(47, exporting), "editing": ofFailed(47, editing), "smtp": smtp,
		"find": find, "journal": journal, "replay": replay, "home": home, "moved": moved,
		"flow ucenter@user": flow("ucenter@user"), "flow worker-queue": flow("worker-queue"),
		"flow RetryQueue": flow("RetryQueue"),
	}

	sizes := map[int][]string{1: allSizes[2:], 2: allSizes[:2], 3: allSizes}
	must.Run(t, "testdata/scenes.toml", func(t *testing.T, scene scene) {
		at(t, sizes[scene.Sizes], func(t *testing.T, width, height int) {
			opens[scene.Open](t, width, height).play(scene.Steps...).golden()
		})
	})
}
