// Package prune keeps directories of files that can be made again small.
package prune

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// unfinishedFor is how long a file that another program is writing is left alone: its name has an extension.
const unfinishedFor = time.Hour

// Dir removes files that are older than age, and then the oldest ones until the rest has at most this many bytes,
// without the file that is about to be replaced. It ignores files that it cannot remove.
func Dir(dir, replaced string, most int64, age time.Duration) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	files := make([]fs.FileInfo, 0, len(entries))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Name() != replaced {
			files = append(files, info)
		}
	}

	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})

	var sum int64
	for _, info := range files {
		sum += info.Size()
		old := time.Since(info.ModTime())
		unfinished := filepath.Ext(info.Name()) != ""
		if sum > most && !unfinished || old > age || unfinished && old > unfinishedFor {
			sum -= info.Size()
			_ = os.Remove(filepath.Join(dir, info.Name()))
		}
	}
}
