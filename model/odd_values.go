package model

// Repeated are the values of a name that occurs more than once in a table, in their order. RabbitMQ 3.10.8 keeps and
// delivers such tables; 4.0.5 and 4.3.6 accept them and keep the first value.
type Repeated []any

// RawValue is a header's value that cannot be read: nested too deeply, of an unknown type, or with a wrong length. Type
// is AMQP's letter for it, and Bytes are everything behind the letter. Without a letter (0), Bytes are the unreadable
// rest of a table, beginning with a name.
type RawValue struct {
	Type  byte
	Bytes []byte
}
