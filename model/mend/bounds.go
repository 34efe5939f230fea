//go:build !race

package mend

import "time"

// What a program may take for one message: the process that does it is ended then. Only tests set others.
var (
	mostTime         = 3 * time.Second
	mostMemory int64 = 512 << 20 // bytes of its heap
)
