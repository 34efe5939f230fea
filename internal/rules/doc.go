// Package rules has no code: its tests read the repository as text, and say who may import whom, that code decides by
// values, that sentences are plain and the pages in docs are what the code says.
package rules
