package picture

import "strings"

// bars are a sparkline's heights. The full block is not among them: in a table it would grow together with the row
// above.
var bars = [...]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇"}

// Sparkline draws values from 0 to their highest, a blank where one is unknown.
func Sparkline(values []float64) string {
	highest := 0.0
	for _, v := range values {
		highest = max(highest, v)
	}
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
