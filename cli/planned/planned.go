// Package planned keeps plans in files, and shows them.
package planned

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/cli/report"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/action"
	"github.com/dlxtop/dlxtop/model/filter"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/plan"
	"github.com/dlxtop/dlxtop/model/planfile"
)

// Load reads a file with a plan. The error is one sentence.
func Load(path string) (*planfile.File, error) {
	name := model.Printable(path)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the plan %s is not there: name the file that --plan-out has written", name)
	}
	if err != nil {
		return nil, fmt.Errorf("the plan cannot be read: %w", err)
	}
	defer file.Close()

	read, err := io.ReadAll(io.LimitReader(file, planfile.MostBytes+1))
	if err == nil && len(read) > planfile.MostBytes {
		err = fmt.Errorf("it has more than %s", message.Size(planfile.MostBytes))
	}
	var f *planfile.File
	if err == nil {
		f, err = planfile.Parse(read)
	}
	if err != nil {
		return nil, fmt.Errorf("the plan %s cannot be used: %w; nothing was changed", name, err)
	}

	return f, nil
}

// Save writes a plan into a new file; by says who made it.
func Save(path string, by planfile.File, p *plan.Plan, t *model.Topology) error {
	by.Made = message.JSONTime(time.Now())
	f, err := planfile.New(by, p, t)
	if err != nil {
		return err
	}
	made, err := f.JSON()
	if err != nil {
		return err
	}

	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return model.Errorf("%v is there already: name a new file for the plan", path)
	case err != nil:
		return fmt.Errorf("the plan cannot be written: %w", err)
	}

	_, err = file.Write(append(made, '\n'))
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("the plan cannot be written: %w", err)
	}

	return nil
}

// Freeze makes a selection choose its messages one by one, as a plan in a file does.
func Freeze(s *plan.Selection) (err error) {
	if !s.ByContent() {
		s.Filter, err = filter.ParseExpression("true")
	}
	return err
}

// Show prints a plan: as it is in JSON, or its facts, and the fingerprints of its messages.
func Show(p report.Printer, f *planfile.File) error {
	if p.JSON {
		made, err := f.JSON()
		if err == nil {
			_, err = p.Out.Write(append(made, '\n'))
		}
		return err
	}

	outline := f.Outline()
	all := &action.Messages{Run: outline.On(nil)}
	p.Say("%s", f.Words())
	p.Tell(all.Facts(action.Most{Addresses: 20, Names: 20}))

	prints := f.Intent.Selection.Fingerprints
	for _, print := range slices.SortedFunc(maps.Keys(prints), compare) {
		if _, err := fmt.Fprintf(p.Out, "%d %s\n", prints[print], print); err != nil {
			return err
		}
	}

	return nil
}

func compare(a, b message.Fingerprint) int { return bytes.Compare(a[:], b[:]) }
