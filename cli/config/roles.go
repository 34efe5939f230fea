package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dlxtop/dlxtop/model"
)

// checkRoles refuses a role that no queue can have.
func (f *File) checkRoles(path string) error {
	if err := checkRolesOf(f.Roles, path, "roles"); err != nil {
		return err
	}
	for _, name := range f.Contexts() {
		if err := checkRolesOf(f.Brokers[name].Roles, path, "contexts."+name+".roles"); err != nil {
			return err
		}
	}

	return nil
}

func checkRolesOf(roles map[string]string, path, table string) error {
	for _, queue := range slices.Sorted(maps.Keys(roles)) {
		at := model.Sayf("%s: [%v] %q", path, table, model.Printable(queue))
		switch {
		case queue == "":
			return fmt.Errorf("%s names no queue: write its name, VHOST/NAME, or a pattern with * and ?", at)
		case !slices.Contains(model.Stateable, model.Role(roles[queue])):
			return fmt.Errorf("%s has the role %q: it is %s", at, model.Printable(roles[queue]), roleWords())
		}
	}

	return nil
}

// roleWords returns "delayed", "retry", … or "ignored".
func roleWords() string {
	var words []string
	for _, role := range model.Stateable {
		words = append(words, strconv.Quote(string(role)))
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// statedRoles returns the roles for the queues of a broker: those of its context, and those for all. context is "" for
// a broker without one.
func (f *File) statedRoles(context string) model.StatedRoles {
	var all []model.StatedRole
	for pattern, role := range f.Roles {
		all = append(all, model.StatedRole{Pattern: pattern, Role: model.Role(role)})
	}
	for pattern, role := range f.Brokers[context].Roles {
		all = append(all, model.StatedRole{Pattern: pattern, Role: model.Role(role), Context: true})
	}

	return model.NewStatedRoles(all)
}
