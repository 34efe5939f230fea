//go:build race

package mend

import "time"

// More than users give a program: the race detector makes it many times slower, and its garbage more.
var (
	mostTime         = time.Minute
	mostMemory int64 = 1 << 30 // bytes
)
