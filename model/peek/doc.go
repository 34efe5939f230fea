// Package peek says how to look at a queue: by which method, what goes back and how, what that costs of a delivery
// limit, and what came of it. It reads nothing itself: broker executes it.
package peek
