// Command screenshots makes the pictures of the documentation: it runs the real program in a terminal of its own, on a
// throwaway RabbitMQ with the demo's live traffic, presses keys as a person would, and draws what stands on the screen.
// Run it from the project's root, after a build: make screenshots, or go run ./screenshots NAME for some. The name tour
// is the moving picture, sheet the contact sheets: every screen in every theme and several sizes, in bin/contact-sheet.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"dlxtop/demo"
)

const (
	folder      = "screenshots"
	sheetFolder = "bin/contact-sheet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

// run makes the pictures that are named, all when none is.
func run(ctx context.Context, names []string) error {
	if err := known(names); err != nil {
		return err
	}
	fonts, err := findFonts(fontFolders())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 25*time.Minute)
	defer cancel()
	node, err := demo.Start(ctx, demo.Options{Log: os.Stderr})
	if err != nil {
		return err
	}
	defer node.Stop()
	ready, traffic := make(chan struct{}), make(chan error, 1) // holds RunAll's one result
	running, halt := context.WithCancel(ctx)
	defer halt()
	go func() { traffic <- demo.RunAll(running, node, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-traffic:
		return err
	}
	state, err := os.MkdirTemp("", "dlxtop-pictures-") // a journal of its own
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	os.Setenv("XDG_STATE_HOME", state)
	err = makeAll(ctx, node, fonts, func(name string) bool { return len(names) == 0 || slices.Contains(names, name) })
	halt()
	<-traffic
	return err
}

// known refuses a name that no picture has.
func known(names []string) error {
	all := []string{"tour", "sheet"}
	for _, s := range scenes {
		all = append(all, s.name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no picture %q: there are %v", name, all)
		}
	}
	return nil
}

func makeAll(ctx context.Context, node *demo.Node, fonts []cuts, wanted func(name string) bool) error {
	if wanted("tour") { // first: nothing has been replayed yet
		path := filepath.Join(folder, "tour.gif")
		if err := makeTour(ctx, node, fonts, path); err != nil {
			return fmt.Errorf("picture tour: %w", err)
		}
		report(path)
	}
	glyphs, err := newGlyphs(fonts, 12)
	if err != nil {
		return err
	}
	painter := painter{glyphs, 16}
	for _, s := range scenes {
		if !wanted(s.name) {
			continue
		}
		path := filepath.Join(folder, s.name+".png")
		screen, err := s.play(ctx, node)
		if err == nil {
			err = painter.write(screen, darkLook, path)
		}
		if err != nil {
			return fmt.Errorf("picture %s: %w", s.name, err)
		}
		report(path)
	}
	if wanted("sheet") {
		return makeSheets(ctx, node, fonts, sheetFolder)
	}
	return nil
}

// write draws a screen into a PNG file.
func (p painter) write(s screen, l look, path string) error {
	img, err := p.draw(s, l.paper)
	if err != nil {
		return err
	}
	return writePNG(img, path)
}

// report says what was made, and how large it is.
func report(path string) {
	if file, err := os.Stat(path); err == nil {
		fmt.Fprintf(os.Stderr, "made %s, %d KB\n", path, file.Size()/1024)
	}
}
