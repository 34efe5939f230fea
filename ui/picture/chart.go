package picture

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/watch"
	"github.com/dlxtop/dlxtop/ui/term"
)

const (
	LeastChart   = 7  // rows, with heading, movement and axis
	ChartLog     = 2  // rows of the log that stay
	mostChart    = 12 // more rows show nothing more
	chartLabels  = 10 // columns for the labels at the left
	chartGap     = 12 * time.Second
	MarkUnknown  = "·"
	chartHeading = "LAST 5 MINUTES"
)

// eighths fill a cell from below.
var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// Chart is what is charted for a queue: how many were ready, and what came and went each second, over the span that
// ends now.
type Chart struct {
	Queue  model.QueueRef
	Points []watch.TracePoint
	Span   time.Duration
	Now    model.Movement // as in the picture
}

// ChartColumns returns the points that fit beside the labels; 0: there is no room for a chart.
func ChartColumns(width, height int) int {
	if columns := width - chartLabels - 3; height >= LeastChart && columns >= 10 {
		return columns
	}
	return 0
}

func (c Chart) Lines(height int) []string {
	height = min(height, mostChart)
	points, columns := c.Points, len(c.Points)
	series := func(value func(watch.TracePoint) model.Opt[float64]) []float64 {
		values := model.Mapped(points, func(p *watch.TracePoint) float64 { return value(*p).Or(-1) })
		return held(values, int(chartGap*time.Duration(columns)/c.Span))
	}

	depth := series(func(p watch.TracePoint) model.Opt[float64] { return p.Depth })
	in := series(func(p watch.TracePoint) model.Opt[float64] { return p.In })
	out := series(func(p watch.TracePoint) model.Opt[float64] { return p.Out })
	lines := []string{" " + term.Heading.Render(chartHeading) + "  " +
		term.Strong.Render(model.Printable(c.Queue.Name)) +
		term.Muted.Render("  ready messages, and those that come and go now; "+MarkUnknown+" not known")}
	rows := height - 4

	highest := highestOf(depth)
	for i, row := range barRows(depth, highest, rows) {
		label, edge := "", "│"
		switch i {
		case 0:
			label = model.Count(int64(math.Ceil(highest)))
			edge = "┤"
		case rows - 1:
			label, edge = "0", "┤"
		}

		lines = append(lines, chartRow(label, edge, row, term.Waiting))
	}

	fastest := max(highestOf(in), highestOf(out))
	label := func(what string, now model.Opt[float64]) string {
		if rate, known := now.Get(); known {
			return what + " " + perSecond(rate)
		}
		return what + " ?"
	}

	lines = append(lines, chartRow(label("in", c.Now.In), "┤", barRows(in, fastest, 1)[0], term.Good))
	lines = append(lines, chartRow(label("out", c.Now.Out), "┤", barRows(out, fastest, 1)[0], term.Good))
	return append(lines, strings.Repeat(" ", chartLabels+2)+term.Muted.Render(timeAxis(columns)))
}

func chartRow(label, edge, cells string, style term.Style) string {
	return " " + term.Muted.Render(term.PadLeft(label, chartLabels)+edge) + style.Render(cells)
}

func highestOf(values []float64) float64 { return slices.Max(append([]float64{0}, values...)) }

// held fills short gaps with the previous value: polls are some seconds apart. Longer ones stay.
func held(values []float64, longest int) []float64 {
	last := -1
	fill := func(end int) {
		for j := last + 1; last >= 0 && j < end; j++ {
			values[j] = values[last]
		}
	}

	for i, v := range values {
		if v < 0 {
			continue
		}
		if i-last <= longest+1 {
			fill(i)
		}
		last = i
	}

	if len(values)-last <= longest {
		fill(len(values))
	}

	return values
}

// barRows draws values from 0 to the highest as bars of some rows, and marks unknown ones at the bottom.
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
				cell = MarkUnknown
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
		put(columns-columns*minutes/5-ansi.StringWidthWc(words)/2, words)
	}

	put(columns-3, "now")
	return string(axis)
}

// bars are a sparkline's heights, without the full block: in a table it would merge with the row above.
var bars = eighths[1:8]

// Sparkline draws values from 0 to their maximum, with a blank for unknown ones.
func Sparkline(values []float64) string {
	highest := highestOf(values)
	var b strings.Builder
	for _, v := range values {
		switch {
		case v < 0:
			b.WriteByte(' ')
		case highest == 0:
			b.WriteString(bars[0])
		default:
			b.WriteString(bars[int(v/highest*float64(len(bars)-1)+0.5)])
		}
	}

	return b.String()
}

// perSecond formats a rate: "38.2/s", "1,204/s".
func perSecond(rate float64) string {
	if rate >= 100 {
		return model.Count(int64(rate+0.5)) + "/s"
	}
	return strconv.FormatFloat(rate, 'f', 1, 64) + "/s"
}
