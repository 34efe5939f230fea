package message

import (
	_ "embed"

	"github.com/BurntSushi/toml"
)

//go:embed frameworks.toml
var frameworksFile string

// frameworks is the table of what dlxtop knows: the rows of frameworks.toml.
var frameworks = func() []framework {
	var file struct{ Framework []framework }
	if _, err := toml.Decode(frameworksFile, &file); err != nil {
		panic(err)
	}
	return file.Framework
}()

// headerPrefixes are all header prefixes that are evidence.
var headerPrefixes = func() (all []string) {
	for _, k := range frameworks {
		for _, e := range k.Evidence {
			if e.Prefix != "" {
				all = append(all, e.Prefix)
			}
		}
	}

	return all
}()

// bodies are the beginnings and the members of bodies that are evidence of a framework.
func (k framework) bodies() (begins, members []string) {
	for _, e := range k.Evidence {
		begins = append(begins, e.Begins...)
		members = append(members, e.Members...)
	}
	return begins, members
}
