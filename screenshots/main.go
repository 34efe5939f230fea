// Command screenshots makes the pictures of the documentation: it runs the real program in its own terminal, on a
// throwaway RabbitMQ with the demo's live traffic, presses keys as a person would, and draws the screen. Run it from
// the project's root, after a build: make screenshots, or make screenshots PICTURES=NAME. The name tour is the
// animation, screens every screen in all themes and sizes, in bin/screens. After screens, names of ways, themes and
// sizes select some of them: screens mending dark 80x24.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dlxtop/dlxtop/demo"
	"github.com/dlxtop/dlxtop/screenshots/paint"
)

const (
	folder        = "screenshots"
	screensFolder = "bin/screens"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		log.Fatalln("screenshots:", err)
	}
}

// run makes the named pictures, or all when none is named.
func run(ctx context.Context, names []string) error {
	want, err := wantedBy(names)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 50*time.Minute)
	defer cancel()
	node, err := demo.Start(ctx, demo.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer node.Stop()
	ready, traffic := make(chan struct{}), make(chan error, 1) // room for RunAll's one result
	running, halt := context.WithCancel(ctx)
	defer halt()
	go func() { traffic <- demo.RunAll(running, node, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-traffic:
		return err
	}

	leave, err := ownHome()
	if err != nil {
		return err
	}
	defer leave()
	os.Setenv("VISUAL", "sed -i s/example.com/example.org/") // edits a message
	err = makeAll(ctx, node, want)
	halt()
	<-traffic
	return err
}

// ownHome gives programs started from now on their own journal, cache and configuration, until the returned function is
// called.
func ownHome() (leave func(), err error) {
	dir, err := os.MkdirTemp("", "dlxtop-pictures-")
	if err != nil {
		return nil, err
	}
	before := map[string]string{}
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"} {
		before[name] = os.Getenv(name)
		os.Setenv(name, filepath.Join(dir, name))
	}

	return func() {
		for name, value := range before {
			os.Setenv(name, value)
		}
		os.RemoveAll(dir)
	}, nil
}

func makeAll(ctx context.Context, node *demo.Node, want wanted) error {
	painter, err := paint.New(12, 16)
	if err != nil {
		return err
	}
	for _, s := range script.Scenes {
		if !slices.Contains(want.pictures, s.Name) {
			continue
		}
		path := filepath.Join(folder, s.Name+".png")
		screen, err := s.play(ctx, node)
		if err == nil {
			err = writePicture(painter, screen, paint.Dark, path)
		}
		if err != nil {
			return fmt.Errorf("picture %s: %w", s.Name, err)
		}
	}

	if want.screens {
		if err := makeScreens(ctx, node, want.parts, screensFolder); err != nil {
			return err
		}
	}

	if slices.Contains(want.pictures, "tour") { // last, because it replays messages that the others show
		return makeTour(ctx, node, filepath.Join(folder, "tour.gif"))
	}

	return nil
}

func writePicture(p *paint.Painter, s paint.Screen, l paint.Look, path string) error {
	log.Printf("making %s", path)
	return save(path, func(w io.Writer) error { return paint.PNG(w, p.Draw(s, l.Paper)) })
}

func save(path string, encode func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := encode(file); err != nil {
		return err
	}

	return file.Close()
}

type wanted struct {
	pictures []string // of the documentation; the tour has the name tour
	screens  bool
	parts    []string // of the screens: names of ways, themes and sizes; none means all
}

// wantedBy parses the arguments: names of pictures, and after the word screens those of its ways, themes and sizes. No
// arguments mean everything.
func wantedBy(arguments []string) (wanted, error) {
	all := []string{"tour"}
	for _, s := range script.Scenes {
		all = append(all, s.Name)
	}
	if len(arguments) == 0 {
		return wanted{pictures: all, screens: true}, nil
	}
	w := wanted{pictures: arguments}
	if i := slices.Index(arguments, "screens"); i >= 0 {
		w = wanted{arguments[:i], true, arguments[i+1:]}
	}
	if err := known("picture", w.pictures, append(all, "screens")); err != nil {
		return w, err
	}

	return w, known("part of the screens", w.parts, slices.Concat(namesOf(script.Ways), namesOf(themes), namesOf(sizes)))
}

func known(what string, names, all []string) error {
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no %s %q: there are %s", what, name, strings.Join(all, ", "))
		}
	}

	return nil
}

func (w way) String() string   { return w.Name }
func (t theme) String() string { return t.name }
func (s size) String() string  { return fmt.Sprintf("%dx%d", s.width, s.height) }

func namesOf[T fmt.Stringer](all []T) (names []string) {
	for _, one := range all {
		names = append(names, one.String())
	}
	return names
}

// chosen returns those that the parts name, or all when they name none.
func chosen[T fmt.Stringer](all []T, parts []string) (some []T) {
	for _, one := range all {
		if slices.Contains(parts, one.String()) {
			some = append(some, one)
		}
	}

	if some == nil {
		return all
	}

	return some
}
