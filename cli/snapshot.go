package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dlxtop/dlxtop/model"
)

// The sizes of a terminal that a frame can have.
const (
	leastColumns, mostColumns = 80, 500
	leastRows, mostRows       = 24, 500
)

// snapshot is a frame of the dashboard, as the command line asks for it.
type snapshot struct{ path, screen, size string }

func (s *snapshot) register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&s.path, "snapshot", "",
		"write one frame of the dashboard into the new `FILE` and end: as text; FILE.ansi has the colours")
	set.StringVar(&s.screen, "screen", "",
		"the screen of --snapshot, as the `COMMAND` that opens it behind ':' (failed, 'flow orders'; default: flows)")
	set.StringVar(&s.size, "size", "", "columns and rows of --snapshot, as `COLUMNSxROWS` (default: 120x36)")
}

// frame is what was asked for; nil when it was the dashboard itself.
func (s *snapshot) frame() (*Frame, error) {
	f := &Frame{Path: s.path, Open: s.screen, Width: 120, Height: 36}
	switch {
	case s.path == "" && s.screen == "" && s.size == "":
		return nil, nil
	case s.path == "":
		return nil, usage("--screen and --size say what --snapshot FILE writes: add it")
	case s.size == "":
		return f, nil
	}
	var rest string
	n, _ := fmt.Sscanf(s.size+" ", "%dx%d%s", &f.Width, &f.Height, &rest)
	if n != 2 || f.Width < leastColumns || f.Width > mostColumns || f.Height < leastRows || f.Height > mostRows {
		return nil, usage("--size %s: it is COLUMNSxROWS, from %dx%d to %dx%d", model.Printable(s.size),
			leastColumns, leastRows, mostColumns, mostRows)
	}
	return f, nil
}
