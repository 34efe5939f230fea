package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/dlxtop/dlxtop/cli/config"
	"github.com/dlxtop/dlxtop/cli/print"
	"github.com/dlxtop/dlxtop/model"
)

// demoJSON is the JSON of `dlxtop demo --no-ui`.
type demoJSON struct {
	AMQP string `json:"amqp"` // the URL for `--url`
	API  string `json:"api"`  // the URL for `--api`
}

// mostNodes is how many nodes a demo may have: each takes 150 MB.
const mostNodes = 5

func (p *Program) demoCommand() *cobra.Command {
	var scenario string
	var noUI bool
	var nodes int
	var output format
	var look appearance

	lines := ""
	for _, s := range p.Scenarios {
		lines += fmt.Sprintf("\n  %-14s %s", s.Name, s.About)
	}

	cmd := &cobra.Command{
		Use:     "demo",
		Short:   "A throwaway RabbitMQ with live traffic, and the dashboard on it",
		GroupID: toSetUp,
		Example: "dlxtop demo\ndlxtop demo --scenario pubsub --no-ui",
		Long: `Start a RabbitMQ of its own on free ports of this machine, let applications work on it, and open the
dashboard. With --no-ui it prints the URLs of the broker and of its management API instead, and runs
until it is interrupted, which is its normal end (exit status 0). Nothing of it is left afterwards.
--nodes 3 starts a cluster, and says which processes its nodes are: kill one, and look on.

Scenarios:` + lines,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.checkScenario(scenario); err != nil {
				return err
			}
			if nodes < 1 || nodes > mostNodes {
				return usage("--nodes %d: it is 1 to %d", nodes, mostNodes)
			}
			if p.flags.URL != "" || p.flags.API != "" || p.flags.Context != "" {
				return usage("the demo starts a RabbitMQ of its own: --url, --api and --context do not go with it")
			}
			if !noUI {
				var err error
				if look, err = look.resolve(p); err != nil {
					return err
				}
				if err := p.needTerminal(); err != nil {
					return err
				}
			}

			return p.runDemo(cmd.Context(), scenario, nodes, func(ctx context.Context, node Node) error {
				if !noUI {
					return p.dashboardOn(ctx, look, node)
				}
				return p.serve(ctx, node, output.chosen == asJSON)
			})
		},
	}

	cmd.Flags().StringVar(&scenario, "scenario", "", "play this one only (default: all)")
	cmd.Flags().IntVar(&nodes, "nodes", 1, "how many nodes the RabbitMQ has (several need one that is installed)")
	cmd.Flags().BoolVar(&noUI, "no-ui", false, "no dashboard: print the URLs and run until interrupted")
	output.register(cmd)
	look.register(cmd, p)
	_ = cmd.RegisterFlagCompletionFunc("scenario", cobra.FixedCompletions(p.scenarioNames(),
		cobra.ShellCompDirectiveNoFileComp))

	return cmd
}

func (p *Program) scenarioNames() []string {
	var names []string
	for _, s := range p.Scenarios {
		names = append(names, s.Name)
	}
	return names
}

func (p *Program) checkScenario(name string) error {
	if name == "" || slices.Contains(p.scenarioNames(), name) {
		return nil
	}
	return usage("there is no scenario %v: there are %s", name, strings.Join(p.scenarioNames(), ", "))
}

// runDemo runs something beside a node and its traffic, and cleans up however that ends. beside begins when the broker
// shows the scenarios completely, so that the first screen lacks nothing.
func (p *Program) runDemo(
	ctx context.Context, scenario string, nodes int, beside func(context.Context, Node) error,
) error {
	node, err := p.Demo(ctx, nodes, p.Err)
	if err != nil {
		return &exit{ExitConnect, err}
	}
	defer func() {
		if err := node.Stop(); err != nil {
			p.note("%s", err)
		}
	}()

	ctx, over := context.WithCancel(ctx)
	defer over()
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	group.Go(func() error { return node.Play(ctx, scenario, func() { close(ready) }) })

	group.Go(func() error {
		defer over() // ends the traffic
		select {
		case <-ready:
		case <-ctx.Done():
			return &exit{status: ExitDone} // an interrupt is its normal end; the group's error says why Play failed
		}
		return beside(ctx, node)
	})

	return group.Wait()
}

func (p *Program) dashboardOn(ctx context.Context, look appearance, node Node) error {
	dir, err := os.MkdirTemp("", "dlxtop-demo-journal-")
	if err != nil {
		return fmt.Errorf("make a directory for the demo's journal: %w", err)
	}
	defer os.RemoveAll(dir)
	there := config.Flags{URL: node.AMQP(), API: node.API(), ReadOnly: p.flags.ReadOnly}
	if p.flags.vhost != "" {
		there.VHost = model.Some(p.flags.vhost)
	}

	connection, err := there.Connection(p.Env)
	if err != nil {
		return err
	}
	connection.Name = "demo"
	connection.JournalDir = dir
	s, err := p.openChecked(ctx, connection)
	if err != nil {
		return err
	}
	defer s.close()
	_, err = p.Dashboard(ctx, s.dashboard(look)) // from a throwaway node there is no other context
	return err
}

// serve prints where the node is, and waits for the end. Scripts can read the lines as well, so JSON is only written on
// request.
func (p *Program) serve(ctx context.Context, node Node, asJSON bool) error {
	var err error
	if asJSON {
		err = print.JSON(p.Out, demoJSON{node.AMQP(), node.API()})
	} else {
		_, err = fmt.Fprintf(p.Out, "AMQP %s\nAPI  %s\n", node.AMQP(), node.API())
	}

	if err != nil {
		return err
	}
	p.note("it runs until it is interrupted (ctrl-c)")
	<-ctx.Done()
	return &exit{status: ExitDone} // an interrupt is its normal end
}
