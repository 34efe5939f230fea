package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a RabbitMQ version. The zero Version is unknown.
type Version struct {
	Major, Minor, Patch int
}

// ParseVersion reads "4.0.5", "3.10.8", "4.1.0-rc.1" or "3.13". Any other text gives the unknown Version.
func ParseVersion(s string) Version {
	s, _, _ = strings.Cut(s, "-")
	s, _, _ = strings.Cut(s, "+")
	var n [3]int
	for i, part := range strings.SplitN(s, ".", 3) {
		v, err := strconv.Atoi(part)
		if err != nil && i < 2 {
			return Version{}
		}
		n[i] = v
	}

	return Version{n[0], n[1], n[2]}
}

func (v Version) Known() bool { return v != Version{} }

// AtLeast reports whether v is major.minor or later. For an unknown version it is always false.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Between reports whether an upgrade reaches v: from an unknown version it does.
func (v Version) Between(from, to Version) bool {
	return !from.AtLeast(v.Major, v.Minor) && to.AtLeast(v.Major, v.Minor)
}

// String returns "4.0.5", or "unknown version".
func (v Version) String() string {
	if !v.Known() {
		return "unknown version"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Words is String, and says of a newer version than those that were measured that it is taken for the newest of them.
func (v Version) Words() string {
	if v.AtLeast(4, 4) {
		return v.String() + ", taken as 4.3"
	}
	return v.String()
}

// Behaviour is what differs between versions of RabbitMQ; each field is named for one difference. Only this file
// compares versions. Measured on 3.10.8, 4.0.5 and 4.3.6 unless a field says otherwise.
type Behaviour struct {
	// NackScramblesQuorum: a nack sends a quorum queue's messages to its tail or reorders them (before 4.0): close the
	// channel instead.
	NackScramblesQuorum bool
	// ReturnCountsAsDelivery: each message returned to a quorum queue counts against its delivery limit (before 4.3). From
	// 4.3 one nack(multiple, requeue) does not count.
	ReturnCountsAsDelivery bool
	// CarriesDeliveryCount: a message that a quorum queue dead-letters keeps its delivery count in the next one (4.3 and
	// later).
	CarriesDeliveryCount bool
	// DefaultDeliveryLimit is the delivery limit of a quorum queue that has none set: 20 from 4.0, 0 (none) before.
	DefaultDeliveryLimit int64
	// CountsRepublishedDeaths: the broker continues to count in an x-death that a client published (before 4.0; by source
	// not in 3.13.0 to 3.13.2). From 4.0 it ignores an x-death from clients.
	CountsRepublishedDeaths bool
	// ReversesDeaths: each death reverses the order of the earlier ones in x-death (before 3.13 by source; measured on
	// 3.10.8), and cycles are detected in that order.
	ReversesDeaths bool
	// NegativeDeliveryLimitDrops: x-delivery-limit -1 drops a message at its first return (3.x); unlimited from 4.0.
	NegativeDeliveryLimitDrops bool
	// MaxMessageSize is how many bytes a body may have where max_message_size is not set: 16 MiB from 4.0, 128 MiB before.
	MaxMessageSize int64
	// RefusesDeliveryModes: publishing a delivery_mode other than 1 and 2 closes the publisher's connection (3.x).
	RefusesDeliveryModes bool
	// DropsDeadLettersToStreams: a stream takes what publishers send and no dead letters, but those of a queue that keeps
	// them (before 3.11, of which later patches take them, by their source).
	DropsDeadLettersToStreams bool
	// Prioritizes: a quorum queue prefers messages of a priority above 4 (4.0 and later).
	Prioritizes bool
	// WeighsHeaders: max-length-bytes of a quorum queue counts properties and headers besides bodies (4.3 and later).
	WeighsHeaders bool
	// DelayedRetry: quorum queues support delayed-retry-type (4.3 and later).
	DelayedRetry bool
	// TimeoutByQueue: argument and policy set a queue's consumer timeout (3.12 and later by source; measured on 3.10.8,
	// 4.0.5 and 4.3.6).
	TimeoutByQueue bool
	// NoClassicTimeout: classic queues have no consumer timeout (4.3 and later).
	NoClassicTimeout bool
	// ConvertsAMQP10: a message of an AMQP 1.0 client is stored as it arrived, and dlxtop does not see what AMQP 0-9-1 has
	// no place for (4.0 and later; earlier versions converted it on arrival).
	ConvertsAMQP10 bool
	// DelaysByHeader: a quorum queue confirms a message with message.DeliveryTimeHeader, and holds it back until then (4.4
	// and later, by its authors' description of the source: not measured).
	DelaysByHeader bool
}

// BehaviourOf returns the behaviour of a version. For an unknown version every field has its most cautious value.
func BehaviourOf(v Version) Behaviour {
	if !v.Known() {
		return Behaviour{
			NackScramblesQuorum:        true,
			ReturnCountsAsDelivery:     true,
			DefaultDeliveryLimit:       20,
			NegativeDeliveryLimitDrops: true,
			MaxMessageSize:             16 << 20,
			RefusesDeliveryModes:       true,
			TimeoutByQueue:             true,
			ConvertsAMQP10:             true,
			DelaysByHeader:             true,
		}
	}

	four := v.AtLeast(4, 0)
	fourThree := v.AtLeast(4, 3)
	b := Behaviour{
		NackScramblesQuorum:        !four,
		ReturnCountsAsDelivery:     !fourThree,
		CarriesDeliveryCount:       fourThree,
		CountsRepublishedDeaths:    !four && (v.Major != 3 || v.Minor != 13 || v.Patch >= 3),
		ReversesDeaths:             !v.AtLeast(3, 13),
		NegativeDeliveryLimitDrops: !four,
		MaxMessageSize:             128 << 20,
		RefusesDeliveryModes:       !four,
		DropsDeadLettersToStreams:  !v.AtLeast(3, 11),
		Prioritizes:                four,
		WeighsHeaders:              fourThree,
		DelayedRetry:               fourThree,
		TimeoutByQueue:             v.AtLeast(3, 12),
		NoClassicTimeout:           fourThree,
		ConvertsAMQP10:             four,
		DelaysByHeader:             v.AtLeast(4, 4),
	}

	if four {
		b.DefaultDeliveryLimit = 20
		b.MaxMessageSize = 16 << 20
	}

	return b
}
