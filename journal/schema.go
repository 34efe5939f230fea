package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/plan"
)

// journalSchema describes the journal; its mark is "dlxt". Its first version is that of dlxtop 1.0.0.
var journalSchema = schema{mark: 0x646c7874, first: 7, migrations: migrations}

// migrations: an entry is identified by its position within its record. Times are milliseconds since 1970. Positions
// are ranges: "1-500 502". An entry's content is JSON lines. sequel is what happened to replayed messages afterwards.
// part_of is the first record of an action on several queues, in each of its records; otherwise 0.
//
// A dlxtop knows one kind of fingerprints, the FingerprintKind. It may have had the file open since before a newer one
// upgraded it, and continue to write: undoing or resuming a record of another kind could leave messages twice, and the
// first trigger prevents that.
//
// A record has the version of its program, and no older one resumes it: it would resume without what the intent has for
// a newer one. So a field of an intent that changes what a resume does needs a version, too: an empty migration.
var migrations = []string{`
CREATE TABLE records (
	id           INTEGER PRIMARY KEY AUTOINCREMENT,
	operation    TEXT    NOT NULL,
	vhost        TEXT    NOT NULL,
	queue        TEXT    NOT NULL,
	target       TEXT    NOT NULL,
	user         TEXT    NOT NULL,
	broker       TEXT    NOT NULL,
	began        INTEGER NOT NULL,
	ended        INTEGER,
	planned      INTEGER NOT NULL,
	undoes       INTEGER NOT NULL,
	account      TEXT,
	resumes      INTEGER NOT NULL,
	session      TEXT    NOT NULL,
	intent       TEXT,
	edit         TEXT    NOT NULL,
	cluster      TEXT    NOT NULL,
	fingerprints INTEGER NOT NULL,
	version      INTEGER NOT NULL,
	login        TEXT    NOT NULL,
	reason       TEXT    NOT NULL,
	sequel       TEXT
);
CREATE INDEX undone ON records(undoes) WHERE undoes > 0;
CREATE UNIQUE INDEX resumed ON records(resumes) WHERE resumes > 0;
CREATE TRIGGER newer BEFORE INSERT ON records
WHEN EXISTS (SELECT 1 FROM records r WHERE r.id IN (NEW.undoes, NEW.resumes) AND r.fingerprints > NEW.fingerprints)
BEGIN SELECT RAISE(ABORT, 'a newer dlxtop wrote that record: start dlxtop again'); END;
CREATE TRIGGER older BEFORE INSERT ON records
WHEN EXISTS (SELECT 1 FROM records r WHERE r.id = NEW.resumes AND r.version > NEW.version)
BEGIN SELECT RAISE(ABORT, 'a newer dlxtop wrote that record: start dlxtop again'); END;
CREATE TABLE entries (
	record  INTEGER NOT NULL REFERENCES records(id) ON DELETE CASCADE,
	count   INTEGER NOT NULL,
	content TEXT    NOT NULL
);
CREATE INDEX entries_of ON entries(record);
CREATE TABLE outcomes (
	record    INTEGER NOT NULL REFERENCES records(id) ON DELETE CASCADE,
	outcome   TEXT    NOT NULL,
	reason    TEXT    NOT NULL,
	count     INTEGER NOT NULL,
	positions TEXT    NOT NULL
);
CREATE INDEX outcomes_of ON outcomes(record);
CREATE TABLE claims (
	record    INTEGER NOT NULL REFERENCES records(id) ON DELETE CASCADE,
	claimant  INTEGER NOT NULL REFERENCES records(id) ON DELETE CASCADE,
	positions TEXT    NOT NULL
);
CREATE INDEX claims_of ON claims(record);
CREATE INDEX claims_by ON claims(claimant);
CREATE TABLE checks (at INTEGER NOT NULL);
`, `
CREATE TABLE copies (
	record  INTEGER NOT NULL REFERENCES records(id) ON DELETE CASCADE,
	content BLOB    NOT NULL
);
CREATE INDEX copies_of ON copies(record);
`, `
ALTER TABLE records ADD COLUMN part_of INTEGER NOT NULL DEFAULT 0;
CREATE INDEX parts ON records(part_of) WHERE part_of > 0;
`}

// explain words an error in one sentence that names the next step. All of them wrap plan.ErrJournal.
func (j *Journal) explain(attempt string, err error) error {
	var claimed *plan.ClaimedError
	if err == nil || errors.Is(err, plan.ErrJournal) || errors.As(err, &claimed) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	say := func(format string, values ...any) error {
		return model.Errorf("%w %v %w", plan.ErrJournal, j.options.Path, model.Errorf(format, values...))
	}
	dir := model.Printable(filepath.Dir(j.options.Path))
	var database *sqlite.Error

	var others *openToOthers
	switch {
	case errors.Is(err, errNowhere):
		return fmt.Errorf("%w has no place: HOME is not set, and the system knows no home directory of this user: "+
			"name a directory with XDG_STATE_HOME", plan.ErrJournal)
	case errors.Is(err, errEmpty):
		return say("is empty (0 bytes), so what it held is lost: remove it with the files beside it that begin with " +
			"its name, and a new one begins")
	case errors.As(err, &others):
		return say("%s", others.advice(j.options.Path))
	case errors.Is(err, errNewer):
		return say("was written by a newer version of dlxtop: use that one, or move the file away to begin a new journal")

	case errors.Is(err, errOlder):
		return say("was written by dlxtop before its version 1.0.0: move the file away to begin a new journal")
	case errors.Is(err, errForeign):
		return say("is a database, but not a journal of dlxtop: move the file away")
	case errors.Is(err, syscall.ENOSPC):
		return say("cannot be written: the disk is full: make room there")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return say("cannot be written: make %s writable, or name another directory with XDG_STATE_HOME", dir)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, fs.ErrExist):
		return say("cannot be there, as a file or directory is in its way: move that, or name another directory with " +
			"XDG_STATE_HOME")
	case !errors.As(err, &database):
		return say("cannot %s: %.300s", attempt, model.Printable(err.Error())) // it may quote a value
	}

	switch database.Code() & 0xff {
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return say("is damaged: move it away with the files beside it that begin with its name, so that a new one " +
			"begins; `sqlite3 FILE .recover` may read the old one")
	case lib.SQLITE_FULL:
		return say("cannot be written: the disk is full: make room there")
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return say("cannot be written: make it and %s writable, or name another directory with XDG_STATE_HOME", dir)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return say("has been locked by another program for more than 10 s: end that program, and try again")
	case lib.SQLITE_IOERR:
		return say("cannot be written: the disk has an error, or is full (%v)", database.Error())
	}

	return say("cannot %s: %.300s", attempt, model.Printable(database.Error()))
}
