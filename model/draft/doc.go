// Package draft is a message as a person edits it before it is published: as a document of JSON and a body, and what is
// different in it.
package draft
