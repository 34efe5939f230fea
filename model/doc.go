// Package model is dlxtop's domain: queues, exchanges, routing, flows, deaths, plans and findings.
//
// It does no IO and imports only the standard library and a filter-expression library. The way of the data is
// Snapshot (one poll of a broker) -> Topology (effective settings, routing) -> flows and findings; and
// PeekPlan or Plan (what is about to be done, as data that can be printed, shown or tested) -> Account (what happened).
//
// Units are in the names or the types: durations are time.Duration, sizes are bytes, rates are per second.
package model
