// Package dashboard holds how a command asks for the dashboard, a form or a frame of it: cli fills these values in, and
// ui shows them, as neither knows the other.
package dashboard

import (
	"context"

	"github.com/dlxtop/dlxtop/model/filter"
)

// Appearance does not depend on the broker that the dashboard shows.
type Appearance struct {
	Theme     string                       // a built-in one or one of OwnThemes; "" by default
	OwnThemes map[string]map[string]string // colours of the user's own themes
	Mouse     bool                         // wheel, rows and tabs; the terminal itself then selects no text
	Bell      bool                         // the terminal rings for news
	Plain     bool                         // for a screen reader: lines of words, and only changed ones
	Filters   filter.Saved                 // what "=@NAME" stands for
	Actions   []filter.Action              // offered on messages
}

// Frame asks for one screen in a new file.
type Frame struct {
	Path          string // a name that ends in .ansi keeps the colours, everything else is plain text
	Open          string // what a user types after ":" to open the screen; "" is the first one
	Width, Height int    // columns and rows
}

// Form asks for some texts on the terminal before there is a dashboard, and tries each of them.
type Form struct {
	Appearance
	Title string
	Why   string   // why it asks; it need not be printable
	Names []string // of the texts
	Notes []string // about them
	Texts []string // as proposed
	// Secret is the index of the text that is never shown.
	Secret int
	// Try tries the texts up to this index. If there is an error, failed is the index of the wrong one.
	Try func(ctx context.Context, texts []string, at int) (failed int, err error)
}
