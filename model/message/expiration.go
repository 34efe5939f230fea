package message

import (
	"strconv"
	"time"
)

// ParseExpiration reads the expiration of a message as RabbitMQ does: whole milliseconds, at most ten years; RabbitMQ
// refuses anything else. It accepts a sign and leading zeros (3.10.8, 4.0.5, 4.3.6).
func ParseExpiration(s string) (d time.Duration, ok bool) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil || ms < 0 || ms > longestExpiration {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// longestExpiration is ten years: on a longer one RabbitMQ closes the publisher's channel (3.10.8, 4.0.5, 4.3.6).
const longestExpiration = 315_360_000_000 // ms
