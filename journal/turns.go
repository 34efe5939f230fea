package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/user"

	"github.com/dlxtop/dlxtop/model"
)

// Turns are locks that all programs of dlxtop on a machine share, whoever runs them and wherever their homes are. Each
// has a name of its own, and is free when its holder ends in any way. They are safe for concurrent use, and exclude the
// goroutines of one program, too.
type Turns struct {
	dir string
	me  model.Holder
}

// NewTurns does not touch the disk. command is what other programs show of this one.
func NewTurns(command string) *Turns {
	me := model.Holder{Command: command, PID: os.Getpid()}
	if login, err := user.Current(); err == nil {
		me.User = login.Username
	}
	return &Turns{dir: turnsDir, me: me}
}

// file returns the name of a lock's file: names of queues may have any bytes, and others need not read them.
func (t *Turns) file(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}

// explain words an error in one sentence.
func (t *Turns) explain(err error) error {
	if err == nil {
		return nil
	}
	return model.Errorf("other programs of dlxtop on this machine are not seen, and they do not wait for this one: %v",
		err.Error())
}
