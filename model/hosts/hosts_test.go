package model

import (
	"errors"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
)

func TestClusterName(t *testing.T) {
	two := []string{"rabbit@one", "rabbit@two.example"}
	for _, test := range []struct {
		said  string
		nodes []string
		want  string
	}{
		{"rabbit@one.example", two, "rabbit@one"},
		{"rabbit@two", two, "rabbit@one"},
		{"rabbit@three", two, "rabbit@three"},
		{"other@two", two, "other@two"},
		{"production", two, "production"},
		{"rabbit@one.example", two[:1], "rabbit@one.example"},
		{"rabbit@one.example", nil, "rabbit@one.example"},
		{"r2@vm", []string{"r1@localhost", "r2@localhost"}, "r1@localhost"},
		{"r3@vm", []string{"r1@localhost", "r2@localhost"}, "r3@vm"},
		{"", two, ""},
	} {
		assert.Equal(t, ClusterName(test.said, test.nodes), test.want, "%s of %v", test.said, test.nodes)
	}
}

func TestHostsAreTried(t *testing.T) {
	down := map[string]bool{"a:1": true}
	refused := errors.New("refused")
	h := NewHosts("a:1", "b:1", "c:1")
	try := func() (tried string) {
		_ = h.Try(func(address string, last bool) error {
			tried += address[:1]
			if last {
				tried += "."
			}
			if down[address] {
				return refused
			}
			return nil
		}, func(err error) bool { return errors.Is(err, refused) })

		return tried
	}

	assert.Equal(t, try(), "ab", "the first is down")
	assert.Equal(t, try(), "b", "the one that answered comes first")
	h.Next()
	assert.Equal(t, try(), "c", "one that said nothing is left")
	down["b:1"], down["c:1"] = true, true
	assert.Equal(t, try(), "cab.", "all are down")
	delete(down, "a:1")
	assert.Equal(t, try(), "ca", "one is back")
	assert.Equal(t, h.First(), "a:1")
}
