package cli

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/print"
)

// versionJSON is the JSON of `dlxtop version`.
type versionJSON struct {
	Version string `json:"version"`          // of dlxtop
	Commit  string `json:"commit,omitempty"` // that it was built of
	Date    string `json:"date,omitempty"`   // of that commit
	Go      string `json:"go"`               // that it was built by
}

func (p *Program) versionCommand() *cobra.Command {
	var output format
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "The version of dlxtop",
		GroupID: toSetUp,
		Example: "dlxtop version\ndlxtop version -o json",
		Args:    arguments(),
		RunE:    func(*cobra.Command, []string) error { return p.printVersion(output) },
	}

	output.register(cmd)

	return cmd
}

func (p *Program) printVersion(output format) error {
	v := versionJSON{cmp.Or(p.Build.Version, "development"), p.Build.Commit, p.Build.Date, runtime.Version()}
	if output.chosen == asJSON { // people often pipe this one
		return print.JSON(p.Out, v)
	}
	_, err := fmt.Fprintf(p.Out, "dlxtop %s\ncommit %s\ndate %s\n%s\n", v.Version, cmp.Or(v.Commit, "unknown"),
		cmp.Or(v.Date, "unknown"), v.Go)
	return err
}
