//go:build clients && linux

package clients

import "testing"

func TestClients(t *testing.T) { runClients(t, allClients(t)) }
