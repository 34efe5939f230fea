// Package rules has no code: its tests read the repository as text. They check which package may import which, that
// code decides by values, that sentences are plain, and that the pages in docs match the code.
package rules
