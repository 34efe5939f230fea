package rules_test

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/dlxtop/dlxtop/internal/must"
)

// spoken are the packages whose words people read.
var spoken = []string{".", "model", "broker", "mgmt", "journal", "export", "ui", "cli", "demo"}

// banned are words that no sentence has, as they read like a translation, each with what to write instead.
var banned = map[string]string{
	"nobody":               "who does not, or no queue, no consumer",
	"somebody":             "someone, or who it is",
	"anybody":              "anyone, or who it is",
	"whom":                 "which queue",
	"tell":                 "show, say or report",
	"tells":                "shows, says or reports",
	"told":                 "shown, said or reported",
	"anew":                 "again",
	"so many":              "how many",
	"is else":              "is otherwise",
	"gone on with":         "continued or resumed",
	"by nobody":            "not by a consumer",
	"dead letter exchange": "dead-letter exchange",
}

// anyBanned finds them as words, not as parts of others.
var anyBanned = regexp.MustCompile(`(?i)\b(` + strings.Join(slices.Sorted(maps.Keys(banned)), "|") + `)\b`)

// TestSentences refuses words that have a plainer one in what dlxtop says. `make words` writes all of it to a file, to
// be read in one sitting.
func TestSentences(t *testing.T) {
	var all strings.Builder
	for _, file := range spokenFiles() {
		sentences := sentencesOf(file.File)
		if len(sentences) == 0 {
			continue
		}
		all.WriteString("# " + file.path + "\n")
		for _, s := range sentences {
			all.WriteString(s + "\n")
			for _, word := range anyBanned.FindAllString(s, -1) {
				t.Errorf("%s: %s\n\thas %q; write %s", file.path, s, word, banned[strings.ToLower(word)])
			}
		}
		all.WriteString("\n")
	}
	if to := os.Getenv("DLXTOP_WORDS"); to != "" {
		must.Do(t, os.WriteFile(to, []byte(all.String()), 0o644))
	}
}

// spokenFiles are the files of the packages whose words people read, without tests.
func spokenFiles() []goFile {
	return slices.DeleteFunc(slices.Clone(goFiles), func(file goFile) bool {
		room, _, inRoom := strings.Cut(file.path, "/")
		if !inRoom {
			room = "."
		}
		return file.isTest || !slices.Contains(spoken, room) || strings.HasPrefix(file.path, "model/build/")
	})
}

// sentencesOf are the texts of two words or more that a file says, sorted, each once.
func sentencesOf(file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // its tag is not spoken
			return n.Tag == nil
		case *ast.CallExpr:
			return !compilesPattern(n)
		case *ast.BinaryExpr, *ast.BasicLit:
			text, literal := joined(n.(ast.Expr))
			if literal && isSentence(text) {
				found = append(found, strconv.Quote(text)[1:len(strconv.Quote(text))-1])
			}
			return !literal
		}
		return true
	})
	slices.Sort(found)
	return slices.Compact(found)
}

// compilesPattern reports whether a call takes a pattern, which is not for people.
func compilesPattern(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == "regexp"
}

// joined is a text that may be put together of several, with … for each value between them.
func joined(e ast.Expr) (text string, literal bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "…", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "…", false
		}
		left, ok := joined(e.X)
		right, also := joined(e.Y)
		return left + right, ok || also
	}
	return "…", false
}

// forMachines are texts that no person reads: statements of SQL, JSON, shell scripts, files of configuration.
var forMachines = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|DROP|BEGIN|WITH|r\.id|HEAD /` +
	`|kill -|read -r|trap |RABBITMQ_|listeners\.|cluster_formation\.|\{|\[[\{"])`)

// word is what a sentence has at least two of, without what fmt puts there.
var word = regexp.MustCompile(`\pL[\pL'’]+`)

// isSentence reports whether a text is for people: two words or more with a space between them.
func isSentence(text string) bool {
	return !forMachines.MatchString(text) && strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace) &&
		len(word.FindAllString(text, 2)) == 2
}
