#!/usr/bin/env bash
# steady.sh runs what `make race` runs ten times in a row, beside four loops that want a processor each, and stops at
# the first failure. A test that fails now and then shows it here. STEADY=3 runs it three times; arguments are packages.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${STEADY:-10}
log=$(mktemp)
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT TERM HUP
for _ in 1 2 3 4; do
	(while kill -0 $$ 2>/dev/null; do :; done) & # ends with this script, however that ends
	busy+=($!)
done
for run in $(seq "$runs"); do
	began=$SECONDS
	if ! RACE=1 bash scripts/test.sh -count=1 "${@:-./...}" >"$log" 2>&1; then
		cat "$log"
		echo "steady: run $run of $runs failed after $((SECONDS - began)) s"
		exit 1
	fi
	echo "steady: run $run of $runs: ok, $((SECONDS - began)) s"
done
