package term

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"
)

func (t *Table[K, T]) IsChosen(k K) bool {
	_, ok := t.Chosen[k]
	return ok
}

// Selection are the chosen items in the order of the table, hidden ones included.
func (t *Table[K, T]) Selection() []T {
	return slices.DeleteFunc(slices.Clone(t.All), func(item T) bool { return !t.IsChosen(t.key(item)) })
}

func (t *Table[K, T]) Unchoose() { t.Chosen, t.anchor = map[K]struct{}{}, nil }

func (t *Table[K, T]) toggle() {
	item, ok := t.Current()
	if !ok {
		return
	}
	if k := t.key(item); t.IsChosen(k) {
		delete(t.Chosen, k)
	} else {
		t.Chosen[k] = struct{}{}
	}
	t.anchor = nil
}

// chooseRange chooses everything between the anchor and the cursor.
func (t *Table[K, T]) chooseRange() {
	between := t.between()
	if between == nil {
		t.anchor = nil
	}
	for _, k := range between {
		t.Chosen[k] = struct{}{}
	}
}

// between are the items from the anchor to the cursor; none without a range.
func (t *Table[K, T]) between() (keys []K) {
	if t.anchor == nil || t.Index >= len(t.Shown) {
		return nil
	}
	from := t.find(*t.anchor)
	if from < 0 {
		return nil
	}
	for i := min(from, t.Index); i <= max(from, t.Index); i++ {
		keys = append(keys, t.key(t.Shown[i]))
	}
	return keys
}

// endRange ends the range when other items lie between its ends than did: nobody has seen them there.
func (t *Table[K, T]) endRange(was []K) {
	if t.anchor != nil && !slices.Equal(was, t.between()) {
		t.anchor = nil
	}
}

// chooseAll chooses everything that is shown, or nothing when all of it is chosen already.
func (t *Table[K, T]) chooseAll() {
	t.anchor = nil
	all := !slices.ContainsFunc(t.Shown, func(item T) bool { return !t.IsChosen(t.key(item)) })
	for _, item := range t.Shown {
		if all {
			delete(t.Chosen, t.key(item))
		} else {
			t.Chosen[t.key(item)] = struct{}{}
		}
	}
}

// Choosing handles the keys of the selection, in a table that has one.
func (t *Table[K, T]) Choosing(msg tea.KeyMsg) bool {
	switch k := t.Keys; {
	case Is(msg, k.Choose):
		t.toggle()
		t.MoveTo(t.Index + 1)
	case Is(msg, k.Range):
		if t.anchor != nil {
			t.anchor = nil
		} else if item, ok := t.Current(); ok {
			at := t.key(item)
			t.anchor = &at
			t.chooseRange()
		}
	case Is(msg, k.ChooseAll):
		t.chooseAll()
	default:
		return false
	}
	return true
}

func (t *Table[K, T]) prune() {
	was := t.Chosen
	if len(was) == 0 {
		return
	}
	t.Chosen = make(map[K]struct{}, len(was))
	for _, item := range t.All {
		if _, ok := was[t.key(item)]; ok {
			t.Chosen[t.key(item)] = struct{}{}
		}
	}
}
