package term

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// glyphs are the characters beyond ASCII that dlxtop itself draws, each with a stand-in for a terminal without UTF-8.
// The usual coding fonts have all of them.
var glyphs = map[rune]byte{
	'─': '-', '│': '|', '╭': '+', '╮': '+', '╰': '+', '╯': '+', '├': '+', '┤': '+', '┬': '+', '┴': '+', '┼': '+',
	'▁': '_', '▂': '_', '▃': '.', '▄': '.', '▅': '-', '▆': '-', '▇': '=', '█': '#', '░': ':',
	'▸': '>', '▶': '>', '◀': '<', '▲': '^', '▼': 'v', '←': '<', '→': '>', '↑': '^', '↓': 'v', '›': '>',
	'●': '*', '•': 'o', '·': '.', '✗': 'x', '✓': 'v', '■': '#', '□': '_', '◇': 'o', '…': '~', '–': '-',
	'≤': '<', '≥': '>', '≈': '~', '×': 'x', 'µ': 'u', '\ufffd': '?',
}

// ASCII converts a frame for a terminal without UTF-8: as wide as before, with a stand-in for each unsupported
// character, or "?".
func ASCII(frame string) string {
	var b strings.Builder
	b.Grow(len(frame))
	for _, r := range frame {
		stand, ok := glyphs[r]
		switch {
		case r < 0x80:
			b.WriteByte(byte(r))
		case ok:
			b.WriteByte(stand)
		default:
			b.WriteString(strings.Repeat("?", ansi.StringWidthWc(string(r))))
		}
	}

	return b.String()
}

// UTF8 reports whether the terminal supports UTF-8, by the locale in the environment (POSIX: LC_ALL, else LC_CTYPE,
// else LANG). If none is set, as in many containers, it does: terminals without UTF-8 are rare, and their users set the
// locale.
func UTF8(env func(string) string) bool {
	locale := cmp.Or(env("LC_ALL"), env("LC_CTYPE"), env("LANG"))
	_, charset, ok := strings.Cut(strings.ToLower(locale), ".")
	if !ok {
		return locale == "" || locale != "C" && locale != "POSIX"
	}
	charset, _, _ = strings.Cut(charset, "@")
	return charset == "utf-8" || charset == "utf8"
}
