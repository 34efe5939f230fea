package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"dlxtop/model"
)

// The JSON of `dlxtop findings`.
type (
	findingsJSON struct {
		Findings []findingJSON `json:"findings"`
	}
	findingJSON struct {
		Code     string      `json:"code"`
		Level    model.Level `json:"level"`
		VHost    string      `json:"vhost"`
		Queue    string      `json:"queue,omitempty"`
		Exchange string      `json:"exchange,omitempty"`
		Message  string      `json:"message"`
		Evidence string      `json:"evidence"`
		Remedy   string      `json:"remedy"`
		Page     string      `json:"page"`
	}
)

func (p *Program) findingsCommand(flags *connectionFlags) *cobra.Command {
	var output format
	cmd := &cobra.Command{
		Use:   "findings",
		Short: "What is wrong or risky; exit status 1 when messages are lost or about to be",
		Args:  arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := p.poll(cmd.Context(), flags)
			if err != nil {
				return err
			}
			findings := t.Findings()
			if output.json(p.Out) {
				err = writeJSON(p.Out, findingsOf(findings))
			} else {
				err = p.listFindings(findings)
			}
			if err != nil {
				return err
			}
			for _, f := range findings {
				if f.Level == model.LevelError {
					return &exit{status: ExitRefused}
				}
			}
			return nil
		},
	}
	output.register(cmd)
	return cmd
}

func findingsOf(findings []model.Finding) findingsJSON {
	out := findingsJSON{Findings: []findingJSON{}}
	for _, f := range findings {
		out.Findings = append(out.Findings, findingJSON{f.Code, f.Level, f.VHost, f.Queue, f.Exchange, f.Message, f.Evidence, f.Remedy, f.Page()})
	}
	return out
}

// listFindings writes each finding as a paragraph: its sentences are too long for the columns of a table.
func (p *Program) listFindings(findings []model.Finding) error {
	if len(findings) == 0 {
		p.say("nothing is wrong as far as dlxtop can see")
	}
	for _, f := range findings {
		place := model.QueueRef{VHost: f.VHost, Name: f.Queue}.String()
		if f.Queue == "" {
			place = "exchange " + model.QueueRef{VHost: f.VHost, Name: model.ExchangeName(f.Exchange)}.String()
		}
		_, err := fmt.Fprintf(p.Out, "%-7s  %s  (%s)\n         %s\n         evidence: %s\n         remedy:   %s\n         more:     %s\n", f.Level,
			model.Printable(place), f.Code, model.Printable(f.Message), model.Printable(f.Evidence), model.Printable(f.Remedy), f.Page())
		if err != nil {
			return err
		}
	}
	return nil
}
