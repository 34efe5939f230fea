// Package model is what a RabbitMQ broker has, and what follows from it: queues, exchanges, bindings, effective
// settings, routing, hops, flows and roles. It knows no messages and plans nothing: its rooms do.
//
// Data flows from Snapshot (one poll of a broker) to Topology (effective settings, routing) to flows, and from there to
// the rooms, which CONTRIBUTING.md lists.
//
// No room does IO except mend, which runs its programs in a separate process. Only filter (expressions), mend (jq),
// body (its formats) and build (for tests) import libraries. Units are in the names or the types: durations are
// time.Duration, sizes are bytes, rates are per second.
package model
