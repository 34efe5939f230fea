package rules_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/must"
)

// readsText are the files that may ask what a text holds, begins or ends with, and whose text that is. A sentence of
// dlxtop itself is never among them: what code decides by is a kind with values, and its Words are made for people.
// Who adds a file says here what it reads.
var readsText = map[string]string{
	"broker/link/connect_errors.go": "the first bytes that a port sends, and the words of crypto/tls where it has no type",
	"broker/link/pool.go":           "the scheme of a URL",
	"broker/link/reasons.go":        "RabbitMQ's words for a refusal: AMQP has one code for several of them",

	"broker/gone.go":          "the names of connections, as the broker lists them",
	"mgmt/binary.go":          "RabbitMQ's mark of a name that is not UTF-8",
	"mgmt/client.go":          "the path of a URL",
	"mgmt/consumers.go":       "the tags of consumers, of which dlxtop's own begin alike",
	"mgmt/reasons.go":         "the words of the API and of net/http, where neither has a code or a type",
	"mgmt/transport.go":       "the media type of an answer, and its first line",
	"journal/looks.go":        "the name of a file",
	"model/message/amqp10.go": "the names of headers, as RabbitMQ makes them of annotations",
	"journal/replayed.go":     "the beginning of an entry, as JSON has it",

	"model/cause/fold_scripts.go": "the error of an application, for the scheme of a URL in it",

	"model/duration.go":      "digits that it has just formatted",
	"model/headers_match.go": "x-match of a binding, and the names of headers",
	"model/held.go":          "the name of a queue",
	"model/own_taps.go":      "the name of a queue",
	"model/policy_match.go":  "the pattern of a policy",
	"model/retriers.go":      "the names of queues",
	"model/printable.go":     "lines of any text, for their ends and tabs",

	"docs/pages.go": "Markdown of this repository",

	"internal/packaged/sbom.go": "versions of Go and hashes of modules",
	"internal/manual/manual.go": "names of commands, and their help",
	"internal/manual/roff.go":   "Markdown and help, for their layout",

	"model/body/diff.go":         "commas at the ends of lines of JSON",
	"model/body/document.go":     "a content type",
	"model/body/java_classes.go": "the names of Java's classes",
	"model/body/markup.go":       "the end of a tag of XML",
	"model/body/structure.go":    "a content type",
	"model/body/schema_types.go": "names of protobuf types",

	"model/filter/action.go":             "values of messages, and what a person wrote into the configuration",
	"model/filter/action_shell.go":       "a command that a person wrote into the configuration",
	"model/message/body.go":              "digits that it has just formatted",
	"model/filter/complete.go":           "what a person types, and the names that it can become",
	"model/message/envelope.go":          "types as frameworks write them",
	"model/message/envelope_dramatiq.go": "the name of a queue",
	"model/filter/expression.go":         "the words of the compiler of expressions, which has no kinds",
	"model/message/failure.go":           "traces and errors as frameworks and languages write them",
	"model/filter/filter.go":             "what a person looks for, in messages",
	"model/message/framework.go":         "the names of headers and types that a framework writes",
	"model/message/header_parse.go":      "values of JSON that have a prefix",
	"model/message/json.go":              "texts that begin like the mark of base64",
	"model/serial/pickle.go":             "numbers as Python pickles them",
	"model/message/publishing.go":        "the names of headers",
	"model/message/reset.go":             "the names of headers",
	"model/filter/saved.go":              "what a person types",
	"model/message/symfony.go":           "the names of classes as Symfony writes them",
	"model/message/worker_evidence.go":   "addresses as MassTransit writes them",
	"model/cause/fold.go":                "errors as applications and their libraries write them",
	"model/cause/fold_codes.go":          "errors as applications and their libraries write them",
	"model/cause/fold_quotes.go":         "errors as applications and their libraries write them",
	"model/cause/fold_values.go":         "errors as applications and their libraries write them",
	"model/cause/frames.go":              "stack traces as languages write them",
	"model/cause/frames_languages.go":    "stack traces as languages write them",
	"model/cause/words.go":               "the end of a folded text",
	"model/plan/clue.go":                 "the name of a delay queue of Symfony",
	"model/plan/draft_text.go":           "what a person edited, and the words of encoding/json for an unknown field",
	"model/plan/resets.go":               "the names of headers",

	"cli/act.go":              "a flag that a person typed",
	"cli/config.go":           "what a person types",
	"cli/exit.go":             "arguments that may hold a password",
	"cli/queue.go":            "the name of a queue that a person typed",
	"cli/urls.go":             "URLs",
	"ui/message_complete.go":  "what a person types",
	"ui/palette.go":           "what a person types",
	"ui/snapshot.go":          "what a person types",
	"ui/term/filter_field.go": "what a person types, in the texts of a list",

	"demo/config.go":             "the names of environment variables",
	"demo/installed.go":          "the log of a node that does not start",
	"internal/built/terminal.go": "a screen, as a person would read it",
	"internal/sizes/main.go":     "the names of directories",
	"screenshots/terminal.go":    "a screen, as a person would read it",
}

// asking are the functions of package strings that decide by a text, or take it apart.
var asking = []string{"Contains", "HasPrefix", "HasSuffix", "TrimPrefix", "TrimSuffix", "CutPrefix", "CutSuffix"}

// TestDecisionsAreMadeOnValues: no code decides by a sentence. What one part of dlxtop has to know of another is a kind
// with values.
func TestDecisionsAreMadeOnValues(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && entry.Name()[0] == '.':
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("strings.")) {
			return err
		}
		for _, found := range asks(t, path, text) {
			if used[path] = true; readsText[path] == "" {
				t.Errorf("%s: whose text is that? Decide by a kind; when it is not a text of dlxtop, say so in readsText", found)
			}
		}
		return nil
	})
	must.Do(t, err)
	for path := range readsText {
		if !used[path] {
			t.Errorf("%s asks no text any more: take it out of readsText", path)
		}
	}
}

// asks are the places of a file that decide by a text.
func asks(t *testing.T, path string, text []byte) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file := must.Get(parser.ParseFile(files, path, text, parser.SkipObjectResolution))(t)
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(asking, s.Sel.Name) {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "strings" {
			found = append(found, files.Position(s.Pos()).String()+": strings."+s.Sel.Name)
		}
		return true
	})
	return found
}
