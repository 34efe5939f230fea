// Package peek plans how to look at a queue: by which method, how messages are returned, what that costs of a delivery
// limit, and what the result was. It reads nothing itself: package broker does.
package peek
