// Package body makes the body of a message readable: it unpacks it, decodes its format, and lays it out as lines whose
// parts have a kind, for a screen to colour.
//
// Nothing in a body is executed or instantiated, and all work is bounded: bytes, levels, values. A format is only named
// if the bytes or the content type show it: what could be two things stays text or bytes.
//
// The kinds come from the decoders and not from a highlighting library like chroma: those tokenize source text, with
// one lexer per language and megabytes of lexers. Lines generated from CBOR or PHP's serialize have no source text, and
// the code that generates them knows what is a name and what a number.
package body
