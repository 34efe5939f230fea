#!/usr/bin/env bash
# test.sh runs go test with the race detector, on one package or all: scripts/test.sh ./...
#
# It looks for races in everything but SQLite, translated from C to Go, which would take four times as long; the
# journal's own use of it is looked at. It is that one package alone: another one may share code of package sync with
# all, and the linker takes either copy. What tests build by themselves is built in the same way, and once.
#
# Nor does it check pointers, as the race detector does by default: that is for package unsafe, which one test uses,
# and it was a fifth of the screens' time. By default each program built for the race detector waits a second before it
# exits, for a race that is about to happen; tests start hundreds.
#
# What only a debugger reads is left out, and vet is left to `make lint`: on two processors both were half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
fast='-d=checkptr=0 -dwarf=false'
export GOFLAGS="${GOFLAGS:-} '-gcflags=all=$fast' '-gcflags=modernc.org/sqlite/lib=-race=false $fast' '-ldflags=-s -w'"
export GORACE="atexit_sleep_ms=10 ${GORACE:-}"
# The packages that take long go first: the last one would run alone.
args=()
for arg; do
	[ "$arg" != ./... ] || args+=(./ui ./cli ./broker ./e2e ./clients ./mgmt ./cases ./demo)
	args+=("$arg")
done
exec go test -race -vet=off -p 2 -parallel 6 -timeout 20m "${args[@]}"
