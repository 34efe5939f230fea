// Command packaged writes what packages have beside the program. `make release` and `make install` run it in the
// project's root:
//
//	packaged files FOLDER VERSION SECONDS      man pages, also compressed as Linux has them, and completions
//	packaged sbom BINARY FILE VERSION SECONDS  what a built program consists of, as CycloneDX has it
//
// SECONDS since 1970 are the time of the commit.
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
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaged:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("%d arguments: see the beginning of internal/packaged/main.go", len(args))
	}
	seconds, err := strconv.ParseInt(args[len(args)-1], 10, 64)
	if err != nil {
		return err
	}
	r := manual.Release{Version: args[len(args)-2], Date: time.Unix(seconds, 0).UTC()}
	if args[0] == "sbom" {
		return writeSBOM(args[1], args[2], r)
	}
	return write(args[1], r)
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
