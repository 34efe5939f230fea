package hosts

import (
	"errors"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
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
	for _, test := range must.Cases[struct {
		Name      string
		Nodes     []string
		Listeners []Listener
		Given     string
		Want      []string
	}](t, "testdata/members.toml") {
		t.Run(test.Name, func(t *testing.T) {
			cluster := &Cluster{}
			cluster.Learn(test.Nodes, test.Listeners)
			assert.List(t, New(cluster, AMQPS, test.Given).all(), test.Want)
		})
	}
}

func TestHostsAreTried(t *testing.T) {
	trouble := map[string]error{"a:1": &model.ConnectError{Kind: model.Unreachable}}
	cluster := &Cluster{}
	hosts := New(cluster, AMQP, "a:1", "b:1", "c:1")
	var err error
	try := func() (tried string) {
		err = hosts.Try(time.Minute, func(address string, limit time.Duration) error {
			tried += address[:1]
			if limit == time.Minute {
				tried += "."
			}
			return trouble[address]
		})

		return tried
	}

	assert.Equal(t, try(), "ab", "the first is down")
	assert.Equal(t, try(), "b", "the one that answered comes first")
	trouble["b:1"] = &model.ConnectError{Kind: model.TooSlow}
	assert.Equal(t, try(), "bac.", "one that said nothing is left")
	trouble["b:1"], trouble["c:1"] = trouble["a:1"], trouble["a:1"]
	assert.Equal(t, try(), "cab.", "all are down")
	assert.Contains(t, err.Error(), "none of c:1, a:1, b:1 answers")
	cluster.Learn([]string{"rabbit@b", "rabbit@d"}, nil)
	assert.Equal(t, try(), "cab.d", "the cluster has named another one")
	trouble["d:1"] = &model.ConnectError{Kind: model.Unreachable}

	for _, stops := range []error{&model.ConnectError{Kind: model.BadCredentials}, errors.New("cancelled")} {
		trouble["a:1"] = stops
		assert.Lacks(t, try(), "b", "a password is not tried on all of them")
		assert.Equal(t, err, stops)
	}

	trouble["a:1"] = &model.ConnectError{Kind: model.TwoBrokers}
	try()
	assert.Equal(t, err, trouble["a:1"], "another cluster is said before a silence")
	assert.Equal(t, hosts.First(), "a:1")
}
