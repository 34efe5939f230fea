//go:build !race

package mend

import "time"

// mostTime bounds what a program does with one message where single instructions are slow: the process that does it is
// ended then.
const mostTime = 3 * time.Second
