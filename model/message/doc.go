// Package message is one message: its properties, headers, deaths and failure, the envelope that a framework put around
// it, its fingerprint, and its JSON. What a queue does with it belongs to package story, what a person does with it to
// package plan.
//
// Reading an envelope needs the message, and the message needs its envelope, so they cannot be separate packages.
package message
