// Package term is what every screen is drawn with: styles and themes, text that fits its cells, canvas, table, list and
// text fields with their keys. It knows nothing of RabbitMQ.
//
// What is drawn says what a text means (Style); how that looks is put in at the end, for a whole frame (Styles.Dress).
// Themes are Lip Gloss's, rendered once; no other package writes an escape sequence. Joins, padding and borders
// (Beside, Pad, Framed) are our own: Lip Gloss 1.1 measures each line again, in clusters where terminals count
// characters, and has no titles in borders; joining two panes of 80 x 36 took it 0.32 ms against 0.03, a border around
// one 1.2 ms against 0.06, and the budget of a whole frame is 2 ms.
package term
