package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/model"
)

func (p *Program) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "config",
		Short:   "Where the configuration file is, and an example of it with every key",
		GroupID: toSetUp,
		Example: "dlxtop config\nmkdir -p ~/.config/dlxtop; dlxtop config > ~/.config/dlxtop/config.toml",
		Long: `Print where the configuration file is, in a first line that is a comment, and then a complete example
of it, so that the output is itself a configuration file. Whether the file exists is said on standard
error. Nothing is written to it.`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			path := config.Path(p.Env)
			if path == "" {
				return usage("there is no place for a configuration file: HOME is not set, and the system knows no home " +
					"directory of this user: name a directory with XDG_CONFIG_HOME")
			}

			// If the output goes into the configuration file itself, the shell has already truncated it.
			info, err := os.Stat(path)
			switch {
			case err != nil:
				p.note("the file does not exist yet: save this example there and change it")
			case info.Size() > 0:
				p.note("the file exists: this is an example, not what is in it")
			}

			_, err = fmt.Fprintf(p.Out, "# %s\n\n%s", model.Printable(path), config.Example)
			return err
		},
	}
}
