// Package causes is the screens of failed messages by their causes, and of the queues: what is read of failed queues,
// how it is grouped, and what is done to a cause in all its queues.
package causes
