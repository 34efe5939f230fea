//go:build unix

package journal_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/journal"
)

// turnsIn returns the turns of two programs in a directory of their own, and that directory.
func turnsIn(t *testing.T) (one, other *journal.Turns, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "turns")
	return journal.TurnsIn(dir, "dlxtop move"), journal.TurnsIn(dir, "dlxtop find"), dir
}

// A turn is named by a whole name, is held by one, says who that is, and leaves nothing behind.
func TestTurnsExclude(t *testing.T) {
	one, other, dir := turnsIn(t)
	taken := must.Get(other.Taken("a"))(t)
	assert.That(t, !taken, "nobody has it")
	end, _, err := one.Try("a")
	must.Do(t, err)
	must.That(t, end != nil, "%v", err)
	refused, by, err := other.Try("a")
	must.Do(t, err)
	assert.That(t, refused == nil, "%v: two have it", err)
	assert.Contains(t, by.Words(), "`dlxtop move`")
	assert.Equal(t, by.PID, os.Getpid(), "its holder is")
	assert.That(t, must.Get(other.Taken("a"))(t), "it is not taken")
	second, _, err := other.Try("b")
	must.Do(t, err)
	must.That(t, second != nil, "%v: another name is not free", err)
	second()
	end()
	again, _, err := other.Try("a")
	must.Do(t, err)
	must.That(t, again != nil, "%v: it is not free again", err)
	again()
	assert.Equal(t, len(must.Get(os.ReadDir(dir))(t)), 0, "files are left")
}

// A waiting program that has opened the file of a turn does not take it for the turn after its holder has removed it.
func TestTurnsOfManyAtOnce(t *testing.T) {
	one, other, _ := turnsIn(t)
	const rounds = 200
	inside := make(chan bool, 1) // full while one has it
	ends := make(chan bool)
	for _, turns := range []*journal.Turns{one, other, one, other} {
		go func() {
			defer func() { ends <- true }()
			for done := 0; done < rounds; {
				end, _, err := turns.Try("a")
				if err != nil {
					t.Error(err)
					return
				}

				if end == nil {
					continue
				}
				select {
				case inside <- true:
				default:
					t.Error("two have it")
				}

				<-inside
				end()
				done++
			}
		}()
	}

	for range 4 {
		<-ends
	}
}

// What another user may have put into the place of a turn is neither followed nor waited for, and the error names it.
func TestTurnsInForeignPlaces(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	must.Do(t, os.WriteFile(victim, []byte("mine"), 0o600))
	for name, place := range map[string]func(dir string) error{
		"a link":             func(dir string) error { return os.Symlink(filepath.Dir(victim), dir) },
		"a file":             func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"only its owner's":   func(dir string) error { return os.Mkdir(dir, 0o755) },
		"without sticky bit": func(dir string) error { return openTo(dir, 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			one, _, dir := turnsIn(t)
			must.Do(t, place(dir))
			end, _, err := one.Try("a")
			must.That(t, end == nil, "it is taken")
			must.That(t, err != nil, "it is taken")
			assert.Contains(t, err.Error(), dir)
		})
	}

	for name, place := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(victim, path) },
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o666) },
		"directory": func(path string) error { return os.Mkdir(path, 0o777) },
		"second name": func(path string) error {
			return os.Link(victim, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			one, _, dir := turnsIn(t)
			must.Do(t, openTo(dir, 0o777|os.ModeSticky))
			must.Do(t, place(filepath.Join(dir, one.File("a"))))
			end, _, err := one.Try("a")
			assert.That(t, (err == nil) == (name == "second name"), "%v", err)
			if end != nil {
				end()
			}
			assert.Equal(t, string(must.Get(os.ReadFile(victim))(t)), "mine", "the victim's file is")
		})
	}
}

// openTo creates a directory with exactly this mode.
func openTo(dir string, mode os.FileMode) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}
