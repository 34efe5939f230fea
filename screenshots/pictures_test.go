//go:build pictures

package screenshots

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/built"
	"github.com/dlxtop/dlxtop/internal/must"
)

// TestPictures makes the pictures of the documentation, and every screen in each theme and two sizes, with the demo's
// traffic on a throwaway RabbitMQ. The tour is last, because it replays messages that the others show.
func TestPictures(t *testing.T) {
	var script script
	must.Get(toml.DecodeFile("scenes.toml", &script))(t)
	built.Program = must.Get(filepath.Abs("../bin/dlxtop"))(t)
	built.Node = must.Get(demo.Start(context.Background(), demo.Options{}))(t)
	t.Cleanup(func() { assert.Succeeds(t, built.Node.Stop()) })
	t.Setenv("COLORTERM", "truecolor")
	t.Setenv("VISUAL", "sed -i s/example.com/example.org/") // edits a message

	ready := make(chan struct{})
	begin := sync.OnceFunc(func() { close(ready) })
	var traffic sync.WaitGroup
	t.Cleanup(traffic.Wait)
	traffic.Go(func() {
		assert.Succeeds(t, demo.RunAll(t.Context(), built.Node, begin))
		begin()
	})
	<-ready

	for _, scene := range script.Scenes {
		scene.Stops = append(scene.Stops, stop{Name: scene.Name})
		scene.Watch = cmp.Or(scene.Watch, 5*time.Second)
		t.Run(scene.Name, func(t *testing.T) { scene.walk(t, "dark", cmp.Or(scene.Size, large), "%s.svg") })
	}

	for theme := range looks {
		folder := "../bin/screens/" + theme
		must.Do(t, os.MkdirAll(folder, 0o755))
		for _, size := range []string{large, "80x24"} {
			for _, way := range script.Ways {
				t.Run("screens/"+theme+"/"+size+"/"+way.Name, func(t *testing.T) {
					way.Watch = 700 * time.Millisecond
					way.walk(t, theme, size, folder+"/%s-"+size+".svg")
				})
			}
		}
	}

	t.Run("tour", func(t *testing.T) { makeTour(t, script.Acts) })
}
