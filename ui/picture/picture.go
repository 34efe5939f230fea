package picture

import (
	"slices"

	"github.com/charmbracelet/x/ansi"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/ui/term"
)

// Picture is what a flow's diagram shows: exchanges and queues with their facts, and the arrows between them with what
// moves along each. It says nothing of where things are drawn: the wide layout draws boxes, the narrow one a rail.
type Picture struct {
	lanes   []lane // ways into the worker: those that lead nowhere first, the one that retry buffers go back to last
	worker  Station
	back    bool    // something is delivered to the worker again
	dead    string  // what becomes of what the worker rejects, when it is lost; "" otherwise
	retries []group // retry buffers that are drawn below the worker, one group for each way back
	failed  group
}

type Station struct {
	Queue model.QueueRef // the zero ref is an exchange
	name  string         // printable
	facts []term.Spans   // one line each, inside the box
	short term.Spans     // all of it on one line, for lists and the narrow layout: columns, the first to the right
	tone  term.Tone      // of the name
}

// aligned are the first columns of the short facts of stations, each below the same of the others.
func aligned(stations []Station, columns int) []term.Spans {
	var widths []int
	for _, s := range stations {
		for i, piece := range s.short[:min(len(s.short), columns)] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidthWc(piece.Text))
		}
	}
	lines := make([]term.Spans, len(stations))
	for n, s := range stations {
		for i, piece := range s.short[:min(len(s.short), columns)] {
			text := term.Fit(piece.Text, widths[i], i == 0, false)
			if i > 0 && widths[i] > 0 {
				text = "  " + text
			}
			lines[n] = append(lines[n], piece.Tone.Span(text))
		}
	}
	return lines
}

func (s Station) isQueue() bool { return s.Queue.Name != "" }

// group is queues with the same part in the flow: one is drawn as a box of its own, several as a list.
type group struct {
	stations []Station
	heading  string // of a list: "3 delayed buffers"
	in, out  Arrow
	lane     int // of retry buffers: the lane whose exchange they go back to
}

func (g group) empty() bool { return len(g.stations) == 0 }

// lane is one way into the worker: entrance -> buffers -> exchange -> worker. Without buffers publishers reach the
// exchange themselves.
type lane struct {
	entrance Station // zero when publishers name the buffers through the default exchange
	buffers  group
	exchange Station
	out      Arrow  // from the exchange to the worker
	enters   Arrow  // what publishers send to the exchange; zero when they enter by the buffers, or by another lane
	dead     string // why nothing arrives at the worker; "" when it does
	deadAt   bool   // it ends at the buffers already: there is no such exchange
	loop     bool   // the worker sends its failures back to the entrance
}

type Arrow struct {
	id    string             // names it from one picture to the next: dots stay on their arrow
	label string             // "expired"
	rate  model.Opt[float64] // messages per second, over some seconds

	latest model.Opt[float64] // over the last second, where counts show it: the number of dots
}

func (a Arrow) moving() bool { return a.rate.Or(0) > 0 }

func (a Arrow) Now() float64 { return a.latest.Or(a.rate.Or(0)) }

func (a Arrow) words() term.Spans {
	var words term.Spans
	if a.label != "" {
		words = append(words, term.ToneMuted.Span(a.label))
	}
	if a.moving() {
		words = append(words, term.ToneGood.Span(perSecond(a.rate.Or(0))))
	}
	return words
}

// loopWords stand beside a loop that no statistic tells apart from what publishers send.
const loopWords = "failures are sent again by the worker"

// rateWidth is the room for a rate, kept also while nothing moves: a picture whose arrows change their length is hard
// to look at.
const rateWidth = 6

// room is the width that the words need one below the other, and side by side.
func (a Arrow) room() (stacked, abreast int) {
	label := ansi.StringWidthWc(a.label)
	return max(label, rateWidth), label + 1 + rateWidth
}

// Stations are all queues of the picture in reading order: the order in which the cursor passes them.
func (p *Picture) Stations() []Station {
	var all []Station
	for _, l := range p.lanes {
		all = append(all, l.buffers.stations...)
	}
	all = append(all, p.worker)
	for _, g := range p.retries {
		all = append(all, g.stations...)
	}
	return slices.DeleteFunc(append(all, p.failed.stations...), func(s Station) bool { return !s.isQueue() })
}

func (p *Picture) Arrows() []Arrow {
	var all []Arrow
	for _, l := range p.lanes {
		all = append(all, l.enters, l.buffers.in, l.buffers.out, l.out)
	}
	for _, g := range p.retries {
		all = append(all, g.in, g.out)
	}
	return append(all, p.failed.in)
}
