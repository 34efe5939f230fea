// Package model is what a RabbitMQ broker has, and what follows from it: queues, exchanges, bindings, effective
// settings, routing, hops, flows and roles. It knows no messages and plans nothing: its rooms do.
//
// Data flows from Snapshot (one poll of a broker) to Topology (effective settings, routing) to flows; from there
//
//	message    one message: properties, deaths, failure, envelope
//	filter     which messages are meant: texts, expressions, templates
//	serial     values that were serialized, as JSON
//	body       a body as a person reads it
//	cause      what several failures have in common
//	mend       messages changed by a jq program
//	peek       how to look at a queue, and what that costs
//	find       searching many queues for a text
//	story      the past and the future of a message
//	watch      what moved, from counts
//	plan       what will be done, and the record of what was done
//	resume     how a record is resumed
//	trace      taps and probes
//	findings   what is wrong
//	ports      what screens and commands need of the adapters
//	build      topologies for tests
//
// No room does IO except mend, which runs its programs in a separate process. Only filter (expressions), mend (jq),
// body (its formats) and build (for tests) import libraries. Units are in the names or the types: durations are
// time.Duration, sizes are bytes, rates are per second.
package model
