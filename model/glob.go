package model

// MatchesGlob reports whether a name matches a pattern, in which * stands for any text and ? for one character. A name
// may have slashes and brackets: they are characters as all others.
func MatchesGlob(pattern, name string) bool { return matches([]rune(pattern), []rune(name), '*', '?') }
