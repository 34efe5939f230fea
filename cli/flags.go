package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/cause"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/plan"
)

// connectionFlags are the flags that every command has.
type connectionFlags struct {
	config.Flags
	vhost string
	set   *pflag.FlagSet
}

func (f *connectionFlags) register(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.URL, "url", "", "the broker, as `URL`: amqp(s)://user:password@host[,host]:port/vhost")
	set.StringVar(&f.API, "api", "",
		"its management API, as `URL`: http(s)://host:port (default: port 15672 or 15671 beside --url)")
	set.StringVar(&f.Context, "context", "", "the context `NAME` of the configuration file")
	set.StringVar(&f.vhost, "vhost", "", "look at the vhost `NAME` only (default: that of the URL, else all)")
	set.BoolVar(&f.ReadOnly, "read-only", false, "refuse everything that changes the broker")
}

// registerNoJournal adds --no-journal to a command that acts.
func (f *connectionFlags) registerNoJournal(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.NoJournal, "no-journal", false,
		"do not keep what is done: there is no undo, and no record of what was done")
}

func (f *connectionFlags) resolve(env func(string) string) (config.Connection, error) {
	// A variable that a script forgot to set must not lead to another broker.
	for _, flag := range []string{"url", "api", "context"} {
		if f.set.Changed(flag) && f.set.Lookup(flag).Value.String() == "" {
			return config.Connection{}, usage("--%s is empty: give it a value, or leave it out", flag)
		}
	}

	if f.set.Changed("vhost") {
		f.VHost = model.Some(f.vhost)
	}

	c, err := f.Connection(env)
	return c, misconfigured(err)
}

// selectionFlags select some of the messages of a queue.
type selectionFlags struct {
	filter, cause string
	filter.Narrow
}

func (f *selectionFlags) register(cmd *cobra.Command, p *Program) {
	set := cmd.Flags()
	set.StringVar(&f.cause, "cause", "", "only messages that failed for the cause `ID`, as dlxtop causes lists them")
	_ = cmd.RegisterFlagCompletionFunc("cause", p.completeCauses())
	set.StringVar(&f.filter, "filter", "", "only messages that match this expression")
	_ = cmd.RegisterFlagCompletionFunc("filter", p.completeFilter(""))

	set.StringVar(&f.FailedAfter, "failed-after", "", "only messages that failed last after this `TIME`, or less than "+
		"an age ago: 2026-11-30T08:00:00Z, 2026-11-30 08:00, 2h, 3d")
	set.StringVar(&f.FailedBefore, "failed-before", "", "only messages that failed last before this `TIME`, or age")
	set.StringVar(&f.Name, "name", "", "only messages of this class or type; `GLOB`, with * and ?")
	set.StringVar(&f.Worker, "worker", "", "only messages that failed in the worker `QUEUE`; may have * and ?")
	_ = cmd.RegisterFlagCompletionFunc("worker", p.onBroker("", queueNames))
}

// selection parses the flags that were given. --filter has an expression, or the name of a saved one.
func (f *selectionFlags) selection(p *Program, given func(flag string) bool) (s plan.Selection, err error) {
	if given("filter") {
		saved, err := p.savedFilters(f.filter)
		if err != nil {
			return s, err
		}
		if s.Filter, err = saved.Expression(f.filter); err != nil {
			return s, usage("--filter: %s", oneLine(err))
		}
	}

	if empty := f.Empty(given); empty != "" {
		return s, usage("--%s is empty: give it a value, or leave it out", empty)
	}
	if s.Filter, err = f.With(s.Filter, time.Now()); err != nil {
		return s, usage("%s", oneLine(err))
	}

	id, ok := cause.ParseID(f.cause)
	if given("cause") && !ok {
		return s, usage("--cause %q: an ID has %d hexadecimal digits, as `dlxtop causes` lists them",
			model.Printable(f.cause), cause.IDLength)
	}
	s.Cause = id
	return s, nil
}

// savedFilters reads the configuration file's filters if the expression names one; otherwise the file is not needed.
func (p *Program) savedFilters(text string) (filter.Saved, error) {
	if !strings.Contains(text, filter.SavedMark) {
		return nil, nil
	}
	file, err := config.Read(p.Env)
	return file.Filters, misconfigured(err)
}

// The formats of -o.
const (
	asTable = "table"
	asJSON  = "json"
)

type format struct{ chosen string }

// String implements pflag.Value.
func (f *format) String() string { return f.chosen }

// Type returns the placeholder for the flag's value in the help.
func (f *format) Type() string { return "table|json" }

// Set refuses an unknown format.
func (f *format) Set(text string) error {
	if text != asTable && text != asJSON {
		return fmt.Errorf("the formats are table and json")
	}
	f.chosen = text
	return nil
}

func (f *format) register(cmd *cobra.Command) {
	cmd.Flags().VarP(f, "output", "o", "table (default) or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{asTable, asJSON},
		cobra.ShellCompDirectiveNoFileComp))
}

func (f *format) json() bool { return f.chosen == asJSON }

// dumb reports whether the terminal understands no escape sequences, as editors and logs that emulate one declare.
func (p *Program) dumb() bool { return p.Env("TERM") == "dumb" }

// note writes one line for the user: progress, a warning, an error. It escapes what could change a terminal; a name
// needs model.Printable nevertheless, which shows spaces at its ends.
func (p *Program) note(format string, values ...any) {
	text := model.Escaped(model.Sayf(format, values...))
	// An argument may have been quoted, and only the complete one shows where its password ends.
	for _, given := range p.given {
		if shown := config.WithoutPassword(given); shown != given {
			text = strings.NewReplacer(model.Printable(given), model.Printable(shown), strconv.Quote(given),
				strconv.Quote(shown),
				model.Printable(strconv.Quote(given)), model.Printable(strconv.Quote(shown))).Replace(text)
		}
	}

	fmt.Fprintln(p.Err, config.WithoutPasswords(text))
}
