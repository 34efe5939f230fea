//go:build race

package mend

import "time"

func init() { mostTime = time.Minute }
