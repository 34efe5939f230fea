//go:build linux && !race

package jq

import "syscall"

// limitMemory makes the kernel limit this process's memory, in bytes. The race detector maps more than any program
// needs.
func limitMemory(most uint64) {
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: most, Max: most})
}
