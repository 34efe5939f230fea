package model

import (
	"strings"
	"unicode"
)

// cluster is the grapheme cluster at the current position of a text. The zero value is none: at the beginning and after
// an escape, a mark has nothing to combine with.
type cluster struct {
	last   rune // the last rune that is not a mark; 0 when there is none
	marks  int  // on last
	joined int  // letters before last in the same cluster
	links  bool // one of the marks joins it to the next letter
}

// takes adds the next rune, unless it is a mark without a letter or exceeds the bounds.
func (c *cluster) takes(r rune) bool {
	if unicode.IsMark(r) || isMedial(r) {
		c.links = c.links || strings.ContainsRune(linkers, r)
		c.marks++
		return c.last != 0 && c.marks <= maxMarks
	}

	joined := 0
	if c.links && unicode.Is(unicode.Lo, r) || isInitial(c.last) && isHangul(r) {
		joined = c.joined + 1
	}

	*c = cluster{last: r, joined: joined}
	return joined < maxLetters
}

// isInitial reports whether a Hangul letter begins a syllable: it forms one cluster with the letters and syllables
// after it.
func isInitial(r rune) bool { return r >= 0x1100 && r <= 0x115f || r >= 0xa960 && r <= 0xa97c }

// isMedial reports whether a Hangul letter belongs to the middle or end of a syllable: alone it takes no cell.
func isMedial(r rune) bool { return r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7fb }

func isHangul(r rune) bool { return isInitial(r) || r >= 0xac00 && r <= 0xd7a3 }

// linkers are the marks that join the consonants around them into one cluster: InCB=Linker in Unicode's
// DerivedCoreProperties.
const linkers = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d\u1039\u17d2\u1a60\u1b44\u1bab\ua9c0\uaaf6" +
	"\U00010a3f\U00011133\U0001193e\U00011a47\U00011a99\U00011f42"

// disputed are runes that some terminals draw wider than others: numbers in black squares, combining musical signs,
// marks that a terminal with tables of Unicode 14 or earlier does not know, and rare letters that form one cluster with
// whatever follows (Grapheme_Cluster_Break=Prepend).
var disputed = &unicode.RangeTable{
	R16: []unicode.Range16{{0xcf3, 0xcf3, 1}, {0xd4e, 0xd4e, 1}, {0xece, 0xece, 1}, {0x3248, 0x324f, 1}},
	R32: []unicode.Range32{
		{0x10efd, 0x10eff, 1},
		{0x111c2, 0x111c3, 1},
		{0x11241, 0x11241, 1},
		{0x1193f, 0x1193f, 1},
		{0x11941, 0x11941, 1},
		{0x11a84, 0x11a89, 1},
		{0x11d46, 0x11d46, 1},
		{0x11f00, 0x11f02, 1},
		{0x11f36, 0x11f3a, 1},
		{0x11f40, 0x11f40, 1},
		{0x11f42, 0x11f42, 1},
		{0x13440, 0x13440, 1},
		{0x13447, 0x13455, 1},
		{0x1d165, 0x1d166, 1},
		{0x1d16d, 0x1d172, 1},
		{0x1e08f, 0x1e08f, 1},
		{0x1e4ec, 0x1e4ef, 1},
	},
}
