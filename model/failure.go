package model

// Failure is why a message failed, as far as the message itself tells.
type Failure struct {
	Kind    string // the exception's type or the death's reason: "TimeoutError", "rejected"; "" when not told
	Message string // "smtp gateway"; "" when not told
	Source  string // the convention that it was read from: "Spring AMQP", "x-death"
}

// Failure reads why a message failed from the headers or the body that its framework writes, else from x-death.
func (m *Message) Failure() (Failure, bool) { return Failure{}, false }

// String is "TimeoutError: smtp gateway", or the half of it that is known.
func (f Failure) String() string { return f.Kind }
