package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dlxtop/dlxtop/cli/mcp"
	"github.com/dlxtop/dlxtop/cli/print"
)

func (p *Program) mcpCommand() *cobra.Command {
	server := &mcp.Server{Version: p.Build.Version}
	cmd := &cobra.Command{
		Use:     "mcp",
		Short:   "Answer an assistant over the Model Context Protocol: looks and plans, never an action",
		GroupID: toLook,
		Example: "dlxtop mcp --context prod\ndlxtop mcp --context staging --show",
		Long: `Answer an assistant over standard input and output by the Model Context Protocol. Its tools are flows,
causes, find, explain, peek, and plan: what a replay, a move or a drop would do. Nothing is done: the
connection is read-only, and a look that costs more than the mark redelivered is refused with its
cost. Values of headers and bodies, and texts of errors, are masked unless --show is given; ids, times,
routing keys, and the names of headers and classes are not.`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if print.IsTerminal(p.In) {
				return usage("mcp is started by an assistant, and there is a terminal: docs/mcp.md says how")
			}
			server.Run = p.looking()
			return server.Serve(cmd.Context(), p.In, p.Out)
		},
	}

	cmd.Flags().BoolVar(&server.Show, "show", false, "show the values of headers and bodies, and texts of errors")
	return cmd
}

// looking runs commands that change nothing, on the same connection.
func (p *Program) looking() mcp.Run {
	connection := []string{"--read-only"}
	p.flags.set.VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "read-only" {
			connection = append(connection, "--"+f.Name+"="+f.Value.String())
		}
	})

	return func(ctx context.Context, command string, given, arguments []string) (string, string, int) {
		var out, said bytes.Buffer
		looking := *p
		looking.In, looking.Out, looking.Err, looking.free = strings.NewReader(""), &out, &said, true
		args := slices.Concat([]string{command}, connection, given, []string{"--"}, arguments)
		status := looking.Run(ctx, args)

		return out.String(), said.String(), status
	}
}
