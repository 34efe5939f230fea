//go:build race

package mend

import "time"

// More than users get: the race detector makes programs many times slower, with more garbage.
var (
	mostTime         = time.Minute
	mostMemory int64 = 1 << 30 // bytes
)
