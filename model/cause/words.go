package cause

import (
	"cmp"
	"strings"

	"github.com/dlxtop/dlxtop/model/message"
)

// String returns the cause on one line: "TimeoutError: # ms, in Mail.send".
func (c Cause) String() string {
	switch c.Evidence {
	case Nothing:
		return "no error and no death in " + c.Queue
	case ByDeath:
		words := "no error: " + cmp.Or(c.Kind, "dead-lettered")
		if c.Queue != "" {
			words += " in " + c.Queue
		}
		return words
	}

	words := message.ShortKind(c.Kind)
	switch {
	case c.Level == NoKind:
		return "all other errors"
	case words == "":
		words = c.Text
	case c.Text != "":
		words += ": " + c.Text
	}

	if c.Level > Whole {
		words = strings.TrimSuffix(words, someText) + someText
	}
	if c.Frame != "" {
		words += ", in " + c.Frame
	}

	return words
}

// Words say what a level leaves out of a cause, "" when nothing is.
func (l Level) Words() string {
	switch l {
	case FirstWords:
		return "errors that begin alike: too many texts differ behind their third word"
	case NoText:
		return "errors of one type: too many texts differ"
	case NoKind:
		return "all errors that remain: too many types differ"
	}

	return ""
}
