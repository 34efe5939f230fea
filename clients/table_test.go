//go:build linux

package clients

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// verdict is what a check found; the zero value is of one that was not made.
type verdict struct {
	judged bool
	why    error // of a no
}

func (v verdict) cell() string {
	switch {
	case !v.judged:
		return "not run"
	case v.why != nil:
		return "no"
	}
	return "yes"
}

// clientsRow is what dlxtop did with one client.
type clientsRow struct {
	client   *client
	version  string // of the framework
	notRun   string // why the client was not run
	verdicts map[check]verdict
	cases    []verdict // of the client's cases, in their order
}

// clientsTable is what dlxtop did with all of them.
type clientsTable struct {
	broker string // its version
	rows   []*clientsRow
}

func (table *clientsTable) add(c *client) *clientsRow {
	row := &clientsRow{client: c, verdicts: map[check]verdict{}, cases: make([]verdict, len(c.cases))}
	table.rows = append(table.rows, row)
	return row
}

// write prints the table as the documentation has it.
func (table *clientsTable) write(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "\nRabbitMQ %s\n\n| framework |", table.broker)
	for _, c := range checks {
		fmt.Fprintf(&out, " %s |", c)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(checks)) + "\n")
	var causes []string
	for _, row := range table.rows {
		name := row.client.name
		if row.version != "" {
			name += " (" + row.version + ")"
		}
		fmt.Fprintf(&out, "| %s |", name)
		for _, c := range checks {
			v := row.verdicts[c]
			cell := v.cell()
			if row.client.without[c] != "" {
				cell = "not applicable"
			} else if v.why != nil {
				causes = append(causes, fmt.Sprintf("%s, %s: %v", row.client.name, c, v.why))
			}
			fmt.Fprintf(&out, " %s |", cell)
		}
		out.WriteString("\n")
		if row.notRun != "" {
			causes = append(causes, row.client.name+": not run: "+row.notRun)
		}
	}
	if slices.ContainsFunc(table.rows, func(row *clientsRow) bool { return len(row.cases) > 0 }) {
		out.WriteString("\n| framework | what | right |\n|---|---|---|\n")
	}
	for _, row := range table.rows {
		for i, c := range row.client.cases {
			v := row.cases[i]
			fmt.Fprintf(&out, "| %s | %s | %s |\n", row.client.name, c.name, v.cell())
			if v.why != nil {
				causes = append(causes, fmt.Sprintf("%s, %s: %v", row.client.name, c.name, v.why))
			}
		}
	}
	for _, cause := range causes {
		out.WriteString("\n" + cause)
	}
	t.Log(out.String())
}
