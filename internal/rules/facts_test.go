package rules_test

import (
	"go/ast"
	"go/token"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

// TestOneFactForOneCheck: a failure says which condition was false, so none is joined with another by &&. Only a range
// is one fact of two comparisons.
func TestOneFactForOneCheck(t *testing.T) {
	checks := 0
	for _, file := range goFiles {
		ast.Inspect(file.File, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			called, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || called.Sel.Name != "That" {
				return true
			}

			checks++
			joined, ok := ast.Unparen(call.Args[1]).(*ast.BinaryExpr)
			if !ok || joined.Op != token.LAND {
				return true
			}

			isRange := isBound(joined.X) && isBound(joined.Y)
			assert.That(t, isRange, "%s: a failure would not say which condition is false", positions.Position(n.Pos()))
			return true
		})
	}

	assert.That(t, checks > 1000, "%d checks were found", checks)
}

// isBound reports a comparison with the lowest or highest value of a range.
func isBound(e ast.Expr) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && (b.Op == token.LSS || b.Op == token.LEQ || b.Op == token.GTR || b.Op == token.GEQ)
}
