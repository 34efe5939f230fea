//go:build linux && !race

package mend

import "syscall"

// limitMemory has the kernel refuse this process more memory of its own, in bytes. The race detector maps more than any
// program needs.
func limitMemory(most uint64) {
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}
