#!/usr/bin/env bash
# test.sh runs go test on one package or all: scripts/test.sh ./... Go is all that it needs; what the tests build by
# themselves is built in the same way, and once.
#
# RACE=1 adds the race detector, which needs a C compiler. It looks for races in everything but SQLite, translated from
# C to Go, which would take four times as long; the journal's own use of it is looked at. It is that one package alone:
# another one may share code of package sync with all, and the linker takes either copy. Nor does it check pointers, as
# the race detector does by default: that is for package unsafe, which one test uses, and it was a fifth of the screens'
# time. By default each program built for the race detector waits a second before it exits, for a race that is about to
# happen; tests start hundreds.
#
# What only a debugger reads is left out, and vet is left to `make lint`: on two processors both were half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

at_once=3 # packages: tests wait for brokers more than they compute, except with the race detector
if [ -n "${RACE:-}" ]; then
	at_once=2
	fast='-d=checkptr=0 -dwarf=false'
	export GOFLAGS="${GOFLAGS:-} '-gcflags=all=$fast' '-gcflags=modernc.org/sqlite/lib=-race=false $fast' '-ldflags=-s -w'"
	export GORACE="atexit_sleep_ms=10 ${GORACE:-}"
else
	export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -gcflags=all=-dwarf=false '-ldflags=-s -w'"
fi

# All packages: those that take long go first, because the last one would run alone. The applications of ./clients need
# Python, so they run where a C compiler is asked for, too.
args=()
for arg; do
	if [ "$arg" != ./... ]; then
		args+=("$arg")
		continue
	fi
	args+=(./broker ./e2e ./ui ./cli ./cases ./mgmt ./demo)
	if [ -n "${RACE:-}" ]; then args+=(./clients); fi
	while read -r package; do args+=("$package"); done < <(go list ./... | grep -v '/clients$')
done

exec go test ${RACE:+-race} -vet=off -p "$at_once" -parallel 6 -timeout 20m "${args[@]}"
