package wildcard

// Glob reports whether a name matches a pattern, in which * stands for any text and ? for one character. Slashes
// and brackets are ordinary characters.
func Glob(pattern, name string) bool { return matches([]rune(pattern), []rune(name), '*', '?') }
