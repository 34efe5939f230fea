package model

// Repeated are the values of a name that a table has more than once, in their order. RabbitMQ 3.10.8 keeps and
// delivers such tables; 4.0.5 and 4.3.6 take them and keep the first value.
type Repeated []any

// RawValue is a header's value that cannot be read: nested too deeply, of an unknown type, or with a wrong length.
// Type is AMQP's letter for it, and Bytes are all that stand behind the letter. Without a letter (0) they are the
// rest of a table from a name on that cannot be read.
type RawValue struct {
	Type  byte
	Bytes []byte
}
