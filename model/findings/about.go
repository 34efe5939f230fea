package findings

import (
	"slices"

	"github.com/dlxtop/dlxtop/model"
)

// About indexes findings by what they are about, so that a flow finds its own without scanning all of them.
type About struct {
	all       []Finding
	queues    map[model.QueueRef][]int // indexes in all
	exchanges map[model.ExchangeRef][]int
}

// NewAbout indexes findings, which must not change afterwards.
func NewAbout(all []Finding) *About {
	a := &About{all, map[model.QueueRef][]int{}, map[model.ExchangeRef][]int{}}
	for i := range all {
		f := &all[i]
		switch {
		case f.Queue != "":
			ref := f.At()
			a.queues[ref] = append(a.queues[ref], i)
			for _, name := range f.Also {
				also := f.At().Beside(name)
				a.queues[also] = append(a.queues[also], i)
			}
		case f.Exchange != "":
			ref := model.ExchangeRef{VHost: f.VHost, Name: f.Exchange}
			a.exchanges[ref] = append(a.exchanges[ref], i)
		}
	}

	return a
}

// Queue returns the findings about a queue, in the order of all.
func (a *About) Queue(ref model.QueueRef) []*Finding { return a.at(a.queues[ref]) }

// Flow returns the findings about the flow's queues and the exchanges that its buffers expire into, in the order of
// all.
func (a *About) Flow(flow *model.Flow) []*Finding {
	var own []int
	for _, ref := range flow.Queues() {
		own = append(own, a.queues[ref]...)
	}

	for _, b := range flow.Buffers {
		for _, name := range []string{b.DLX, b.InExchange} {
			own = append(own, a.exchanges[model.ExchangeRef{VHost: flow.VHost, Name: name}]...)
		}
	}

	slices.Sort(own)
	return a.at(slices.Compact(own))
}

func (a *About) at(indexes []int) []*Finding {
	some := make([]*Finding, len(indexes)) // a finding belongs to many flows
	for i, at := range indexes {
		some[i] = &a.all[at]
	}
	return some
}
