package ui

import (
	"math"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"dlxtop/model"
)

// The measures of a chart, in rows and columns.
const (
	leastChart   = 7  // rows, with heading, movement and axis
	chartLog     = 2  // rows of the log that stay
	mostChart    = 12 // more tells nothing more
	chartLabels  = 10 // columns for the labels at the left
	chartGap     = 12 * time.Second
	markUnknown  = "·"
	chartHeading = "LAST 5 MINUTES"
)

// eighths fill a cell from below.
var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// chartLines chart the queue under the cursor over five minutes: how many are ready, and what came and went each second.
func (s flowScreen) chartLines(width, height int) []string {
	height = min(height, mostChart)
	columns := width - chartLabels - 3
	if height < leastChart || columns < 10 {
		return nil
	}
	now := s.env.now()
	points := s.live.watch.Trace(s.cursor, now, columns)
	if s.latest.history != nil { // what was polled before this screen was open
		for i, depth := range s.latest.history.ready(now, columns, s.cursor) {
			if depth >= 0 && !points[i].Depth.Known() {
				points[i].Depth = model.Some(depth)
			}
		}
	}
	series := func(value func(model.TracePoint) model.Opt[float64]) []float64 {
		values := make([]float64, len(points))
		for i, p := range points {
			values[i] = value(p).Or(-1)
		}
		return held(values, int(chartGap*time.Duration(columns)/historySpan))
	}
	depth := series(func(p model.TracePoint) model.Opt[float64] { return p.Depth })
	in, out := series(func(p model.TracePoint) model.Opt[float64] { return p.In }), series(func(p model.TracePoint) model.Opt[float64] { return p.Out })
	styles := s.env.styles
	lines := []string{" " + styles.Heading.Render(chartHeading) + "  " + styles.Strong.Render(model.Printable(s.cursor.Name)) +
		styles.Muted.Render("  ready messages, and those that came and went per second; "+markUnknown+" not known")}
	rows := height - 4
	highest := highestOf(depth)
	for i, row := range barRows(depth, highest, rows) {
		label, edge := "", "│"
		switch i {
		case 0:
			label, edge = model.Count(int64(math.Ceil(highest))), "┤"
		case rows - 1:
			label, edge = "0", "┤"
		}
		lines = append(lines, chartRow(styles, label, edge, row, styles.Waiting))
	}
	fastest := max(highestOf(in), highestOf(out))
	label := func(what string) string { return what + " " + strings.TrimSuffix(perSecond(fastest), "/s") + "/s" }
	lines = append(lines, chartRow(styles, label("in"), "┤", barRows(in, fastest, 1)[0], styles.Good))
	lines = append(lines, chartRow(styles, label("out"), "┤", barRows(out, fastest, 1)[0], styles.Good))
	return append(lines, strings.Repeat(" ", chartLabels+2)+styles.Muted.Render(timeAxis(columns)))
}

func chartRow(styles *Styles, label, edge, cells string, style Style) string {
	return " " + styles.Muted.Render(fit(label, chartLabels, true, false)+edge) + style.Render(cells)
}

func highestOf(values []float64) float64 {
	highest := 0.0
	for _, v := range values {
		highest = max(highest, v)
	}
	return highest
}

// held fills short gaps with the value before them: polls are some seconds apart. Longer ones stay.
func held(values []float64, longest int) []float64 {
	last := -1
	for i, v := range values {
		if v < 0 {
			continue
		}
		if last >= 0 && i-last <= longest+1 {
			for j := last + 1; j < i; j++ {
				values[j] = values[last]
			}
		}
		last = i
	}
	if last >= 0 && len(values)-last <= longest {
		for j := last + 1; j < len(values); j++ {
			values[j] = values[last]
		}
	}
	return values
}

// barRows draws values from 0 to the highest as bars of some rows, and marks what is not known at the bottom.
func barRows(values []float64, highest float64, rows int) []string {
	lines := make([]strings.Builder, rows)
	for _, v := range values {
		filled := 0
		if highest > 0 && v > 0 {
			filled = max(int(v/highest*float64(rows*8)+0.5), 1)
		}
		for i := range rows {
			below := (rows - 1 - i) * 8 // eighths in the rows below
			cell := eighths[min(max(filled-below, 0), 8)]
			if i == rows-1 && v < 0 {
				cell = markUnknown
			}
			lines[i].WriteString(cell)
		}
	}
	out := make([]string, rows)
	for i := range lines {
		out[i] = lines[i].String()
	}
	return out
}

// timeAxis names the minutes below a chart.
func timeAxis(columns int) string {
	axis := []rune(strings.Repeat(" ", columns))
	put := func(at int, words string) {
		for i, r := range []rune(words) {
			if at+i >= 0 && at+i < len(axis) {
				axis[at+i] = r
			}
		}
	}
	put(0, "5m ago")
	for minutes := 4; minutes > 0; minutes-- {
		words := model.ShortDuration(time.Duration(minutes) * time.Minute)
		put(columns-columns*minutes/5-ansi.StringWidth(words)/2, words)
	}
	put(columns-3, "now")
	return string(axis)
}
