package model

// Unexported functions that the tests of this package use.
var (
	HeadersMatch = headersMatch
	TopicMatches = topicMatches
	TopicCovers  = topicCovers
	TopicOverlap = topicsOverlap
	TopicWords   = topicWords
	IsMedial     = isMedial
)

const MaxLetters = maxLetters
