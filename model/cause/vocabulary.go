package cause

import (
	_ "embed" // the vocabulary
	"strings"

	"github.com/BurntSushi/toml"
)

//go:embed vocabulary.toml
var vocabularyFile string

// vocabulary are the sections of the file.
var vocabulary = func() (sections map[string]string) {
	if _, err := toml.Decode(vocabularyFile, &sections); err != nil {
		panic(err)
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
