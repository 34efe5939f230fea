// Package message is one message: its properties, headers, deaths and failure, the envelope that a framework put around
// it, its fingerprint, its JSON, and the filters that choose it. What a queue does with it is story's, what a person
// does with it is plan's.
package message
