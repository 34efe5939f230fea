//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package journal

import (
	"errors"

	"github.com/dlxtop/dlxtop/model"
)

const turnsDir = ""

// errNoTurns is the same for each lock: nothing on this system frees one when its program is killed.
var errNoTurns = errors.New("this system has no locks for that: run one program at a time on a queue")

func (t *Turns) Try(string) (unlock func(), by model.Holder, err error) {
	return nil, by, t.explain(errNoTurns)
}

func (t *Turns) Taken(string) (bool, error) { return false, t.explain(errNoTurns) }
