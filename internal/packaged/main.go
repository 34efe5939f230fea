// Command packaged writes the files that packages contain beside the program. `make release` and `make install` run it
// in the project's root:
//
//	packaged files FOLDER VERSION SECONDS      man pages, also compressed as Linux has them, and completions
//	packaged sbom BINARY FILE VERSION SECONDS  what a built program consists of, as CycloneDX has it
//
// SECONDS is the time of the commit, since 1970.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/cli"
	"github.com/dlxtop/dlxtop/cli/config"
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

// completions are the completion files, at the path where each shell looks for them.
var completions = map[string]string{
	"bash": "dlxtop.bash", "zsh": "_dlxtop", "fish": "dlxtop.fish", "powershell": "dlxtop.ps1",
}

func write(folder string, r manual.Release) error {
	var out bytes.Buffer
	program := cli.Program{
		Screens: config.Screens{Themes: ui.Themes()}, Out: &out, Err: os.Stderr, Env: func(string) string { return "" },
	}
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
		w, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // without a name and a time: the output is reproducible
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

// The part of CycloneDX 1.6 that dlxtop writes.
type (
	sbom struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Serial     string      `json:"serialNumber"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type    string `json:"type"`
		Ref     string `json:"bom-ref"`
		Name    string `json:"name"`
		Version string `json:"version"`
		PURL    string `json:"purl"`
		Hashes  []hash `json:"hashes,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
)

// writeSBOM writes the modules that Go recorded in a program, including Go's standard library. A module's hash is the
// one in go.sum, a SHA-256 of the list of its files.
func writeSBOM(binary, to string, r manual.Release) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	of := func(kind, path, version string) component {
		purl := "pkg:golang/" + path + "@" + version
		return component{
			Type:    kind,
			Ref:     purl,
			Name:    path,
			Version: version,
			PURL:    purl,
		}
	}

	self := of("application", info.Main.Path, r.Version)
	self.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}

	all := []component{of("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		c := of("library", m.Path, m.Version)
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(raw) > 0 {
			c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
		}
		all = append(all, c)
	}

	text, err := json.MarshalIndent(sbom{
		"CycloneDX", "1.6", fmt.Sprintf("urn:uuid:%x-%x-5%s-a%s-%x", sum[:4], sum[4:6],
			hex.EncodeToString(sum[6:8])[1:], hex.EncodeToString(sum[8:10])[1:], sum[10:16]), 1,
		metadata{r.Date.Format(time.RFC3339), self},
		all,
	}, "", "  ")
	if err != nil {
		return err
	}

	return os.WriteFile(to, append(text, '\n'), 0o644)
}
