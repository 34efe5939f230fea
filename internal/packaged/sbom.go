package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/internal/manual"
)

// The part of CycloneDX 1.6 that is written.
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

// writeSBOM writes the modules of a program as Go noted them in it, with Go's own library. A module's hash is that of
// go.sum, which is a SHA-256 over the list of its files.
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
		return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
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
