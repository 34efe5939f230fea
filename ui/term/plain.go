package term

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// PlainWidth is how many columns a plain screen uses at most: with fewer than 100, nothing is side by side.
const PlainWidth = 99

// PlainStyles are for a screen that is heard or felt: only the character under a text field's cursor is styled, where
// Lines puts the terminal's own.
func PlainStyles() Styles { return Styles{Cursor: ansi.SGR(ansi.AttrReverse)} }

// undrawn has a blank for each line, box, curve and dot, and readable text for marks.
var undrawn = func() *strings.Replacer {
	pairs := []string{"●", "*", "✗", "x", "▲", "^", "▼", "v"}
	for _, r := range "─│╭╮╰╯├┤┬┴┼▁▂▃▄▅▆▇█░▶◀■□◇•" {
		pairs = append(pairs, string(r), " ")
	}
	return strings.NewReplacer(pairs...)
}()

// Undrawn removes the drawings of a frame. The cursor's mark stays: Lines looks for it.
func Undrawn(frame string) string { return undrawn.Replace(frame) }

// Lines writes a plain screen, so that each change is one line: of Bubble Tea's frames only lines with changed words,
// and the row with the cursor. The terminal's cursor is on that row, or in the text being typed.
//
// Without it a screen reader hears the clock at each poll, half of a list for each row that it scrolls, and never where
// the cursor is: Bubble Tea hides it, ends each frame in the last line, and lets no program choose either.
type Lines struct {
	drawn  []string // last, by the program
	stand  []string // on the terminal
	row    int      // of the terminal's cursor
	marked bool     // a row had the cursor's mark, or a text field the cursor
}

// Rewrite returns what to write in place of Bubble Tea 1.3.10's output: a frame begins with the cursor at home, has "
// " for an unchanged line, and ends with a movement to the last line. Everything else passes.
func (l *Lines) Rewrite(written []byte) []byte {
	frame, is := bytes.CutPrefix(written, []byte(ansi.CursorHomePosition))
	if !is || len(frame) == 0 {
		if bytes.Contains(written, []byte(ansi.EraseEntireScreen)) {
			l.drawn = nil
		}
		return bytes.ReplaceAll(written, []byte(ansi.HideCursor), nil)
	}

	lines := strings.Split(string(frame), "\n")
	lines[len(lines)-1] = strings.TrimSuffix(lines[len(lines)-1], ansi.CursorPosition(0, len(lines)))
	erase := ""
	if len(lines) != len(l.drawn) || !slices.Contains(lines, "") {
		erase = ansi.EraseEntireScreen
		l.drawn = make([]string, len(lines))
		l.stand = make([]string, len(lines))
	}

	for i, line := range lines {
		if line != "" {
			l.drawn[i] = line
		}
	}

	return []byte(erase + l.change())
}

// change writes what differs.
func (l *Lines) change() string {
	row, column := l.aim()
	want := make([]string, len(l.drawn))
	for i, line := range l.drawn {
		line = strings.TrimRight(ansi.Strip(line), " \r")
		if i == row {
			line = strings.Replace(line, MarkCursor, " ", 1)
		}
		want[i] = strings.ReplaceAll(line, MarkCursor, ">")
	}

	var b strings.Builder
	b.WriteString(l.scroll(want))
	first := -1
	for i, line := range want {
		if came := i == row && row != l.row && line != ""; !came && timeless(line) == timeless(l.stand[i]) {
			continue
		}
		if first < 0 {
			first = i
		}
		l.stand[i] = line
		b.WriteString(ansi.CursorPosition(1, i+1) + line + ansi.EraseLineRight)
	}

	marked := row >= 0
	switch {
	case !marked && l.marked && first >= 0: // a page or a dialog replaced the list
		row = first
	case !marked:
		row = min(l.row, len(want)-1)
	}

	l.row, l.marked = row, marked
	return b.String() + ansi.CursorPosition(column+1, row+1)
}

// aim returns where the terminal's cursor belongs: in a text field, otherwise on the first row with the mark; row -1
// for neither.
func (l *Lines) aim() (row, column int) {
	field := PlainStyles()[Cursor]
	for i, line := range l.drawn {
		if before, _, ok := strings.Cut(line, field); ok {
			return i, ansi.StringWidthWc(ansi.Strip(before))
		}
	}

	row = slices.IndexFunc(l.drawn, func(line string) bool {
		return strings.HasPrefix(strings.TrimLeft(ansi.Strip(line), " *"), MarkCursor)
	})
	return row, 0
}

// scroll makes the terminal move lines that are one row below or above their place, as in a list that scrolls. It picks
// the part of the screen where this saves the most lines, at least two: the freed line has to be rewritten.
func (l *Lines) scroll(want []string) string {
	by := 0
	from := 0
	to := 0
	most := 1
	for _, d := range []int{1, -1} {
		begin, saved := 0, 0
		for i := range want {
			at := i + d
			switch {
			case at < 0 || at == len(want) || timeless(want[i]) != timeless(l.stand[at]):
				begin, saved = i+1, 0
			case timeless(want[i]) != timeless(l.stand[i]):
				saved++
			}

			if saved > most {
				by = d
				from = begin
				to = i + 1
				most = saved
			}
		}
	}

	if by == 0 {
		return ""
	}
	copy(l.stand[from:to], l.stand[from+by:to+by])
	move, free := ansi.ScrollUp(1), to
	if by < 0 {
		move, free = ansi.ScrollDown(1), from-1
	}

	l.stand[free] = ""
	top := min(from, free) + 1
	bottom := max(to-1, free) + 1
	return ansi.SetTopBottomMargins(top, bottom) + move + ansi.SetTopBottomMargins(1, len(want))
}

// spans match times of day, ages and remaining times, with the blanks that pad them.
var spans = regexp.MustCompile(`\s*\d+(:\d\d)+|(\s*\d[\d.,]*\s?(ms|s|m|h|d)\b)+|\s+`)

// timeless removes what changes by itself from a line: a passing second is not worth announcing.
func timeless(line string) string { return spans.ReplaceAllString(line, " ") }
