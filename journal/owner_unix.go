//go:build unix

package journal

import (
	"io/fs"
	"os"
	"syscall"
)

// modes is whether a file's mode says who may read and write it.
const modes = true

// foreign returns the owner of a file, and whether that is another user than this process's.
func foreign(info fs.FileInfo) (owner int, others bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), int(stat.Uid) != os.Geteuid()
}
