package cause

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// chunkEnd returns the end of the chunk that begins here: before a delimiter, or where Latin letters and digits meet
// another script. Chinese, Japanese and Thai have no spaces between words, so a sentence with a number would otherwise
// be one word, and be taken for an id. A path and a URL keep such names.
func (f *folder) chunkEnd() int {
	end, other := f.at, false
	for end < len(f.in) && (!isDelimiter(f.in[end]) || f.apostrophe(end)) {
		size, is := 1, false
		if f.in[end] >= utf8.RuneSelf {
			if isWidePunctuation(f.in[end:]) {
				return end
			}
			var r rune
			r, size = utf8.DecodeRuneInString(f.in[end:])
			is = isOtherLetter(r) || other && unicode.IsMark(r)
		}

		s := f.in[f.at:end]
		changes := is != other && s != ""
		if changes && !isPath().MatchString(s) && !strings.Contains(s, "://") {
			return end
		}

		other = is
		end += size
	}

	return end
}

// isOtherLetter reports whether a letter is neither Latin nor Greek (Greek letters occur in units, too).
func isOtherLetter(r rune) bool {
	return r >= '\u0400' && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) && !unicode.Is(unicode.Greek, r)
}

const wideLength = 3 // bytes in UTF-8 of such a punctuation mark

// isWidePunctuation reports whether a text begins with Chinese or Japanese punctuation: 、。「」，：；！？（）.
func isWidePunctuation(s string) bool {
	if len(s) < wideLength || s[0] != 0xe3 && s[0] != 0xef {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsPunct(r) && (r >= '\u3001' && r <= '\u301f' || r >= '\uff01' && r <= '\uff65')
}

// apostrophe reports whether the byte at an index is an apostrophe as in "can't".
func (f *folder) apostrophe(i int) bool {
	if f.in[i] != '\'' || i == 0 || i+1 == len(f.in) {
		return false
	}
	if !isLetter(f.in[i-1]) || !isLetter(f.in[i+1]) {
		return false
	}

	return i < 2 || isLetter(f.in[i-2]) || f.in[i-1] == 'I'
}
