// Dlxtop is a terminal dashboard for the delayed, retry and failed queues of RabbitMQ.
package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/dlxtop/dlxtop/broker"
	"github.com/dlxtop/dlxtop/broker/spool"
	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/cli/observe"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/export"
	"github.com/dlxtop/dlxtop/internal/unasked"
	"github.com/dlxtop/dlxtop/journal"
	"github.com/dlxtop/dlxtop/jq"
	"github.com/dlxtop/dlxtop/mgmt"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/dashboard"
	"github.com/dlxtop/dlxtop/model/peek"
	"github.com/dlxtop/dlxtop/preferences"
	"github.com/dlxtop/dlxtop/ui"
)

// Set by the linker: -X main.version=v1.2.3.
var version, commit, date string

const (
	timeout  = 10 * time.Second // of one request to a broker
	interval = 2 * time.Second  // between two polls of the dashboard

	collectAfter = 200      // percent of the memory in use
	memoryLimit  = 96 << 20 // bytes that the program stays below if possible: see keepRoom
)

// programs runs jq programs in children of this process.
var programs = jq.New()

func main() {
	if jq.Serve() {
		return
	}
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
		Build:     built(),
		In:        os.Stdin,
		Out:       os.Stdout,
		Err:       os.Stderr,
		Env:       environment,
		Source:    newSource,
		Broker:    newBroker,
		Files:     export.Files{},
		JQ:        programs,
		Dashboard: showDashboard,
		Ask:       ui.Ask,
		Frame: func(ctx context.Context, d cli.Dashboard, f dashboard.Frame) error {
			return ui.WriteFrame(ctx, f, optionsOf(d))
		},

		Journal: func(dir string) cli.Journal {
			return journal.New(journal.Options{Path: journalPath(dir), Login: login()})
		},
		States: func(dir string) ([]byte, error) { return marksIn(dir).Load() },
		Alarms: func(dir string) observe.Memory { return fileIn(dir, preferences.AlarmsName) },
		Index:  indexOf,
		Store:  func(c config.Connection) cli.PeekStore { return storeOf(c) },
		Demo: func(ctx context.Context, nodes int, log io.Writer) (cli.Node, error) {
			return demo.StartNodes(ctx, nodes, demo.Options{Log: log})
		},
		Screens: config.Screens{Themes: ui.Themes(), CheckKey: ui.CheckActionKey, CheckTheme: ui.CheckTheme},
	}

	for _, s := range demo.Scenarios() {
		program.Scenarios = append(program.Scenarios, cli.Scenario{Name: s.Name, About: s.Summary})
	}

	return program.Run(ctx, os.Args[1:])
}

// built returns what the linker set, or else what Go records: the module's version for `go install`, the commit for a
// build from the repository.
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
		URL:      c.API,
		Others:   c.APIHosts,
		User:     c.User,
		Password: c.Password,
		VHost:    c.VHost,
		Roles:    c.Roles,
		Renamed:  c.Renamed,
		TLS:      c.APITLS,
		Timeout:  timeout,
	})
}

func newBroker(c config.Connection, j cli.Journal, reads cli.Rereads) (cli.Broker, error) {
	o := broker.Options{
		URL:     c.AMQP,
		Others:  c.Hosts,
		TLS:     c.TLS,
		Timeout: timeout,
		Full:    c.FullJournal,
		Turns:   journal.NewTurns(c.Command),
		Reread:  reads.Topology,
		Totals:  reads.Totals,
		Cluster: reads.Cluster,
		JQ:      programs,
	}

	if path := journalPath(c.JournalDir); path != "" {
		o.Looks = journal.NewPeekLedger(path)
	}
	if j != nil {
		o.Journal = j.(broker.Recorder) // program.Journal made it
	}

	o.Store = storeOf(c)
	return broker.New(o)
}

// environment returns an environment variable. Without a usable HOME (cron, systemd and containers may start programs
// like that) it is the one in the system's database of users, or "".
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

// login returns the person at this machine: the user of sudo, or else of the process; "" when the system does not say.
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

// journalPath returns the path of the journal in this directory; "" is the user's own.
func journalPath(dir string) string {
	path := journal.Path(environment)
	if dir != "" {
		path = filepath.Join(dir, journal.File)
	}
	return path
}

func showDashboard(ctx context.Context, d cli.Dashboard) (next string, err error) {
	spareProcessorsForKeys()
	defer keepRoom()()
	return ui.Run(ctx, optionsOf(d))
}

func optionsOf(d cli.Dashboard) ui.Options {
	c := d.Connection
	o := ui.Options{
		Appearance: d.Appearance,
		Source:     d.Source,
		Broker:     d.Broker,
		Files:      export.Files{},
		JQ:         programs,
		Editor:     cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR")),
		Title:      c.Name,
		VHost:      c.VHost,
		Interval:   interval,
		ReadOnly:   c.ReadOnly,
		Production: c.Production,
		Consent:    c.Looks,
		Index:      indexOf(c),
		Store:      storeOf(c),
		Contexts:   d.Contexts,
		Trouble:    d.Trouble,
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
		o.Preferences = preferences.File{Path: filepath.Join(filepath.Dir(path), preferences.ScreensName)}
	}

	return o
}

// marksIn returns the file with the marks of causes.
func marksIn(dir string) preferences.File { return fileIn(dir, preferences.CausesName) }

// fileIn returns a file beside the journal in this directory; "" is the user's own.
func fileIn(dir, name string) preferences.File {
	path := journalPath(dir)
	if path == "" {
		return preferences.File{}
	}
	return preferences.File{Path: filepath.Join(filepath.Dir(path), name)}
}

// indexOf returns the index of failed queues that were read, in the user's cache.
func indexOf(c config.Connection) cause.Index {
	dir := cacheOf(c)
	if dir == "" {
		return nil
	}
	return preferences.CauseIndex{Dir: filepath.Join(dir, preferences.CauseIndexDir)}
}

type peekStore interface {
	broker.PeekStore
	peek.Store
}

// storeOf returns the store of peeks that used up a delivery limit, in the user's cache.
func storeOf(c config.Connection) peekStore {
	dir := cacheOf(c)
	if dir == "" {
		return nil
	}
	return spool.Store{Dir: filepath.Join(dir, spool.StoreDir)}
}

// cacheOf is dlxtop's directory in the user's cache, "" without one. The demo leaves nothing behind, and --no-journal
// asks for the same.
func cacheOf(c config.Connection) string {
	if c.JournalDir != "" || c.NoJournal {
		return ""
	}
	dir, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(dir) {
		home := environment("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".cache")
	}

	return filepath.Join(dir, "dlxtop")
}
