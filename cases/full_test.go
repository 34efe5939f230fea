package cases

import "testing"

// Queues that are full, and what refusals and evictions leave behind.
func TestFullQueues(t *testing.T) { playScripts(t, "testdata/full.toml") }

// Messages of queues that are gone, or elsewhere.
func TestGoneQueues(t *testing.T) { playScripts(t, "testdata/gone.toml") }

// Workers that give up, by which count ever.
func TestGivingUp(t *testing.T) { playScripts(t, "testdata/retries.toml") }
