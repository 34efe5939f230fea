package hosts

import (
	"errors"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model/trouble"
)

func TestClusterName(t *testing.T) {
	for _, test := range must.Cases[struct {
		Said  string
		Nodes []string
		Want  string
	}](t, "testdata/names.toml") {
		cluster := &Cluster{}
		cluster.Learn(test.Nodes, nil)
		assert.Equal(t, cluster.Name(test.Said), test.Want, "%s of %v", test.Said, test.Nodes)
	}
}

// The nodes that the cluster names come after the given ones, at the ports where they listen for the same protocol.
func TestMembers(t *testing.T) {
	type expected struct {
		Name      string
		Nodes     []string
		Listeners []Listener
		Given     string
		Want      []string
	}
	must.Run(t, "testdata/members.toml", func(t *testing.T, test expected) {
		cluster := &Cluster{}
		cluster.Learn(test.Nodes, test.Listeners)
		assert.List(t, New(cluster, AMQPS, test.Given).all(), test.Want)
	})
}

func TestHostsAreTried(t *testing.T) {
	failures := map[string]error{"a:1": &trouble.Error{Kind: trouble.Unreachable}}
	cluster := &Cluster{}
	hosts := New(cluster, AMQP, "a:1", "b:1", "c:1")
	var err error
	try := func() (tried string) {
		err = hosts.Try(time.Minute, func(address string, limit time.Duration) error {
			tried += address[:1]
			if limit == time.Minute {
				tried += "."
			}
			return failures[address]
		})

		return tried
	}

	assert.Equal(t, try(), "ab", "the first is down")
	assert.Equal(t, try(), "b", "the one that answered comes first")
	failures["b:1"] = &trouble.Error{Kind: trouble.TooSlow}
	assert.Equal(t, try(), "bac.", "one that said nothing is left")
	failures["b:1"], failures["c:1"] = failures["a:1"], failures["a:1"]
	assert.Equal(t, try(), "cab.", "all are down")
	assert.Contains(t, err.Error(), "none of c:1, a:1, b:1 answers")
	cluster.Learn([]string{"rabbit@b", "rabbit@d"}, nil)
	assert.Equal(t, try(), "cab.d", "the cluster has named another one")
	failures["d:1"] = &trouble.Error{Kind: trouble.Unreachable}

	for _, stops := range []error{&trouble.Error{Kind: trouble.BadCredentials}, errors.New("cancelled")} {
		failures["a:1"] = stops
		assert.Lacks(t, try(), "b", "a password is not tried on all of them")
		assert.Equal(t, err, stops)
	}

	failures["a:1"] = &trouble.Error{Kind: trouble.TwoBrokers}
	try()
	assert.Equal(t, err, failures["a:1"], "another cluster is said before a silence")
	assert.Equal(t, hosts.First(), "a:1")
}
