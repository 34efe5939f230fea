package broker

import "time"

// SetPatience shortens how long replays wait for confirms, alarms, and the end after a cancel.
func (c *Client) SetPatience(confirm, alarm, cancel time.Duration) {
	c.patience = patience{confirm, alarm, cancel}
}

// SetComeback sets how long a look waits until returned messages are back.
func (c *Client) SetComeback(limit time.Duration) { c.comeback = limit }

// SpoolAll makes peeks keep nothing in memory, so that a few messages use the file.
func (c *Client) SpoolAll() { c.spoolMemory = 0 }
