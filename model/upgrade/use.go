// Package upgrade has what is read of a broker only before an upgrade.
package upgrade

// Use is what of RabbitMQ is in use that a topology does not show.
type Use struct {
	FlagsOff   []string // stable feature flags that are disabled
	Deprecated []string // deprecated features, as the broker itself finds them (3.13 and later)
	Clients    []Client
	Missing    []string // in words: what could not be read, and why
}

// Client is a connection of an application, or one of its channels.
type Client struct {
	Name           string // by which a person finds the application
	Protocol       string // of a connection: "AMQP 0-9-1", "AMQP 1-0"
	FrameMax       int64  // of a connection, in bytes; 0: no limit
	GlobalPrefetch int64  // of a channel: basic.qos with global; 0: none
}
