package filter

import (
	"maps"
	"slices"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// SavedMark begins the name of a saved filter, in place of an expression.
const SavedMark = "@"

// Saved are expressions by their saved names. nil has none.
type Saved map[string]string

// Filter parses a filter like Parse; "=@NAME" is the saved expression of that name. The filter contains the expression
// itself, so that a plan does not change with the name.
func (s Saved) Filter(text string) (*Filter, error) {
	expression, ok := strings.CutPrefix(strings.TrimSpace(text), expressionMark)
	if !ok || !strings.HasPrefix(strings.TrimSpace(expression), SavedMark) {
		return Parse(text)
	}
	f, err := s.Expression(expression)
	if err == nil {
		f.Text = expressionMark + f.Text
	}

	return f, err
}

// Expression parses an expression like ParseExpression; "@NAME" is the saved one of that name.
func (s Saved) Expression(text string) (*Filter, error) {
	name, ok := strings.CutPrefix(strings.TrimSpace(text), SavedMark)
	if !ok {
		return ParseExpression(text)
	}
	saved, there := s[name]
	if !there {
		return nil, model.Errorf("there is no saved filter %v: [filters] in the configuration file has %s",
			SavedMark+name, s.list())
	}

	return ParseExpression(saved)
}

// Names returns the sorted names, as typed: "@slow".
func (s Saved) Names() []string {
	names := slices.Sorted(maps.Keys(s))
	for i := range names {
		names[i] = SavedMark + names[i]
	}
	return names
}

func (s Saved) list() string {
	if len(s) == 0 {
		return "none"
	}
	return model.Printable(strings.Join(s.Names(), ", "))
}
