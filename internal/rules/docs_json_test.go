package rules_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
)

// jsonOutputs are the commands that write JSON, and the types that they write.
var jsonOutputs = []struct{ title, room, name string }{
	{"`flows`", "cli", "flowsJSON"},
	{"`peek`", "cli", "peekJSON"},
	{"A message", "model/message", "MessageJSON"},
	{"`causes`", "cli", "causesJSON"},
	{"`find`: a line for each hit", "cli", "hitJSON"},
	{"`find`: the last line", "cli", "foundJSON"},
	{"`replay`, `move`, `drop`, `import`, `journal undo`, `journal resume`", "cli/report", "accountJSON"},
	{"`findings`", "cli", "findingsJSON"},
	{"`journal`", "cli", "recordsJSON"},
	{"`probe`", "cli", "probeJSON"},
	{"`demo --no-ui`", "cli", "demoJSON"},
	{"`version`", "cli", "versionJSON"},
}

// jsonPage is what the commands write with -o json, read from the types and the comments on their fields.
func jsonPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	said := map[string]bool{}
	for _, o := range jsonOutputs {
		room := jsonRoom{t, structsIn(t, o.room), said}
		fmt.Fprintf(&b, "## %s\n\n", o.title)
		room.write(&b, "", o.name)
		b.WriteString("\n")
	}
	return b.String()
}

// structsIn are the structs that a package declares, by their names.
func structsIn(t *testing.T, room string) map[string]*ast.StructType {
	t.Helper()
	structs := map[string]*ast.StructType{}
	files := must.Get(filepath.Glob(room + "/*.go"))(t)
	for _, path := range files {
		file := must.Get(parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return structs
}

// jsonRoom writes rows for the structs of one package.
type jsonRoom struct {
	t       *testing.T
	structs map[string]*ast.StructType
	said    map[string]bool // the fields that were described further up
}

// fieldJSON is what is said of fields: those of one struct of which the same is said are in one line.
type fieldJSON struct {
	names              []string
	kind, what, within string
}

// fields are the fields of a struct, with those that are embedded in it.
func (r jsonRoom) fields(name string) (all []fieldJSON) {
	r.t.Helper()
	s := r.structs[name]
	must.That(r.t, s != nil, "there is no struct %s", name)
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 { // embedded: its fields are as if they stood here
			all = append(all, r.fields(f.Type.(*ast.Ident).Name)...)
			continue
		}
		if f.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		key, options, _ := strings.Cut(tag, ",")
		what := strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
		assert.That(r.t, what != "", "%s: the field %s has no comment, so docs/json.md cannot say what it is", name, key)
		kind, within := jsonKind(f.Type)
		of := f.Type
		if pointer, ok := of.(*ast.StarExpr); ok {
			of = pointer.X
		}
		if _, list := of.(*ast.ArrayType); list {
			key += "[]"
		}
		if options != "" {
			key += "?"
		}
		if r.structs[within] == nil {
			within = ""
		}
		field := fieldJSON{kind: kind, what: what, within: within}
		i := slices.IndexFunc(all, func(f fieldJSON) bool {
			return within == "" && f.kind == kind && f.what == what && f.within == "" && len(f.names) < 5
		})
		if i < 0 {
			i, all = len(all), append(all, field)
		}
		all[i].names = append(all[i].names, "`"+key+"`")
	}
	return all
}

// write writes a line for each field of a struct, and below it those of the structs in it.
func (r jsonRoom) write(b *strings.Builder, indent, name string) {
	r.t.Helper()
	var again []string
	for _, f := range r.fields(name) {
		text := fmt.Sprint(f)
		if f.within == "" && r.said[text] {
			again = append(again, f.names...)
			continue
		}
		r.said[text] = true
		kind := ""
		if f.kind != "text" && f.kind != "number" && f.within == "" {
			kind = " (" + f.kind + ")"
		}
		fmt.Fprintf(b, "%s- %s%s: %s\n", indent, strings.Join(f.names, ", "), kind, f.what)
		if f.within != "" {
			r.write(b, indent+"  ", f.within)
		}
	}
	for names := range slices.Chunk(again, 6) {
		fmt.Fprintf(b, "%s- as above: %s\n", indent, strings.Join(names, ", "))
	}
}

// jsonKind is what a field's type is in JSON, and the name of the struct in it, where that is one.
func jsonKind(e ast.Expr) (kind, within string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return jsonKind(e.X)
	case *ast.IndexExpr: // model.Opt[T]
		return jsonKind(e.Index)
	case *ast.ArrayType:
		return jsonKind(e.Elt)
	case *ast.MapType:
		return "object", ""
	case *ast.SelectorExpr:
		switch e.Sel.Name {
		case "MessageJSON", "RawMessage":
			return "message", ""
		}
		return "text", "" // a kind, an id, a fingerprint
	case *ast.Ident:
		switch e.Name {
		case "bool":
			return "boolean", ""
		case "int", "int64", "uint8", "float64":
			return "number", ""
		case "string", "Framework":
			return "text", ""
		}
		return "object", e.Name
	}
	return "object", ""
}
