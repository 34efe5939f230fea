// Dlxtop is a terminal dashboard for the delayed, retry and failed queues of RabbitMQ.
package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/unasked"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/kept"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/ports"
	"github.com/dlxtop/dlxtop/ui"
)

// Set by the linker: -X main.version=v1.2.3.
var version, commit, date string

const (
	timeout  = 10 * time.Second // of one request to a broker
	interval = 2 * time.Second  // between two polls of the dashboard

	collectAfter = 200      // percent of the memory in use
	memoryLimit  = 96 << 20 // bytes that the program stays below if possible: see keepRoom

	spareProcessors = 2 // of Go's scheduler, for keys
)

func main() {
	os.Exit(run())
}

// run exists so that deferred calls run before os.Exit.
func run() int {
	unasked.Restore()
	// Most allocated memory is garbage a moment later: it is collected seldom while there is little of it, and often when
	// a hundred thousand messages are looked at. GOGC and GOMEMLIMIT override that.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAfter)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := untilSignal()
	defer stop()
	program := cli.Program{
		Build: built(),
		In:    os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: environment,
		Source: newSource, Broker: newBroker, Files: export.Files{}, Dashboard: dashboard, Ask: ui.Ask,
		Frame: func(ctx context.Context, d cli.Dashboard, f ports.Frame) error {
			return ui.WriteFrame(ctx, f, optionsOf(d))
		},
		Journal: func(dir string) cli.Journal {
			return journal.New(journal.Options{Path: journalPath(dir), Login: login()})
		},
		States: func(dir string) ([]byte, error) { return marksIn(dir).Load() },
		Index:  func(c config.Connection) ports.Index { return indexOf(c) },
		Demo: func(ctx context.Context, log io.Writer) (cli.Node, error) {
			return demo.Start(ctx, demo.Options{Log: log})
		},
		Themes: ui.Themes(), CheckKey: ui.CheckActionKey, CheckTheme: ui.CheckTheme,
	}
	for _, s := range demo.Scenarios() {
		program.Scenarios = append(program.Scenarios, cli.Scenario{Name: s.Name, About: s.Summary})
	}
	return program.Run(ctx, os.Args[1:])
}

// built is what the linker set, or else what Go records: the module's version for `go install`, the commit for a build
// from the repository.
func built() cli.Build {
	b := cli.Build{Version: version, Commit: commit, Date: date}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "(devel)" {
		b.Version = cmp.Or(b.Version, v)
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, setting.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, setting.Value)
		}
	}
	return b
}

func newSource(c config.Connection) (cli.Source, error) {
	return mgmt.New(mgmt.Options{
		URL: c.API, User: c.User, Password: c.Password, VHost: c.VHost, TLS: c.APITLS,
		Timeout: timeout,
	})
}

func newBroker(c config.Connection, j cli.Journal, reread plan.Reread) (cli.Broker, error) {
	o := broker.Options{URL: c.AMQP, TLS: c.TLS, Timeout: timeout, Full: c.FullJournal, Reread: reread}
	if path := journalPath(c.JournalDir); path != "" {
		o.Looks = journal.NewLooks(path)
	}
	if j != nil {
		o.Journal = j
	}
	return broker.New(o)
}

// environment is an environment variable. Without a usable HOME (cron, systemd and containers may start programs like
// that) it is the one in the system's database of users, or "".
func environment(name string) string {
	value := os.Getenv(name)
	if name != "HOME" || filepath.IsAbs(value) {
		return value
	}
	if me, err := user.Current(); err == nil && filepath.IsAbs(me.HomeDir) {
		return me.HomeDir
	}
	return ""
}

// login is the person at this machine: the user of sudo, or else of the process; "" when the system does not say.
func login() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	me, err := user.Current()
	if err != nil {
		return ""
	}
	return me.Username
}

// journalPath is the path of the journal in this directory; "" is the user's own.
func journalPath(dir string) string {
	path := journal.Path(environment)
	if dir != "" {
		path = filepath.Join(dir, journal.File)
	}
	return path
}

func dashboard(ctx context.Context, d cli.Dashboard) (next string, err error) {
	// While messages are read, a key would wait until one of Go's processors is free, at worst 10 ms. With more processors
	// than cores the system decides, which favours what has waited. GOMAXPROCS overrides that.
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareProcessors)
	}
	defer keepRoom()()
	return ui.Run(ctx, optionsOf(d))
}

func optionsOf(d cli.Dashboard) ui.Options {
	c := d.Connection
	o := ui.Options{
		Looks: d.Looks, Source: d.Source, Broker: d.Broker, Files: export.Files{},
		Editor: cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")), Title: c.Name, VHost: c.VHost,
		Interval: interval, ReadOnly: c.ReadOnly, Production: c.Production, Index: indexOf(c),
		Contexts: d.Contexts, Trouble: d.Trouble,
	}
	if d.Journal != nil { // an interface that holds a nil is not nil
		o.Journal = d.Journal
	}
	path := journalPath(c.JournalDir)
	if c.NoJournal || path == "" {
		return o
	}
	o.Marks = marksIn(c.JournalDir)
	if c.JournalDir == "" { // the demo leaves nothing behind
		o.Kept = kept.File{Path: filepath.Join(filepath.Dir(path), kept.Name)}
	}
	return o
}

// marksIn is the file with the marks of causes: beside the journal in this directory; "" is the user's own.
func marksIn(dir string) kept.File {
	path := journalPath(dir)
	if path == "" {
		return kept.File{}
	}
	return kept.File{Path: filepath.Join(filepath.Dir(path), kept.CausesName)}
}

// indexOf is the index of failed queues that were read, in the user's cache. The demo leaves nothing behind, and
// --no-journal asks for the same.
func indexOf(c config.Connection) ports.Index {
	dir, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(dir) {
		home := environment("HOME")
		if !filepath.IsAbs(home) {
			return nil
		}
		dir = filepath.Join(home, ".cache")
	}
	if c.JournalDir != "" || c.NoJournal {
		return nil
	}
	return kept.Index{Dir: filepath.Join(dir, "dlxtop", kept.IndexDir)}
}
