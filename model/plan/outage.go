package plan

import "github.com/dlxtop/dlxtop/model"

// refuseDown refuses a plan whose recipients are all unavailable, and warns when some are: RabbitMQ returns messages
// published to a classic queue whose node is down, as if it did not exist, and does not confirm those for a quorum
// queue without a majority (3.10.8).
func (p *Plan) refuseDown(t *model.Topology) {
	var down []model.Said
	for _, r := range p.Recipients {
		if q := t.Known(r.Queue); q.Outage() != model.NoOutage {
			down = append(down, targetDown(q))
		}
	}

	switch {
	case len(down) == 0:
	case len(down) == len(p.Recipients) && !p.Refusal.Refused():
		for _, o := range down {
			p.Refusal = append(p.Refusal, o)
		}
	default:
		for _, o := range down {
			p.warn(warning("%s; it receives nothing until then", o.Says))
		}
	}
}
