// Package story is the past and the future of a message in its queue: what happened to it, how often its worker has had
// it, when it is due, what blocks it, and what comes next. It explains; package plan says what to do.
package story
