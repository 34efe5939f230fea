package mend

import "time"

// mostTime bounds what a program does with one message where single instructions are slow: the process that does it is
// ended then. Only tests, and the race detector, which makes a program many times slower, set another one.
var mostTime = 3 * time.Second
