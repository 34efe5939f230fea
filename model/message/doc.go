// Package message is one message: its properties, headers, deaths and failure, the envelope that a framework put around
// it, its fingerprint, and its JSON. What a queue does with it is story's, what a person does with it is plan's.
//
// It has more than 6,000 lines: why a message failed and where it came from stands in the envelopes of a dozen
// frameworks. They read the message, and the message asks them, so that neither can do without the other.
package message
