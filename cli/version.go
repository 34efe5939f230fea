package cli

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// versionJSON is the JSON of `dlxtop version`.
type versionJSON struct {
	Version string `json:"version"`          // of dlxtop
	Commit  string `json:"commit,omitempty"` // that it was built of
	Go      string `json:"go"`               // that it was built by
}

func (p *Program) versionCommand() *cobra.Command {
	var output format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "The version of dlxtop",
		Args:  arguments(),
		RunE: func(*cobra.Command, []string) error {
			v := versionJSON{cmp.Or(p.Version, "development"), p.Commit, runtime.Version()}
			if output.chosen == asJSON { // a person may well pipe this one
				return writeJSON(p.Out, v)
			}
			_, err := fmt.Fprintf(p.Out, "dlxtop %s\ncommit %s\n%s\n", v.Version, cmp.Or(v.Commit, "unknown"), v.Go)
			return err
		},
	}
	output.register(cmd)
	return cmd
}
