// Command packaged writes what packages have beside the program: man pages, also compressed as Linux has them, and
// completions. `make release` and `make install` run it in the project's root: packaged FOLDER VERSION [SECONDS], that
// is, the time of the commit.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/manual"
	"github.com/dlxtop/dlxtop/ui"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "packaged: usage: packaged FOLDER VERSION [SECONDS]")
		os.Exit(2)
	}
	r := manual.Release{Version: os.Args[2]}
	if len(os.Args) > 3 {
		if seconds, err := strconv.ParseInt(os.Args[3], 10, 64); err == nil {
			r.Date = time.Unix(seconds, 0)
		}
	}
	if err := write(os.Args[1], r); err != nil {
		fmt.Fprintln(os.Stderr, "packaged:", err)
		os.Exit(1)
	}
}

// completions are the files of the shells, where each looks for them.
var completions = map[string]string{
	"bash": "dlxtop.bash", "zsh": "_dlxtop", "fish": "dlxtop.fish", "powershell": "dlxtop.ps1",
}

func write(folder string, r manual.Release) error {
	var out bytes.Buffer
	program := cli.Program{Themes: ui.Themes(), Out: &out, Err: os.Stderr, Env: func(string) string { return "" }}
	for _, s := range demo.Scenarios() {
		program.Scenarios = append(program.Scenarios, cli.Scenario{Name: s.Name, About: s.Summary})
	}
	pages, err := manual.Pages(program.Commands(), ".", r)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, p := range pages {
		files[filepath.Join("man", p.Name)] = []byte(p.Text)
		var small bytes.Buffer
		w, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // without a name and a time: the same each time
		if _, err := w.Write([]byte(p.Text)); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		files[filepath.Join("man-gz", p.Name+".gz")] = small.Bytes()
	}
	for shell, name := range completions {
		out.Reset()
		if status := program.Run(context.Background(), []string{"completion", shell}); status != cli.ExitDone {
			return fmt.Errorf("completion %s: exit status %d", shell, status)
		}
		files[filepath.Join("completions", name)] = bytes.Clone(out.Bytes())
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
