//go:build race

package mend

import "time"

// mostTime is more than users give a program: the race detector makes it several times slower.
const mostTime = 15 * time.Second
