//go:build !race

package mend

import "time"

// What a program may use for one message: beyond that its process is killed. Only tests set other values.
var (
	mostTime         = 3 * time.Second
	mostMemory int64 = 512 << 20 // bytes of its heap
)
