package message

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/dlxtop/dlxtop/model"
)

// ErrFile means that a file of messages cannot be used. Errors that wrap it are one sentence with the file's name.
var ErrFile = errors.New("the file")

// LineError is what is wrong with a message in a file; the reader of the file adds the line number.
type LineError struct{ error }

// BadLine makes a LineError of an error; nil stays nil.
func BadLine(err error) error {
	if err == nil {
		return nil
	}
	return &LineError{err}
}

// FileName returns the name of a new file for the messages of a queue: "orders.failed-20260506-070809.jsonl".
// Characters that file systems or shells treat specially are replaced.
func FileName(queue model.QueueRef, at time.Time) string {
	const longest = 100
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-_@+", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(queue.Name, "_"))

	if name = strings.TrimLeft(name, ".-"); name == "" {
		name = "queue"
	}

	return fmt.Sprintf("%s-%s.jsonl", WholeRunes(name, longest), at.Format("20060102-150405"))
}
