package ui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"github.com/muesli/termenv"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/dashboard"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/ui/shell"
	"github.com/dlxtop/dlxtop/ui/term"
)

// driven is the program without a terminal: the test takes the results of its commands, one message at a time.
type driven struct {
	t    *testing.T
	app  app
	came chan tea.Msg
}

func drive(t *testing.T, o Options) *driven {
	d := &driven{t: t, app: newApp(t.Context(), o), came: make(chan tea.Msg)}
	t.Cleanup(d.app.Env.Work.End)
	d.take(tea.WindowSizeMsg{Width: 120, Height: 36})
	d.take(startMsg{})
	return d
}

func (d *driven) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		select {
		case d.came <- msg:
		case <-d.t.Context().Done():
		}
	}()
}

func (d *driven) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			d.run(cmd)
		}
	default:
		next, cmd := d.app.Update(msg)
		d.app = next.(app)
		d.run(cmd)
	}
}

func (d *driven) await(text string) {
	d.t.Helper()
	late := time.After(must.Patience)
	for !strings.Contains(ansi.Strip(d.app.View()), text) {
		select {
		case msg := <-d.came:
			d.take(msg)
		case <-late:
			d.t.Fatalf("there is no %q on the screen\n%s", text, ansi.Strip(d.app.View()))
		}
	}
}

func (d *driven) press(key string) {
	msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(key)}
	if special, ok := map[string]tea.KeyType{keyEnter: tea.KeyEnter, keyDown: tea.KeyDown}[key]; ok {
		msg = tea.KeyMsg{Type: special}
	}
	d.take(msg)
}

// outsideView panics when a view calls it: View runs in its caller's goroutine, commands run in their own.
func outsideView(what string) {
	if bytes.Contains(debug.Stack(), []byte("ui.app.View(")) {
		panic("a view asks " + what)
	}
}

// These only answer commands, so that a view which asks the journal or the disk is detected; so do recorded and
// recordedBroker.
type (
	askedBroker struct{ shell.Broker }
	records     = shell.Records // it has a method with its own name

	askedRecords  struct{ records }
	askedMessages struct{ message.Messages }
)

func (b askedBroker) Peek(ctx context.Context, plan peek.Plan) (peek.Peeked, error) {
	peeked, err := b.Broker.Peek(ctx, plan)
	peeked.Messages = askedMessages{peeked.Messages}
	return peeked, err
}

func (r askedRecords) Records(ctx context.Context, limit int) ([]plan.Record, error) {
	outsideView("the journal")
	return r.records.Records(ctx, limit)
}

func (r askedRecords) Record(ctx context.Context, id int64) (plan.Record, error) {
	outsideView("the journal")
	return r.records.Record(ctx, id)
}

func (r askedRecords) Unfinished(ctx context.Context) ([]plan.Record, error) {
	outsideView("the journal")
	return r.records.Unfinished(ctx)
}

func (r askedRecords) Chain(ctx context.Context, id int64) ([]plan.Record, error) {
	outsideView("the journal")
	return r.records.Chain(ctx, id)
}

func (r askedRecords) Entries(ctx context.Context, id int64, each plan.VisitEntry) error {
	outsideView("the journal")
	return r.records.Entries(ctx, id, each)
}

// onDisk also panics when Update reads from disk: it must not wait for that.
func onDisk() {
	outsideView("the disk")
	if bytes.Contains(debug.Stack(), []byte("ui.app.Update(")) {
		panic("Update reads the disk")
	}
}

func (m askedMessages) InMemory() bool { return false }

func (m askedMessages) At(i, body int) (message.Message, error) {
	onDisk()
	return m.Messages.At(i, body)
}

func (m askedMessages) Range(from, to, body int, f message.Visit) error {
	onDisk()
	return m.Messages.Range(from, to, body, f)
}

func (m askedMessages) ReadBody(i int, b []byte, from int64) (int, error) {
	onDisk()
	return m.Messages.ReadBody(i, b, from)
}

// What is drawn was worked out by Update, on each screen and with each dialog, also after each change of the size;
// drawing it again gives the same.
func TestViewAsksNoBroker(t *testing.T) {
	must.Run(t, "testdata/views.toml", func(t *testing.T, view scene) {
		o, _, c := failedOptions(5)

		withJournal(t, &o, 3)
		o.Broker = askedBroker{o.Broker}
		o.Journal = askedRecords{o.Journal}

		o.Now = func() time.Time {
			outsideView("the clock")
			return c.now()
		}

		d := drive(t, o)
		d.app.Env.Clipboard = io.Discard
		d.await("ucenter@user")

		for i := 0; i < len(view.Steps); i += 2 {
			d.press(view.Steps[i])
			d.await(view.Steps[i+1])
		}

		for _, size := range []tea.WindowSizeMsg{
			{Width: 120, Height: 36}, {Width: 80, Height: 24}, {Width: 200, Height: 50},
		} {
			d.take(size)
			first, second := d.app.View(), d.app.View()
			assert.That(t, first == second, "at %s two views differ:\n%s\n%s", fmt.Sprint(size), first, second)
		}
	})
}

// A frame is a screen without a terminal: the first one, or what a command opens, with what it reads.
func TestFrame(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file, open string
		want             []string
	}{
		{"flows", "a.txt", "", []string{"▸ ✗  example.delay.heaven", "── example.delay.heaven"}},
		{"queues", "b.txt", "queues", []string{"▸ RetryQueue", "UNACKED"}},
		{"flow", "c.ansi", "flow ucenter@user", []string{"\x1b[", "ucenter@user@retry", "master.failed"}},
		{"messages", "d.txt", "queue ucenter@user@failed", []string{"5 messages", "ROUTING KEY", "TimeoutError"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), test.file)
			must.Do(t, WriteFrame(t.Context(), dashboard.Frame{Path: path, Open: test.open, Width: 120, Height: 36}, failed(5)))
			frame := must.Get(os.ReadFile(path))(t)
			for _, want := range test.want {
				assert.Contains(t, string(frame), want, "the frame")
			}
		})
	}
}

func TestFrameThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	there := filepath.Join(t.TempDir(), "there")
	must.Do(t, os.WriteFile(there, nil, 0o600))
	must.Run(t, "testdata/refused_frames.toml", func(t *testing.T, test struct{ Name, Path, Open, Want string }) {
		t.Parallel()
		if test.Path == "there" {
			test.Path = there
		} else {
			test.Path = filepath.Join(t.TempDir(), test.Path)
		}
		err := WriteFrame(t.Context(), dashboard.Frame{Path: test.Path, Open: test.Open, Width: 120, Height: 36}, failed(5))
		must.Fails(t, err, test.Want)
		assert.Lacks(t, err.Error(), "\x1b")
		info, err := os.Stat(test.Path)
		assert.That(t, err != nil || info.Size() <= 0, "it was written: %v", err)
		assert.That(t, err == nil || test.Path != there, "it was written: %v", err)
	})
}

// snapshotOfQueues writes the queues into a file, and reads it.
func snapshotOfQueues(t *testing.T, path string) (*terminal, string) {
	t.Helper()
	coloured := func(a *app) { a.Styles = term.NewStyles(term.Dark, termenv.TrueColor) }
	screen := newTerminal(t, failed(5), 120, 36, coloured)
	screen.await("ucenter@user").press("2").await("UNACKED").command("snapshot "+path, "▸ snapshot /")
	screen.press(keyEnter).await("this screen is in ")
	text := must.Get(os.ReadFile(path))(t)
	return screen, string(text)
}

// A frame is written as it is on the screen, without colours, for its owner alone, and never over another file.
func TestSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame")
	term, text := snapshotOfQueues(t, path)
	lines := strings.Split(text, "\n")
	must.Equal(t, len(lines), 37, "the frame has %d lines:\n%s", len(lines), text)
	assert.Lacks(t, text, "\x1b")
	assert.Contains(t, text, "UNACKED")
	assert.Lacks(t, text, "snapshot")
	assert.Equal(t, lines[0], strings.TrimRight(lines[0], " "))
	info, err := os.Stat(path)
	must.Do(t, err)
	assert.Equal(t, info.Mode().Perm(), 0o600, "%v, %v", info.Mode(), err)
	term.command("snapshot "+path, "▸ snapshot /").press(keyEnter).await("the file exists already")
	term.command("snapshot "+filepath.Join(path, "below"), "▸ snapshot /").press(keyEnter).await("not written to")
}

// :snapshot FILE.ansi writes the screen in its colours; a picture is refused.
func TestSnapshotInColours(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frame.ANSI")
	screen, text := snapshotOfQueues(t, path)
	assert.Contains(t, text, "38;2;255;123;113")
	assert.Equal(t, strings.Count(text, "\n"), 36, "%q", text)
	screen.command("snapshot "+path+".png", "▸ snapshot /").press(keyEnter).await("a snapshot is text")
	_, err := os.Stat(path + ".png")
	assert.That(t, err != nil, "there is a picture")
}

// glass is the emulator behind its own lock: vt.SafeEmulator returns its cells unlocked.
type glass struct {
	lock
	emulator *vt.Emulator
	drawn    string // the text on it
	stale    bool   // it was written to since
	title    string
}

func newGlass(width, height int) *glass {
	g := &glass{emulator: vt.NewEmulator(width, height), stale: true}
	g.emulator.SetCallbacks(vt.Callbacks{Title: func(title string) { g.title = title }}) // while it is written to
	return g
}

func (g *glass) Write(p []byte) (int, error) {
	g.Lock()
	defer g.Unlock()
	g.stale = true
	return g.emulator.Write(p)
}

func (g *glass) resize(width, height int) {
	g.change(func() {
		g.stale = true
		g.emulator.Resize(width, height)
	})
}

// text returns the text on it, which is asked for often, and changes seldom.
func (g *glass) text() string {
	g.Lock()
	defer g.Unlock()
	if !g.stale {
		return g.drawn
	}
	lines := make([]string, g.emulator.Height())
	for y := range lines {
		var b strings.Builder
		for x := 0; x < g.emulator.Width(); {
			c := g.emulator.CellAt(x, y)
			if c == nil || c.Width == 0 || c.Content == "" {
				b.WriteByte(' ')
				x++
				continue
			}

			b.WriteString(c.Content)
			x += c.Width
		}

		lines[y] = strings.TrimRight(b.String(), " ")
	}

	g.drawn = strings.Join(lines, "\n") + "\n"
	g.stale = false
	return g.drawn
}

// cursor returns the position of the terminal's cursor.
func (g *glass) cursor() (x, y int) {
	at := under(g, g.emulator.CursorPosition)
	return at.X, at.Y
}

// mark returns the latest that was drawn.
func (g *glass) mark() string { return under(g, func() string { return g.title }) }

// keyMark is a key that dlxtop does not know.
const keyMark = "\x1b[34~"

// marked is the program's model. When it gets keyMark, every earlier key has been handled: then it puts an invisible
// title with the number of marks after the last line.
type marked struct {
	tea.Model
	marks int
}

func (m marked) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		if msg.Type == tea.KeyF20 {
			m.marks++
			return m, nil
		}
	case inside:
		msg(m.Model.(app))
		return m, nil
	}

	var command tea.Cmd
	m.Model, command = m.Model.Update(msg)
	return m, command
}

func (m marked) View() string {
	if m.marks == 0 {
		return m.Model.View()
	}
	return m.Model.View() + fmt.Sprintf("\x1b]2;%s\x07", markOf(m.marks))
}

// inside reads the program between two messages.
type inside func(a app)

// awaitInside waits until the program is in a state that the screen does not show.
func (term *terminal) awaitInside(what string, wanted func(a app) bool) *terminal {
	term.t.Helper()
	return term.awaitThat(what, func(string) bool {
		answer := make(chan bool, 1)
		term.program.Send(inside(func(a app) { answer <- wanted(a) }))
		select {
		case is := <-answer:
			return is
		case <-term.ended:
			return false
		}
	})
}

func markOf(n int) string { return fmt.Sprint("mark ", n) }

// settle waits until every key pressed so far has been handled and drawn. A command's answer may still come later.
func (term *terminal) settle() *terminal {
	term.t.Helper()
	term.marks++
	term.press(keyMark)
	return term.awaitThat("the mark behind the keys", func(string) bool { return term.glass.mark() == markOf(term.marks) })
}

// voice is a screen reader: it gets what a plain screen writes, a line for each movement of the terminal's cursor.
type voice struct {
	lock
	lines term.Lines
	to    io.Writer
	said  bytes.Buffer
}

func (v *voice) Write(b []byte) (int, error) {
	v.Lock()
	defer v.Unlock()
	out := v.lines.Rewrite(b)
	v.said.Write(out)
	if _, err := v.to.Write(out); err != nil {
		return 0, err
	}

	return len(b), nil
}

var movements = regexp.MustCompile(`\x1b\[[\d;]*H`)

// heard returns the lines written since the last call, without the header: a poll may be slow.
func (v *voice) heard() (lines []string) {
	v.Lock()
	defer v.Unlock()
	for _, line := range movements.Split(v.said.String(), -1) {
		if line = strings.TrimSpace(ansi.Strip(line)); line != "" && !strings.HasPrefix(line, "dlxtop ") {
			lines = append(lines, line)
		}
	}

	v.said.Reset()
	return lines
}

// onRow waits until the terminal's cursor is on a row with a text.
func (terms *terminal) onRow(text string) *terminal {
	terms.t.Helper()
	return terms.awaitThat("the terminal's cursor is on "+text, func(s string) bool {
		_, y := terms.glass.cursor()
		return strings.Contains(strings.Split(s, "\n")[y], text)
	})
}

// awaitPolls waits for this many more of them.
func (terms *terminal) awaitPolls(n int) *terminal {
	terms.t.Helper()
	for range n {
		var before time.Time
		terms.awaitInside("a poll", func(a app) bool {
			if before.IsZero() {
				before = a.poller.readAt
			}
			return !a.poller.readAt.Equal(before)
		})
	}

	return terms
}

// A screen reader hears the row to which the cursor came, what changed on the broker, and nothing else.
func TestPlainScreen(t *testing.T) {
	o, channel := storyVHost(t, "mail", "push", "sms")
	for name, n := range map[string]int{"mail": 6, "push": 4, "sms": 2} {
		failInto(t, channel, name+".failed", "classic", "ValueError: no address", n)
	}

	o.Plain = true
	screen := o.open(t, 120, 24)
	screen.await("[1 Flows]", "3 Failed 12", o.VHost+"/mail ", o.VHost+"/push ", o.VHost+"/sms ").press("g").onRow("mail ")
	said := []string{""}
	for tries := 0; len(said) > 0; tries++ { // until the statistics have the new queues
		screen.voice.heard()
		screen.awaitPolls(6)
		said = screen.voice.heard()
		must.That(t, tries < 20, "nothing happens but time, and it says %q", said)
	}

	screen.press("j").onRow("push ")
	said = screen.voice.heard()
	must.Equal(t, len(said), 1, "j said %q", said)
	assert.That(t, strings.HasPrefix(said[0], o.VHost+"/push "), "j said %q", said)
	failInto(t, channel, "sms.failed", "classic", "ValueError: no address", 1)
	screen.await("3 Failed 13").awaitThat("the row has it", regexp.MustCompile(`sms .* 3\n`).MatchString)
	for _, line := range screen.voice.heard() {
		assert.That(t, strings.HasPrefix(line, o.VHost+"/sms ") || strings.Contains(line, "3 Failed 13"),
			"said %q, which did not change", line)
	}

	screen.onRow("push ")
	screen.press("z") // the pane, in turn
	screen.await("failed queue", "2 of 3").press("z").onRow("push ")
}

// A list scrolls a row at a time, and the terminal's cursor is where text is typed; a dialog is alone.
func TestPlainListScrolls(t *testing.T) {
	o, channel := storyVHost(t, "mail")
	for i := range 30 {
		failInto(t, channel, "mail.failed", "classic", fmt.Sprint("ValueError: number ", i), 1)
	}

	o.Plain = true
	screen := o.open(t, 120, 24).onRow("mail ").press("f").await(o.VHost + "/mail.failed   30 messages")
	screen.onRow("number 0 ").awaitPolls(2)
	screen.voice.heard()

	for i := range 25 { // more than a screen
		screen.press("j")
		row := fmt.Sprintf("ValueError: number %d ", i+1)
		screen.onRow(row)
		said := slices.DeleteFunc(screen.voice.heard(), func(line string) bool { // statistics of new queues may arrive
			return !strings.Contains(line, "ValueError")
		})
		must.Equal(t, len(said), 1, "j to %q said %q", row, said)
		must.Contains(t, said[0], row)
	}

	screen.press("/", "number 1").await("/ number 1")
	screen.awaitThat("the terminal's cursor is in the field", func(s string) bool {
		x, y := screen.glass.cursor()
		return strings.HasSuffix(strings.Split(s, "\n")[y][:x], "/ number 1")
	})

	screen.press(keyEnter, keyEsc, "r").await("Replay 1 message")
	if s := screen.screen(); strings.Contains(s, "ValueError: number 3") || strings.ContainsAny(s, "│╭▸─") {
		t.Errorf("a dialog stands among something else\n%s", s)
	}
}
