package main

import (
	"cmp"
	"context"
	_ "embed"
	"regexp"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

//go:embed scenes.toml
var scenesFile string

// script is what is in scenes.toml.
var script struct {
	Scenes []scene `toml:"scene"`
	Ways   []way   `toml:"way"`
	Acts   []act   `toml:"act"`
}

func init() {
	if _, err := toml.Decode(scenesFile, &script); err != nil {
		panic(err)
	}
}

// scene is one picture of the documentation.
type scene struct {
	Name  string
	Size  size // 0: large
	Stops []stop
	Watch time.Duration // wait before the picture is taken; 0 is 5 s
}

// stop is a screen or a dialog: keys lead there from the stop before, and it is reached when the screen shows a text.
type stop struct {
	Name  string // of its picture; "": none
	Keys  keys
	Until string
}

// keys are single ones, as a terminal sends them.
type keys []string

const escape = "\x1b"

var (
	namedKeys = map[string]string{"<enter>": "\r", "<esc>": escape, "<down>": "\x1b[B", "<ctrl-r>": "\x12"}
	singleKey = regexp.MustCompile(`<[a-z-]+>|.`)
)

// UnmarshalText reads keys as the script has them: "/orders<enter>".
func (k *keys) UnmarshalText(text []byte) error {
	for _, key := range singleKey.FindAllString(string(text), -1) {
		*k = append(*k, cmp.Or(namedKeys[key], key))
	}
	return nil
}

func (s scene) play(ctx context.Context, node *demo.Node) (paint.Screen, error) {
	t, err := openDashboard(ctx, node, paint.Dark, cmp.Or(s.Size, large))
	if err != nil {
		return paint.Screen{}, err
	}
	defer t.close()
	for _, stop := range s.Stops {
		if err := t.goTo(ctx, stop); err != nil {
			return paint.Screen{}, err
		}
	}

	pause(ctx, cmp.Or(s.Watch, 5*time.Second))
	return t.screen(), ctx.Err()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
