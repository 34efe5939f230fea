package cases

import "testing"

// A policy for all queues says nothing about a single one.
func TestPoliciesForAll(t *testing.T) {
	playScripts(t, "testdata/policies_for_all.toml")
}

// What decides where names do not.
func TestRoles(t *testing.T) { playScripts(t, "testdata/roles.toml") }
