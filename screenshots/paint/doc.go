// Package paint draws a terminal's screen as a picture, in the terminal's colours: as pixels (PNG, the documentation's
// pictures) or as text (SVG). It reads what a program has written, and knows nothing of what stands there.
package paint
