package term

import "slices"

// pictured is what the last View drew, by identity: a click means what was seen, whatever a refresh brought since.
type pictured[K comparable] struct {
	keys  []K // of the rows, from the top
	width int
}

// Click puts the cursor on the row that the last View drew in a line, counted from its first one, which is the head. A
// second click on the same row reports so. Where no row was, or where its item is gone, nothing happens.
func (t *Table[K, T]) Click(x, line int) (again bool) {
	row := line - 1
	if x < 0 || x >= t.pictured.width || row < 0 || row >= len(t.pictured.keys) {
		return false
	}
	k := t.pictured.keys[row]
	at := slices.IndexFunc(t.Shown, func(item T) bool { return t.key(item) == k })
	if at < 0 {
		return false
	}
	again = t.clicked != nil && *t.clicked == k && t.aimed && t.at == k
	t.MoveTo(at)
	t.clicked = &k
	return again
}
