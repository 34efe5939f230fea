package plan

// warned are warnings as a person reads them.
func warned(warnings []Warning) []string {
	words := make([]string, len(warnings))
	for i, w := range warnings {
		words[i] = w.Words()
	}
	return words
}
