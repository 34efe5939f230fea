package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

// isChosen reports whether an item is in the selection.
func (t *table[K, T]) isChosen(k K) bool {
	_, ok := t.chosen[k]
	return ok
}

// selection are the chosen items in the order of the table, hidden ones included.
func (t *table[K, T]) selection() []T {
	var items []T
	for _, item := range t.all {
		if t.isChosen(t.key(item)) {
			items = append(items, item)
		}
	}
	return items
}

// unchoose empties the selection.
func (t *table[K, T]) unchoose() { t.chosen, t.anchor = map[K]struct{}{}, nil }

func (t *table[K, T]) toggle() {
	item, ok := t.current()
	if !ok {
		return
	}
	if k := t.key(item); t.isChosen(k) {
		delete(t.chosen, k)
	} else {
		t.chosen[k] = struct{}{}
	}
	t.anchor = nil
}

// chooseRange chooses everything between the anchor and the cursor.
func (t *table[K, T]) chooseRange() {
	from := slices.IndexFunc(t.shown, func(item T) bool { return t.key(item) == *t.anchor })
	if from < 0 {
		t.anchor = nil
		return
	}
	for i := min(from, t.index); i <= max(from, t.index); i++ {
		t.chosen[t.key(t.shown[i])] = struct{}{}
	}
}

// chooseAll chooses everything that is shown, or nothing when all of it is chosen already.
func (t *table[K, T]) chooseAll() {
	t.anchor = nil
	all := !slices.ContainsFunc(t.shown, func(item T) bool { return !t.isChosen(t.key(item)) })
	for _, item := range t.shown {
		if all {
			delete(t.chosen, t.key(item))
		} else {
			t.chosen[t.key(item)] = struct{}{}
		}
	}
}

// choosing handles the keys of the selection, in a table that has one.
func (t *table[K, T]) choosing(msg tea.KeyMsg) bool {
	switch k := t.keys; {
	case is(msg, k.Choose):
		t.toggle()
		t.moveTo(t.index + 1)
	case is(msg, k.Range):
		if t.anchor != nil {
			t.anchor = nil
		} else if item, ok := t.current(); ok {
			at := t.key(item)
			t.anchor = &at
			t.chooseRange()
		}
	case is(msg, k.ChooseAll):
		t.chooseAll()
	default:
		return false
	}
	return true
}

// prune forgets chosen items that are no more.
func (t *table[K, T]) prune() {
	if len(t.chosen) == 0 {
		return
	}
	present := make(map[K]struct{}, len(t.chosen))
	for _, item := range t.all {
		k := t.key(item)
		if _, ok := t.chosen[k]; ok {
			present[k] = struct{}{}
		}
	}
	t.chosen = present
}
