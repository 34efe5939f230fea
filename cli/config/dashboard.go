package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/body"
	"github.com/dlxtop/dlxtop/model/filter"
)

// ReadSchemas are the protobuf types of bodies. A relative path of a descriptor set begins where the file is.
func (f *File) ReadSchemas() (all body.Schemas, err error) {
	for i, c := range f.Protobuf {
		at := c.Descriptors
		if at != "" && !filepath.IsAbs(at) {
			at = filepath.Join(filepath.Dir(f.Path), at)
		}
		set, unread := readSet(at)
		schema, err := body.NewSchema(at, set, unread, c.Message, c.Queues, c.ContentType)
		if err != nil {
			return nil, fmt.Errorf("%s: protobuf %d: %w", model.Printable(f.Path), i+1, err)
		}
		all = append(all, schema)
	}
	return all, nil
}

// readSet reads a descriptor set, and no more of it than one may have.
func readSet(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer f.Close()
	set, err := io.ReadAll(io.LimitReader(f, body.MaxTypes+1))
	return set, reasonOf(err)
}

// reasonOf is an error of a file without its path.
func reasonOf(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// ReadActions are the actions, each on a key of its own. checkKey refuses a key that an action cannot have; nil takes
// all.
func (f *File) ReadActions(checkKey func(name string) error) (all []filter.Action, err error) {
	for i, c := range f.Actions {
		action, err := filter.NewAction(c.Key, c.Name, c.URL, c.Command, c.Shell)
		if err == nil && checkKey != nil {
			err = checkKey(c.Key)
		}
		if err == nil && slices.ContainsFunc(all, func(a filter.Action) bool { return a.Key == c.Key }) {
			err = fmt.Errorf("the key %s is that of another action", model.Printable(c.Key))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: action %d (%s): %w", model.Printable(f.Path), i+1, model.Printable(c.Name), err)
		}
		all = append(all, action)
	}
	return all, nil
}
