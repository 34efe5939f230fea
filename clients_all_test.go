//go:build clients && linux

package main

import "testing"

func TestClients(t *testing.T) { runClients(t, clients) }
