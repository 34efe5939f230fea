//go:build !race

package jq

import "time"

// What a program may use for one message: beyond that its process is killed.
const (
	mostTime         = 3 * time.Second
	mostMemory int64 = 512 << 20 // bytes of its heap
)
