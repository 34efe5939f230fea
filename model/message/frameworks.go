package message

import (
	_ "embed"
	"sync"

	"github.com/BurntSushi/toml"
)

//go:embed frameworks.toml
var frameworksFile string

// frameworks is the table of what dlxtop knows.
var frameworks = sync.OnceValue(func() []framework { return decoded[framework](frameworksFile) })

// decoded returns the rows of the only table of a file in TOML.
func decoded[R any](text string) (rows []R) {
	var file map[string][]R
	if _, err := toml.Decode(text, &file); err != nil {
		panic(err)
	}
	for _, rows = range file {
	}
	return rows
}

// bodiesOf returns the beginnings and the members of bodies that are evidence of a framework.
func bodiesOf(name string) func() (begins, members []string) {
	return sync.OnceValues(func() (begins, members []string) {
		for _, e := range frameworkNamed(name).Evidence {
			begins = append(begins, e.Begins...)
			members = append(members, e.Members...)
		}

		return begins, members
	})
}
