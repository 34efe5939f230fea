package spool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/dlxtop/dlxtop/internal/assert"
	"github.com/dlxtop/dlxtop/internal/must"
	"github.com/dlxtop/dlxtop/internal/prune"
	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/build"
	"github.com/dlxtop/dlxtop/model/message"
	"github.com/dlxtop/dlxtop/model/peek"
)

const cluster = "rabbit@mq1"

var orders = model.QueueRef{VHost: "shop", Name: "orders.failed"}

// lookAt returns a look at a queue that read n messages, which it keeps in memory up to this many bytes.
func lookAt(t *testing.T, queue model.QueueRef, n, memory int) peek.Peeked {
	t.Helper()
	s := New(memory)
	t.Cleanup(func() { _ = s.Close() })
	for i := range n {
		m := message.Message{
			RoutingKey: fmt.Sprint("key ", i), Headers: model.Table{"i": int64(i)}, Body: bytes.Repeat([]byte{'x'}, 300*i),
			Fingerprint: message.Fingerprint{byte(i)},
		}
		must.Do(t, s.Add(&m))
	}

	return peek.Peeked{
		Plan:     peek.Plan{Queue: queue, Counts: true, Budget: 20, Limit: 7, Delivered: build.Some(3)},
		Messages: s, Depth: model.Some(int64(n)), Highest: 4, TakenAt: time.Now().Round(0),
	}
}

// Another dlxtop has the same messages of the same look, whether they were in memory or on disk.
func TestStoreKeepsALook(t *testing.T) {
	store := Store{Dir: filepath.Join(t.TempDir(), "dlxtop", StoreDir)}
	for _, memory := range []int{Memory, 0} {
		for _, n := range []int{0, 1, 40} {
			p := lookAt(t, orders, n, memory)
			must.Do(t, store.Save(cluster, &p))
			got, ok := store.Load(cluster, orders)
			must.That(t, ok, "of %d messages it has %+v", n, got)
			must.Equal(t, got.Messages.Len(), n)
			for i := range n {
				want := must.Get(p.Messages.At(i, 0))(t)
				m := must.Get(got.Messages.At(i, 0))(t)
				assert.That(t, reflect.DeepEqual(m, want), "message %d of %d is %+v, want %+v", i, n, m, want)
			}

			must.Do(t, got.Messages.Close())
			got.Messages, p.Messages = nil, nil
			assert.That(t, reflect.DeepEqual(got.Plan, p.Plan), "it is %+v, want %+v", got, p)
			assert.That(t, got.TakenAt.Equal(p.TakenAt), "it is %+v, want %+v", got, p)
			assert.Equal(t, got.Depth, p.Depth)
			assert.Equal(t, got.Highest, p.Highest)
		}
	}

	info := must.Get(os.Stat(store.path(cluster, orders)))(t)
	assert.That(t, info.Mode().Perm() == 0o600, "its mode is %v", info.Mode())
	store.Drop(cluster, orders)
	_, ok := store.Load(cluster, orders)
	assert.That(t, !ok, "it is still there")
	assert.That(t, store.SavedAt(cluster, orders).IsZero(), "it is still there")
}

// A look is of one queue of one cluster, and of today; a file that is damaged, cut or foreign is none.
func TestStoreTrustsOnlyItsOwn(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	p := lookAt(t, orders, 5, Memory)
	must.Do(t, store.Save(cluster, &p))
	path := store.path(cluster, orders)
	sound := must.Get(os.ReadFile(path))(t)

	refused := func(what string) {
		t.Helper()
		_, ok := store.Load(cluster, orders)
		assert.That(t, !ok, "it takes %s", what)
	}

	for at := 0; at < len(sound); at += 1 + at/9 {
		must.Do(t, os.WriteFile(path, sound[:at], 0o600))
		refused(fmt.Sprintf("%d of %d bytes", at, len(sound)))
	}

	end := bytes.LastIndex(sound, []byte("Cluster"))
	for at := end; at < len(sound); at++ {
		damaged := bytes.Clone(sound)
		damaged[at] ^= 0x40
		must.Do(t, os.WriteFile(path, damaged, 0o600))
		refused(fmt.Sprintf("a file that is damaged at %d", at))
	}

	must.Do(t, os.Rename(path, store.path(cluster, model.QueueRef{VHost: "shop", Name: "other"})))
	_, ok := store.Load(cluster, model.QueueRef{VHost: "shop", Name: "other"})
	assert.That(t, !ok, "it takes the look of another queue")

	p = lookAt(t, orders, 5, Memory)
	p.TakenAt = time.Now().Add(-storedAge - time.Minute)
	must.Do(t, store.Save(cluster, &p))
	refused("a look of yesterday")
}

// The oldest looks give way, and those of yesterday go.
func TestStoreIsBounded(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	for i, age := range []time.Duration{storedAge + time.Hour, 2 * time.Hour, time.Hour} {
		path := filepath.Join(store.Dir, fmt.Sprint(i))
		must.Do(t, os.WriteFile(path, make([]byte, 1000), 0o600))
		must.Do(t, os.Chtimes(path, time.Time{}, time.Now().Add(-age)))
	}

	prune.Dir(store.Dir, "", 1500, storedAge)
	files := must.Get(os.ReadDir(store.Dir))(t)
	must.Equal(t, len(files), 1, "%v are left", files)
	assert.Equal(t, files[0].Name(), "2")
	nowhere := Store{}
	p := lookAt(t, orders, 1, Memory)
	_, ok := nowhere.Load(cluster, orders)
	must.Do(t, nowhere.Save(cluster, &p))
	assert.That(t, !ok, "nowhere is somewhere")
}
