package findings

import (
	"strings"
	"testing"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
)

// Roles that the configuration states for queues that are not there, twice, or without effect.
func TestMisfitRoles(t *testing.T) {
	type misfit struct {
		Name string
		All  []model.StatedRole
		Want string
		Says string
	}

	must.Run(t, "testdata/misfits.toml", func(t *testing.T, test misfit) {
		topology := build.Described("4.0.5", `
				queue w consumers=1
				queue w.parking
				queue attic
				queue lossy ttl=1000
			`,
			func(s *model.Snapshot) { s.Stated = model.NewStatedRoles(test.All) })
		var found []string

		said, lossy := "", false
		for _, f := range Of(topology) {
			lossy = lossy || f.Queue == "lossy"
			if f.Code == "stated-role" {
				found = append(found, string(f.Level)+" "+f.Code+" "+f.Queue)
				said = f.Message
			}
		}

		assert.Equal(t, strings.Join(found, "; "), test.Want)
		assert.Contains(t, said, test.Says)
		assert.Equal(t, lossy, !strings.Contains(test.Name, "ignored"), "ttl-without-dlx of lossy")
	})
}
