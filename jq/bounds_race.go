//go:build race

package jq

import "time"

// More than users get: the race detector makes programs many times slower, with more garbage.
const (
	mostTime         = time.Minute
	mostMemory int64 = 1 << 30 // bytes
)
