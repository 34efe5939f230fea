package model

// Unexported functions that the tests of this package use.
var (
	HeadersMatch = headersMatch
	IsMedial     = isMedial
)

const MaxLetters = maxLetters
