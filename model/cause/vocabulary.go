package cause

import (
	_ "embed" // the vocabulary
	"strings"
)

//go:embed vocabulary.txt
var vocabularyFile string

// vocabulary are the sections of the file.
var vocabulary = func() map[string]string {
	sections, name := map[string]string{}, ""
	for line := range strings.Lines(vocabularyFile) {
		switch {
		case line[0] == '#':
		case line[0] == '[':
			name = strings.Trim(line, "[]\n")
		default:
			sections[name] += line
		}
	}
	return sections
}()

// list returns the words of a section.
func list(section string) []string {
	words := strings.Fields(vocabulary[section])
	if len(words) == 0 {
		panic("no section " + section)
	}
	return words
}

// lines returns the lines of a section.
func lines(section string) []string {
	return strings.Split(strings.TrimSpace(vocabulary[section]), "\n")
}

// set returns the words of a section, for looking them up.
func set(section string) map[string]bool {
	s := map[string]bool{}
	for _, w := range list(section) {
		s[w] = true
	}
	return s
}
