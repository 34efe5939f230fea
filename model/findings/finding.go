package findings

import (
	"cmp"
	_ "embed" // the remedies
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/dlxtop/dlxtop/model"
	"github.com/dlxtop/dlxtop/model/policing"
)

// Level is how bad a finding is.
type Level string

// The levels. Error: messages are lost or stuck, now or as soon as one goes this way.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelInfo    Level = "info"
)

// Levels are all of them, the worst first.
var Levels = []Level{LevelError, LevelWarning, LevelInfo}

// infoIf returns the level info if the finding is harmless in this case, otherwise warning.
func infoIf(harmless bool) Level {
	if harmless {
		return LevelInfo
	}
	return LevelWarning
}

// agree chooses between singular and plural.
func agree[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// spell is model.Sayf, but names a queue without its vhost, as the finding has it, and makes texts printable.
func spell(format string, values ...any) string {
	for i, v := range values {
		switch v := v.(type) {
		case *model.Queue:
			values[i] = model.QueueRef{Name: v.Name}
		case queue:
			values[i] = model.QueueRef{Name: v.Name}
		case model.QueueRef:
			values[i] = model.QueueRef{Name: v.Name}
		case time.Duration:
		case string:
			values[i] = model.Printable(v)
		case fmt.Stringer:
			values[i] = model.Printable(v.String())
		}
	}

	return model.Sayf(format, values...)
}

// exchangeOf returns the dead-letter exchange in words.
func exchangeOf(s model.Settings) string { return model.ExchangeName(s.DLX.Value) }

// Finding is something wrong or risky in the topology or in peeked messages.
type Finding struct {
	Code     string // stable, kebab-case: scripts and the documentation refer to it
	Level    Level  // "": see completed
	VHost    string
	Queue    string // "" when it is about an exchange, a node or the broker
	Exchange string
	Node     string
	Also     []string // more queues of which the same is true: see Together
	Message  string   // one sentence: what is wrong, and the consequence
	Evidence string   // the settings and counts that prove it
	Remedy   string   // what to do; "": see completed

	Happening bool      // it happens right now, so it matters since when
	Since     time.Time // when this program first saw it; zero: it has only watched one poll (Memory)
}

// At returns the queue that it is about; its name is "" where there is none.
func (f *Finding) At() model.QueueRef { return model.QueueRef{VHost: f.VHost, Name: f.Queue} }

// Place says where it is: a queue, an exchange, a node or the broker.
func (f *Finding) Place() string {
	switch {
	case f.Queue != "":
		return f.At().String()
	case f.Exchange != "" || f.VHost != "":
		return "exchange " + model.QueueRef{VHost: f.VHost, Name: model.ExchangeName(f.Exchange)}.String()
	case f.Node != "":
		return "node " + f.Node
	}

	return "broker"
}

// Paragraph writes it for a list: its sentences are too long for the columns of a table.
func (f *Finding) Paragraph() string {
	return model.Sayf("%-7s  %v  (%s)\n         %v\n         evidence: %v\n         remedy:   %v\n    "+
		"     more:     dlxtop explain %s\n", f.Level, f.Place(), f.Code,
		f.Message, f.Evidence, f.Remedy, f.Code)
}

// Page returns the finding's page, in the project's folder.
func (f Finding) Page() string { return "docs/findings/" + f.Code + ".md" }

//go:embed remedies.toml
var remediesText string

// common is what findings with the same code have in common.
type common struct {
	Level  Level
	Remedy string
}

var remedies = sync.OnceValue(func() (all map[string]common) {
	if _, err := toml.Decode(remediesText, &all); err != nil {
		panic(err)
	}
	return all
})

// completed returns the finding with what is the same for all of its code, unless it says otherwise.
func (f Finding) completed() Finding {
	c := remedies()[f.Code]
	f.Level = cmp.Or(f.Level, c.Level, LevelWarning)
	f.Remedy = cmp.Or(f.Remedy, c.Remedy)
	return f
}

// checking is a topology under examination.
type checking struct {
	*model.Topology
	found                      func(Finding)
	fed                        func() feeds   // what leads where; computed on demand
	rounds                     model.QueueSet // the queues in which rejected messages cycle: findReturns
	policies, operatorPolicies policing.Matcher
}

// foundAt reports a finding about a queue.
func (t *checking) foundAt(queue model.QueueRef, f Finding) {
	f.VHost, f.Queue = queue.VHost, queue.Name
	t.found(f)
}

// queue has the settings that are in effect.
type queue struct {
	*model.Queue
	model.Settings
}

// queue returns a queue with its newest counts.
func (t *checking) queue(ref model.QueueRef) queue { return queue{t.Known(ref), t.Settings(ref)} }

func (t *checking) foundIn(q queue, f Finding) { t.foundAt(q.QueueRef, f) }

// The checks, one for each kind of problem. To add a finding, write a check beside similar ones, list it here, test it
// on a broker that misbehaves that way, and add a page (Finding.Page).
var (
	checks = []func(*checking){
		(*checking).findReturns, (*checking).findCutCycles, (*checking).findFullTargets,
		(*checking).findForgetfulFailedQueues, (*checking).findUncountedRetries,
		(*checking).findRetriesForOthers, (*checking).findSharedRetries, (*checking).findCrossedRetries,
		(*checking).findClockSkew, (*checking).findNodesDown, (*checking).findAlarms,
		(*checking).findPartitions, (*checking).findNodesInMaintenance,
		(*checking).findShovelLoops, (*checking).findIdleShovels,
		(*checking).findUnconfirmedShovels, (*checking).findShovelsAway, (*checking).findFleetingQueues,
		(*checking).findMisfitRoles,
	}
	queueChecks = []func(*checking, queue){
		(*checking).findMissingDLX, (*checking).findUnroutableDeadLetters, (*checking).findTTLWithoutDLX,
		(*checking).findLimitWithoutDLX, (*checking).findDeliveryLimitWithoutDLX, (*checking).findCarriedDeliveryCounts,
		(*checking).findRequeueLoops, (*checking).findEarlierTTLs, (*checking).findSkippedPolicies,
		(*checking).findHiddenPolicies, (*checking).findCutAtLimits, (*checking).findShadowedPolicies,
		(*checking).findKeysWithoutDLX, (*checking).findAtLeastOnceFallback, (*checking).findNegativeDeliveryLimits,
		(*checking).findIgnoredOverflows, (*checking).findStuckDeadLetters, (*checking).findFullBuffers,
		(*checking).findQueuesDown, (*checking).findQuorumAtRisk, (*checking).findInactiveConsumers,
		(*checking).findHeldMessages,
	}
	flowChecks = []func(*checking, *model.Flow){
		(*checking).findWorkersWithoutConsumers, (*checking).findPollers, (*checking).findRejectsLost,
		(*checking).findBuffersWithConsumers, (*checking).findDoubledFailures, (*checking).findLeasedBuffers,
		(*checking).findUncappedLoops, (*checking).findAutomaticAcknowledgements,
	}
)

// Of returns the findings of a topology, sorted by level, then code, then place.
func Of(topology *model.Topology) (findings []Finding) {
	t := &checking{
		Topology: topology, found: func(f Finding) {
			if s, _ := topology.StatedRole(f.At()); s.Role != model.IgnoredRole {
				findings = append(findings, f.completed())
			}
		},
		policies:         policing.NewMatcher(topology.Snapshot.Policies, false),
		operatorPolicies: policing.NewMatcher(topology.Snapshot.Policies, true),
	}

	t.fed, t.rounds = sync.OnceValue(t.feeds), model.QueueSet{}
	for _, check := range checks {
		check(t)
	}

	for q := range t.EachQueue() {
		for _, check := range queueChecks {
			check(t, queue{q, t.Settings(q.QueueRef)})
		}
	}

	for flow := range model.Each(t.Flows()) {
		for _, check := range flowChecks {
			check(t, flow)
		}
	}

	return Sort(findings)
}

// Sort sorts findings by level, then code, then place.
func Sort(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Level.rank(), b.Level.rank()), cmp.Compare(a.Code, b.Code), cmp.Compare(a.VHost, b.VHost),
			cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Exchange, b.Exchange), cmp.Compare(a.Node, b.Node))
	})

	return findings
}

func (l Level) rank() int {
	return slices.Index(Levels, l)
}
