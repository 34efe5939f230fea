// Package body makes the body of a message readable: what it is packed in is taken off, what it is written in is read,
// and lines of it are made whose parts have a kind, for a screen to colour.
//
// Nothing of a body is executed, no object of it is made, and all that is done is bounded: bytes, levels, values.
// Nothing is claimed that its bytes or its content type do not show: what could be two things stays text or bytes.
//
// The kinds come from the readers and not from a library that highlights, as chroma: these read source code by its
// look, one lexer a language, and add megabytes of lexers. Here most formats have no source at all: what is shown is
// made of MessagePack, a pickle or Java's serialised objects, and who made it knows what is a name and what a number.
package body
