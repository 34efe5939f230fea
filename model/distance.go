package model

import "strings"

// Distance returns how many characters must be added, removed or changed to turn one text into the
// other, in upper or lower case.
func Distance(a, b string) int {
	s, t := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}

	for i := range s {
		diagonal := row[0]
		row[0] = i + 1
		for j := range t {
			change := diagonal
			if s[i] != t[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}

	return row[len(t)]
}
