package message

import (
	"strconv"
	"time"
)

// ParseExpiration reads the expiration of a message as RabbitMQ does, which refuses all else: whole milliseconds, ten
// years at most. A sign and leading zeros are taken (3.10.8, 4.0.5, 4.3.6).
func ParseExpiration(s string) (d time.Duration, ok bool) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil || ms < 0 || ms > longestExpiration {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

// longestExpiration is ten years: RabbitMQ refuses a longer expiration with the channel on which it is published
// (3.10.8, 4.0.5, 4.3.6).
const longestExpiration = 315_360_000_000 // ms
