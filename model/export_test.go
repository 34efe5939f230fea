package model

// What the tests of this package see of it, besides what everybody sees.
var (
	HeadersMatch = headersMatch
	TopicMatches = topicMatches
	TopicWords   = topicWords
	IsMedial     = isMedial
)

const MaxLetters = maxLetters
