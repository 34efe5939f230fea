package findings

import (
	"cmp"
	"slices"
	"time"

	"github.com/dlxtop/dlxtop/model"
)

// Level is how bad a finding is.
type Level string

// The levels. Error: messages are lost or stuck, now or as soon as one takes this way.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
	LevelInfo    Level = "info"
)

// Finding is something wrong or risky in the topology or in what was peeked.
type Finding struct {
	Code     string // stable, kebab-case: scripts and the documentation refer to it
	Level    Level
	VHost    string
	Queue    string // "" when it is about an exchange, a node or the broker
	Exchange string
	Node     string
	Message  string // one sentence: what is wrong and what follows from it
	Evidence string // the settings and counts that show it
	Remedy   string // what to do

	Happening bool      // it happens at this moment, and since when matters
	Since     time.Time // when this program saw it first; zero: it watches no longer than one poll (Memory)
}

// Page is where the finding is described, in the project's folder.
func (f Finding) Page() string { return "docs/findings/" + f.Code + ".md" }

// checks find what is wrong, one kind each. To add a finding, write a check beside its kin (findings_*.go), list it
// here, test it on a broker that misbehaves as it says, and give it a page (Finding.Page).
var checks = []func(*model.Topology, func(Finding)){
	findMissingDLX,
	findUnroutableDeadLetters,
	findTTLWithoutDLX,
	findLimitWithoutDLX,
	findDeliveryLimitWithoutDLX,
	findCarriedDeliveryCounts,
	findWorkersWithoutConsumers,
	findPollers,
	findRequeueLoops,
	findReturns,
	findRejectsLost,
	findBuffersWithConsumers,
	findUncountedRetries,
	findRetriesForOthers,
	findDoubledFailures,
	findSkippedPolicies,
	findHiddenPolicies,
	findShadowedPolicies,
	findKeysWithoutDLX,
	findAtLeastOnceFallback,
	findNegativeDeliveryLimits,
	findLeasedBuffers,
	findFullTargets,
	findStuckDeadLetters,
	findForgetfulFailedQueues,
	findCutCycles,
	findUncappedLoops,
	findClockSkew,
	findQueuesDown,
	findQuorumAtRisk,
	findNodesDown,
	findAlarms,
	findPartitions,
}

// Of are the findings of a topology, sorted by level, then code, then place.
func Of(t *model.Topology) []Finding {
	var findings []Finding
	for _, check := range checks {
		check(t, func(f Finding) { findings = append(findings, f) })
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
	return slices.Index([]Level{LevelError, LevelWarning, LevelInfo}, l)
}
