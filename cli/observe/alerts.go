package observe

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model/alarm"
)

//go:embed files
var files embed.FS

// written are the files that alerts makes, each of a template.
var written = []string{"dlxtop.rules.yml", "prometheus.yml", "dlxtop.grafana.json"}

func (p *Program) alertsCommand() *cobra.Command {
	replace := false
	cmd := &cobra.Command{
		Use:     "alerts DIRECTORY",
		Short:   "Alert rules, a scrape configuration and a Grafana dashboard for the flows that are there",
		GroupID: groupID,
		Example: "dlxtop alerts ./monitoring\ndlxtop alerts ./monitoring --replace",
		Long: `Write what Prometheus and Grafana need to use dlxtop metrics --listen 127.0.0.1:9419: dlxtop.rules.yml has alerts for
each flow, prometheus.yml says where they are, dlxtop.grafana.json is a dashboard to import. Files that are there are
not replaced, unless --replace is given.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := &polling{once: true}
			return p.each(cmd.Context(), o, func(_ *reader, now *answer) (bool, error) {
				return true, p.write(args[0], now.Things(alarm.PerFlow).Facts, replace)
			})
		},
	}

	cmd.Flags().BoolVar(&replace, "replace", false, "replace files that are there")

	return cmd
}

func (p *Program) write(dir string, flows []alarm.Thing, replace bool) error {
	flows = flows[:min(len(flows), mostFlows)]
	texts := template.New("").Funcs(template.FuncMap{
		"flows": flowNames,
		"json":  func(v any) (string, error) { text, err := json.Marshal(v); return string(text), err },
	})
	if _, err := texts.ParseFS(files, "files/*"); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return p.Usage("%s", err)
	}

	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !replace {
		how |= os.O_EXCL
	}
	for _, name := range written {
		var text bytes.Buffer
		if err := texts.ExecuteTemplate(&text, name, flows); err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		file, err := os.OpenFile(path, how, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return p.Usage("%s is there: --replace replaces it", path)
		}
		if err != nil {
			return p.Usage("%s", err)
		}
		_, err = file.Write(text.Bytes())
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		p.Note("wrote %s", path)
	}

	return nil
}

// flowNames are the choices of the dashboard, as JSON. Grafana separates them by commas, and takes them as patterns.
func flowNames(flows []alarm.Thing) (string, error) {
	var names []string
	for _, flow := range flows {
		if name := flow.Values["flow"].(string); name != "" {
			names = append(names, strings.ReplaceAll(regexp.QuoteMeta(name), ",", `\,`))
		}
	}
	text, err := json.Marshal(strings.Join(names, ","))
	return string(text), err
}
