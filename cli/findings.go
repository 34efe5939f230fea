package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/findings"
)

// The JSON of `dlxtop findings`.
type (
	findingsJSON struct {
		Findings []findingJSON `json:"findings"` // the worst first
	}
	findingJSON struct {
		Code     string         `json:"code"`               // its name: docs/findings/CODE.md
		Level    findings.Level `json:"level"`              // error, warning or info
		VHost    string         `json:"vhost"`              // where it is
		Queue    string         `json:"queue,omitempty"`    // where it is
		Exchange string         `json:"exchange,omitempty"` // where it is
		Node     string         `json:"node,omitempty"`     // where it is
		Message  string         `json:"message"`            // what is wrong
		Evidence string         `json:"evidence"`           // by what that is known
		Remedy   string         `json:"remedy"`             // what to do
		Page     string         `json:"page"`               // the address of its page
	}
)

func (p *Program) findingsCommand(flags *connectionFlags) *cobra.Command {
	var output format
	cmd := &cobra.Command{
		Use:     "findings",
		Short:   "What is wrong or risky; exit status 1 when messages are lost or about to be",
		GroupID: toLook,
		Example: "dlxtop findings\ndlxtop findings --vhost shop -o json",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := p.poll(cmd.Context(), flags)
			if err != nil {
				return err
			}
			found := findings.Of(t)
			if output.json(p.Out) {
				err = writeJSON(p.Out, findingsOf(found))
			} else {
				err = p.listFindings(found)
			}
			if err != nil {
				return err
			}
			for _, f := range found {
				if f.Level == findings.LevelError {
					return &exit{status: ExitRefused}
				}
			}
			return nil
		},
	}
	output.register(cmd)
	return cmd
}

func findingsOf(findings []findings.Finding) findingsJSON {
	out := findingsJSON{Findings: []findingJSON{}}
	for _, f := range findings {
		out.Findings = append(out.Findings, findingJSON{
			f.Code, f.Level, f.VHost,
			f.Queue, f.Exchange, f.Node, f.Message, f.Evidence, f.Remedy, f.Page(),
		})
	}
	return out
}

// listFindings writes each finding as a paragraph: its sentences are too long for the columns of a table.
func (p *Program) listFindings(findings []findings.Finding) error {
	if len(findings) == 0 {
		p.say("nothing is wrong as far as dlxtop can see")
	}
	for _, f := range findings {
		_, err := fmt.Fprintf(p.Out, "%-7s  %s  (%s)\n         %s\n         evidence: %s\n         remedy:   %s\n    "+
			"     more:     dlxtop explain %s\n", f.Level,
			model.Printable(placeOf(f)), f.Code, model.Printable(f.Message), model.Printable(f.Evidence),
			model.Printable(f.Remedy), f.Code)
		if err != nil {
			return err
		}
	}
	return nil
}

// placeOf is what a finding is about.
func placeOf(f findings.Finding) string {
	switch {
	case f.Queue != "":
		return model.QueueRef{VHost: f.VHost, Name: f.Queue}.String()
	case f.Exchange != "" || f.VHost != "":
		return "exchange " + model.QueueRef{VHost: f.VHost, Name: model.ExchangeName(f.Exchange)}.String()
	case f.Node != "":
		return "node " + f.Node
	}
	return "broker"
}
