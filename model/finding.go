package model

// Level is how bad a finding is.
type Level string

// The levels. Error: messages are being lost, or will be as soon as one takes this way.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelInfo    Level = "info"
)

// Finding is something wrong or risky in the topology or in what was peeked.
type Finding struct {
	Code     string // stable, kebab-case: scripts and the documentation refer to it
	Level    Level
	VHost    string
	Queue    string // "" when it is about an exchange
	Exchange string
	Message  string // one sentence: what is wrong and what follows from it
	Evidence string // the settings and counts that show it
	Remedy   string // what to do
}
