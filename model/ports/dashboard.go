package ports

import (
	"context"

	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/filter"
)

// Looks are how the dashboard looks and is steered, whatever broker it shows.
type Looks struct {
	Theme     string                       // one that is built in or of OwnThemes; "" when nobody chose one
	OwnThemes map[string]map[string]string // colours of the user's own themes
	Mouse     bool                         // wheel, rows and tabs; the terminal then selects no text by itself
	Plain     bool                         // for a screen reader: lines of words, and only those that change
	Filters   filter.Saved                 // that "=@NAME" stands for
	Actions   []filter.Action              // offered on messages
	Schemas   body.Schemas                 // the protobuf types of bodies
}

// Frame is one screen of the dashboard in a new file.
type Frame struct {
	Path          string // what ends in .ansi has the colours, everything else is plain text
	Open          string // what is typed behind ":" to open the screen; "" is the first one
	Width, Height int    // columns and rows
}

// Form asks for some texts on the terminal before there is a dashboard, and tries each of them.
type Form struct {
	Looks
	Title string
	Why   string   // it asks; it need not be printable
	Names []string // of the texts
	Notes []string // on them
	Texts []string // as proposed
	// Secret is the text that is never shown.
	Secret int
	// Try tries the texts up to the one at this place. failed is the one that is wrong, when there is an error.
	Try func(ctx context.Context, texts []string, at int) (failed int, err error)
}
