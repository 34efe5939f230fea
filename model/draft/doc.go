// Package draft is a message as a person edits it before it is published: as a document of JSON and a body, and the
// differences between two versions.
package draft
